"""Every error of the package: one tree, and each says where the fault is and what to do about it.

    MiniDecoderError
    ├── RegexSyntaxError           the pattern is not a regular expression       (position, caret line)
    ├── GrammarSyntaxError         the text is not a grammar                    (line, column, caret line)
    ├── SchemaError                not a JSON Schema, or one that contradicts itself        (JSON pointer)
    ├── UnsupportedFeatureError    understood, but not compiled             (feature, position or pointer)
    ├── VocabularyError            the token list cannot be used as it stands
    ├── UnsatisfiableConstraintError   no token sequence of this vocabulary can finish
    ├── ConstraintTooLargeError    a limit was passed, and the argument that sets it
    ├── EmptyMaskError             a logits row with nothing left to draw   (step)
    ├── ModelError                 the model is missing, or its logits are unusable
    └── UsageError(ValueError)     an argument out of range
    GenerationInterrupted(KeyboardInterrupt)     Ctrl-C, with the run so far

Left out: what is only a refusal, not an error; `Matcher.accept_token` answers False.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

__all__ = [
    "ConstraintTooLargeError",
    "EmptyMaskError",
    "GenerationInterrupted",
    "GrammarSyntaxError",
    "MiniDecoderError",
    "MissingDependencyError",
    "ModelError",
    "RegexSyntaxError",
    "SchemaError",
    "UnsatisfiableConstraintError",
    "UnsupportedFeatureError",
    "UsageError",
    "VocabularyError",
]

_CARET_WINDOW = 72  # characters of a long pattern shown around the caret


class MiniDecoderError(Exception):
    """The root: `except MiniDecoderError` catches whatever this package raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle, so that an error can leave a worker process with the message it has."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[MiniDecoderError], args: tuple[Any, ...], state: dict[str, Any]) -> MiniDecoderError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class UsageError(MiniDecoderError, ValueError):
    """An argument that cannot mean anything; the message names it and the values that can."""


class RegexSyntaxError(MiniDecoderError, ValueError):
    """`pattern` is not a regular expression; `position` is the 0-based character at fault."""

    def __init__(self, message: str, pattern: str, position: int) -> None:
        self.pattern = pattern
        self.position = position
        super().__init__(f"{message} at position {position}\n{caret_line(pattern, position)}")


class GrammarSyntaxError(MiniDecoderError, ValueError):
    """`text` is not a grammar; `line` and `column`, both from 1, are the character at fault."""

    def __init__(self, message: str, text: str, line: int, column: int) -> None:
        self.text = text
        self.line = line
        self.column = column
        shown = re.split(r"\r\n|\r|\n", text)[line - 1]
        super().__init__(f"{message} at line {line}, column {column}\n{caret_line(shown, column - 1)}")


class SchemaError(MiniDecoderError, ValueError):
    """The schema is not a JSON Schema; `pointer`: the JSON pointer of the value at fault, "" for the root."""

    def __init__(self, message: str, pointer: str = "") -> None:
        self.pointer = pointer
        super().__init__(f"{message} (at {pointer or 'the root'})")


class UnsupportedFeatureError(MiniDecoderError):
    """A construct we recognise and do not compile.

    Attributes: `feature` its name, `pattern` and `position` (0-based) for a regular expression,
    `pointer` (a JSON pointer) for a schema; `remedy` a rewrite where there is one.
    """

    def __init__(
        self,
        feature: str,
        *,
        pattern: str | None = None,
        position: int | None = None,
        pointer: str | None = None,
        remedy: str = "",
    ) -> None:
        self.feature = feature
        self.pattern = pattern
        self.position = position
        self.pointer = pointer
        self.remedy = remedy
        text = f"{feature} is not supported"
        if position is not None:
            text += f" (position {position})"
        if pointer is not None:
            text += f" (at {pointer or 'the root'})"
        if remedy:
            text += f": {remedy}"
        if pattern is not None and position is not None:
            text += f"\n{caret_line(pattern, position)}"
        super().__init__(text)


class VocabularyError(MiniDecoderError, ValueError):
    """The tokens, their ids, the EOS ids or the width contradict each other."""


class UnsatisfiableConstraintError(MiniDecoderError):
    """No sequence of this vocabulary's tokens matches the constraint from start to end."""


class ConstraintTooLargeError(MiniDecoderError):
    """Compiling was stopped by a limit. `limit`: the argument that sets it (`"max_states"`, `"max_depth"`,
    `"timeout_s"`), None for a fixed one, which no argument raises: then the constraint has to be simpler."""

    def __init__(self, message: str, limit: str | None = None) -> None:
        self.limit = limit
        which = "a fixed limit" if limit is None else f"the limit is the argument {limit}"
        super().__init__(f"{message} ({which})")


class EmptyMaskError(MiniDecoderError):
    """Nothing can be drawn from a logits row; `step` names the step of the pipeline that emptied it."""

    def __init__(self, message: str, step: str = "mask") -> None:
        self.step = step
        super().__init__(message)


class GenerationInterrupted(KeyboardInterrupt):
    """Ctrl-C during a generation. `run`: what was generated so far, as `generate` would have returned it,
    with the finish_reason "interrupted"; `finished`: the runs before it, of several prompts.

    A KeyboardInterrupt and no MiniDecoderError, so that `except Exception` does not swallow it.
    """

    def __init__(self, run: Any, finished: Sequence[Any] = ()) -> None:
        self.run = run
        self.finished = tuple(finished)
        super().__init__(f"interrupted after {len(run.token_ids)} tokens; the run so far is in .run")


class ModelError(MiniDecoderError):
    """The model cannot be found or loaded, or its logits cannot be used (NaN, a wrong width)."""


class MissingDependencyError(MiniDecoderError, ImportError):
    """An optional package is not installed; the message is the command that installs it."""

    def __init__(self, package: str, extra: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(f"{package} is not installed: pip install 'minidecoder[{extra}]'")


def caret_line(text: str, position: int) -> str:
    """Two lines: the text around `position` (control characters visible) and a caret under it."""
    first = max(0, position - _CARET_WINDOW // 2)
    cut = text[first : first + _CARET_WINDOW]
    shown = [char if char.isprintable() else ascii(char)[1:-1] for char in cut]
    before = "…" if first else ""
    after = "…" if first + _CARET_WINDOW < len(text) else ""
    column = len(before) + sum(map(_columns, shown[: position - first]))
    return f"  {before}{''.join(shown)}{after}\n  {' ' * column}^"


def _columns(text: str) -> int:
    """How wide a terminal prints a text: wide characters take two columns, combining ones none."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) > 0 for char in text)
