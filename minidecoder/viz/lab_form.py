"""What the lab's form says, checked; and where in its text an error points.

A form comes from a page, so it may hold anything: what is no number, out of range or unknown is a `FormError`
with the name of the field. Places are offsets in UTF-16 code units, as a page counts them.

Left out: compiling and running (`lab_session`). Cost: O(length of the text).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, Final

from minidecoder.decoding.settings import Sampling
from minidecoder.errors import GrammarSyntaxError, UsageError
from minidecoder.tokens.checks import real_number, whole_number
from minidecoder.viz.lab_sources import SOURCES

__all__ = ["BESIDE", "KINDS", "ORDER", "Form", "FormError", "check_json", "place_of", "read_form", "span_of"]

KINDS: Final = ("regex", "schema", "grammar", "free")
ORDER: Final = ("mask", "temperature", "top_k", "top_p", "min_p")
BESIDE: Final = ("nothing", "free", "usual order", "kept")
_MOST: Final = {"max_tokens": 1024, "seed": 2**63 - 1, "top_k": 10**9}


class FormError(UsageError):
    """`field`: of the form; `where`: (start, end) in `text`, in characters."""

    def __init__(
        self, message: str, field: str, where: tuple[int, int] | None = None, text: str | None = None
    ) -> None:
        self.field, self.where, self.text = field, where, text
        super().__init__(message)


@dataclass(frozen=True)
class Form:
    """The defaults are what the lab opens with. `order`: the names of `ORDER`, in the order they run."""

    source: str = "nine"
    kind: str = "regex"
    text: str = r"[0-9]+\.[0-9]{2}"
    prompt: str = ""
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    order: tuple[str, ...] = ORDER
    seed: int = 1
    max_tokens: int = 64
    beside: str = "nothing"

    @property
    def sampling(self) -> Sampling:
        return Sampling(self.temperature, self.top_k, self.top_p, self.min_p, self.seed)

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**asdict(self), "order": list(self.order)}


def read_form(given: object) -> Form:
    """The form, or a `FormError`. A field that is missing has its default."""
    if not isinstance(given, Mapping):
        raise FormError("the form must be an object", "form")
    known = {item.name for item in fields(Form)}
    if unknown := [name for name in given if name not in known]:
        raise FormError(f"the form has no field {unknown[0]!r:.60}", "form")
    return Form(**{name: _read(name, value) for name, value in given.items()})


def _read(name: str, value: object) -> Any:
    try:
        match name:
            case "source":
                return _one_of(name, value, tuple(SOURCES))
            case "kind":
                return _one_of(name, value, KINDS)
            case "beside":
                return _one_of(name, value, BESIDE)
            case "text" | "prompt":
                return _text(name, value)
            case "order":
                return _order(value)
            case "temperature" | "top_p" | "min_p":
                settings: dict[str, Any] = {name: real_number(value, name)}
                return getattr(Sampling(**settings), name)  # which checks the range
        return _whole(name, value)
    except FormError:
        raise
    except UsageError as fault:
        raise FormError(str(fault), name) from None


def _whole(name: str, value: object) -> int:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)  # 5.0 is how some programs write 5
    number = whole_number(value, name)
    if not 0 <= number <= _MOST[name]:
        shown = str(number) if abs(number) < 10**20 else "that number"
        raise FormError(f"{name}={shown} is out of range: it must be 0 to {_MOST[name]:,}", name)
    return number


def _one_of(name: str, value: object, known: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in known:
        raise FormError(f"{name} must be one of {', '.join(known)}, not {value!r:.60}", name)
    return value


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise FormError(f"{name} must be a text, not {value!r:.60}", name)
    half = re.search("[\ud800-\udfff]", value)
    if half:
        where = half.span() if name == "text" else None
        message = f"{name} holds half a character (a lone surrogate), which no token spells"
        raise FormError(message, name, where, value)
    return value


def _order(value: object) -> tuple[str, ...]:
    names = value if isinstance(value, list | tuple) else ()
    if not all(isinstance(name, str) for name in names) or sorted(names) != sorted(ORDER):
        raise FormError(f"order must be these five, each once: {', '.join(ORDER)}", "order")
    return tuple(names)


# -- places -----------------------------------------------------------------------------------------


def place_of(error: BaseException, text: str) -> dict[str, int] | None:
    """Where in `text` the error points, {"start", "end"} in UTF-16 code units; None where it does not say."""
    span = _span(error, text)
    if span is None:
        return None
    start, end = (min(max(at, 0), len(text)) for at in span)
    end = max(end, min(start + 1, len(text)))
    return {"start": _utf16(text[:start]), "end": _utf16(text[:end])}


def _utf16(text: str) -> int:
    return len(text) + sum(char > "\uffff" for char in text)


def _span(error: BaseException, text: str) -> tuple[int, int] | None:
    if isinstance(error, FormError):
        return error.where
    if isinstance(error, GrammarSyntaxError):
        starts = [0, *(found.end() for found in re.finditer(r"\r\n|\r|\n", error.text))]
        at = starts[error.line - 1] + error.column - 1
        name = re.compile(r"[\w-]+").match(text, at)  # of a rule, say: all of it
        return (at, max(at + 1, name.end() if name else 0)) if error.text == text else None
    position = getattr(error, "position", None)
    if position is not None and getattr(error, "pattern", None) == text:
        return position, position + 1
    pointer = getattr(error, "pointer", None)
    return None if pointer is None else span_of(text, pointer)


def check_json(text: str) -> None:
    """A `FormError` with its place, where `text` is no JSON."""
    try:
        json.loads(text)
    except json.JSONDecodeError as fault:
        raise FormError(
            f"the schema is not JSON: {fault.msg}, line {fault.lineno}, column {fault.colno}",
            "text",
            (fault.pos, fault.pos + 1),
        ) from None
    except (RecursionError, ValueError):  # too deep, or a number of too many digits: load_json says so
        return


_BLANK: Final = re.compile(r"[ \t\n\r]*")
_SCALAR: Final = re.compile(r"[^ \t\n\r,\]}]+")
_BRACKET: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def span_of(text: str, pointer: str) -> tuple[int, int] | None:
    """(start, end) in characters of the value that a JSON pointer names in JSON text, or of the innermost
    value on the way to it that is there. None for a pointer into another document, and for no JSON."""
    if pointer and not pointer.startswith("/"):
        return None
    try:
        at = _skip_blank(text, 0)
        for token in pointer.split("/")[1:]:
            inner = _member(text, at, token.replace("~1", "/").replace("~0", "~"))
            if inner is None:
                break
            at = inner
        return at, _value_end(text, at)
    except (ValueError, IndexError, AttributeError):  # AttributeError: an expression that found nothing
        return None


def _member(text: str, at: int, name: str) -> int | None:
    """Where the member of that name, or the item of that number, begins. Of two the last, as json has it."""
    found, index, bracket = None, 0, text[at]
    if bracket not in "[{":
        return None
    at = _skip_blank(text, at + 1)
    while text[at] not in "]}":
        key = str(index)
        if bracket == "{":
            key, at = scanstring(text, at + 1, True)
            at = _skip_blank(text, _skip_blank(text, at) + 1)
        if key == name:
            found = at
        at = _skip_blank(text, _value_end(text, at))
        if text[at] == ",":
            at = _skip_blank(text, at + 1)
        index += 1
    return found


def _value_end(text: str, at: int) -> int:
    if text[at] == '"':
        end: int = scanstring(text, at + 1, True)[1]
        return end
    if text[at] not in "[{":
        return _SCALAR.match(text, at).end()  # type: ignore[union-attr]
    depth = 0
    for found in _BRACKET.finditer(text, at):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if depth == 0:
            return found.end()
    raise ValueError("no end")


def _skip_blank(text: str, at: int) -> int:
    return _BLANK.match(text, at).end()  # type: ignore[union-attr]
