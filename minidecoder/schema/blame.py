"""Which keywords block a token: those of which each alone, removed, would let it pass.

    blame({"type": "integer", "maximum": 9}, "1", b"0", vocabulary)   # maximum at /maximum

Nothing is guessed: the schema is compiled again without the keyword, and the text is read by that machine.
Two keywords that both forbid the token are then both innocent, and so is JSON itself: the answer is empty.

Left out: subschemas as such (an entry of `allOf` or `properties` is no keyword, the keywords in it are), and
documents that the schema refers to and nobody handed over. Cost: a compile for each keyword, at most
`MOST_TRIALS` of them and `MOST_SECONDS` of time, those that stand nearest to the place in the text first.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from minidecoder.automaton import DEAD
from minidecoder.errors import MiniDecoderError
from minidecoder.grammar.pushdown import PushdownAutomaton
from minidecoder.schema.keywords import KEYWORDS
from minidecoder.schema.parse import escape, load_schema
from minidecoder.schema.resolve import Schema
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["MOST_SECONDS", "MOST_TRIALS", "Blame", "Blamer", "blame"]

MOST_TRIALS = 300
MOST_SECONDS = 3.0  # somebody waits for the answer
_NAME: Final = re.compile(rb'"((?:[^"\\]|\\.)*)"[ \t\n\r]*:')


@dataclass(frozen=True)
class Blame:
    """`keywords`: (JSON pointer of the keyword, its name), each of which alone blocks the token; `complete`:
    whether every keyword was tried."""

    keywords: tuple[tuple[str, str], ...]
    complete: bool


def blame(
    schema: Any, text: str | bytes, token: bytes | None, vocabulary: Vocabulary, **options: Any
) -> Blame:
    """What of `schema` blocks `token` (None: the end of the text) after `text`. `options`: those of
    `compile_schema`, which also says what is raised. Nothing is blamed for a token that is allowed."""
    from minidecoder.schema.compiler import compile_schema

    blamer = compile_schema(schema, vocabulary, **options).automaton.words.blame  # type: ignore[attr-defined]
    found: Blame = blamer(text, token)
    return found


class Blamer:
    """Answers for one schema. `compile_`: (schema, resources) → its machine."""

    def __init__(
        self,
        schema: Any,
        resources: Mapping[str, Any],
        compile_: Callable[[Any, Mapping[str, Any]], PushdownAutomaton],
    ) -> None:
        self._schema = schema
        self._resources = resources
        self._compile = compile_

    def __call__(self, text: str | bytes, token: bytes | None) -> Blame:
        """What blocks `token` (None: the end of the text) after `text`."""
        data = text.encode() if isinstance(text, str) else text
        schema = load_schema(self._schema)
        resources = {uri: load_schema(document, uri) for uri, document in self._resources.items()}
        machine = self._compile(schema, resources)
        if _allows(machine, data, token):
            return Blame((), complete=True)
        here = _here(machine, data)
        candidates = sorted(_keywords(schema, resources), key=lambda c: _distance(c[0], here))
        found, end, tried = list[tuple[str, str]](), time.monotonic() + MOST_SECONDS, 0
        for pointer, keyword in candidates[:MOST_TRIALS]:
            if time.monotonic() > end:
                break
            tried += 1
            if self._passes_without(schema, resources, pointer, keyword, data, token):
                found.append((pointer + escape(keyword), keyword))
        return Blame(tuple(found), complete=tried == len(candidates))

    def _passes_without(
        self,
        schema: Any,
        resources: Mapping[str, Any],
        pointer: str,
        keyword: str,
        data: bytes,
        token: bytes | None,
    ) -> bool:
        uri, mark, inside = pointer.rpartition("#") if pointer[:1] not in ("", "/") else ("", "", pointer)
        try:
            if mark:
                without = _without(resources[uri], inside.split("/")[1:], keyword)
                machine = self._compile(schema, {**resources, uri: without})
            else:
                machine = self._compile(_without(schema, inside.split("/")[1:], keyword), resources)
            return _allows(machine, data, token)
        except MiniDecoderError:  # without it, this is no schema, or one that we cannot compile
            return False


def _allows(machine: PushdownAutomaton, data: bytes, token: bytes | None) -> bool:
    state = machine.run(machine.start, data + (token or b""))
    return machine.is_accepting(state) if token is None else state != DEAD


def _keywords(schema: Any, resources: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(pointer of the subschema, keyword) for all that can make a value invalid."""
    plain = {uri.partition("#")[0]: document for uri, document in resources.items()}
    for pointer, members in Schema(schema, plain, lenient=True).written.items():
        for name, _ in members:
            if name in KEYWORDS and KEYWORDS[name].enforced:
                yield pointer, name


def _here(machine: PushdownAutomaton, data: bytes) -> frozenset[str]:
    """The pointers of the subschemas whose rules are open after as much of the text as can be read."""
    state, held = machine.start, machine.hold(machine.start)
    for byte in data:
        after = machine.step(state, byte)
        if after == DEAD:
            break
        state, held = after, machine.hold(after)
    assert held is not None  # it keeps the state from being forgotten
    names = [*machine.open_rules(state), *(part.where for part in machine.expected(state))]
    found = {word for name in names for word in name.replace(":", " ").split() if word[:1] == "/"}
    # Numbers and strings do not say whose they are; the name that was read last does.
    written = _NAME.findall(data)
    return frozenset(found | ({escape(json.loads(b'"' + written[-1] + b'"'))} if written else set()))


def _distance(pointer: str, here: frozenset[str]) -> int:
    """0 for a place that is open, 1 for what stands inside one or around it, else 2."""
    if pointer in here or not pointer or any(pointer.endswith(place) for place in here):
        return 0
    return 2 - any(pointer.startswith(place) or place.startswith(pointer) for place in here)


def _without(schema: Any, path: list[str], keyword: str) -> Any:
    """A copy of the schema that lacks one keyword; what does not lie on the path is shared."""
    if not path:
        return {name: value for name, value in schema.items() if name != keyword}
    step = path[0].replace("~1", "/").replace("~0", "~")
    if isinstance(schema, list):
        at = int(step)
        return [*schema[:at], _without(schema[at], path[1:], keyword), *schema[at + 1 :]]
    return {**schema, step: _without(schema[step], path[1:], keyword)}
