"""The public test suite of JSON Schema, put to the schema compiler: one outcome for each of its tests.

A schema is compiled and the test's instance written as compact JSON, then fed byte by byte, and as the
tokens of a real tokenizer; EOS must then be allowed exactly if the instance is valid. Outcomes, best first:

    pass · compile_error (a typed error) · false_negative (a valid instance refused) · false_positive

Objects have no order, texts do: a valid instance must be accepted in some order of its keys, an invalid one
refused in every order. A schema that nothing satisfies refuses everything. `format` is an annotation.

Left out: the table (`conformance`). Cost: some seconds for 1,299 tests.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

from minidecoder.automaton import DEAD
from minidecoder.compiling import compile_json_schema
from minidecoder.decoding.constraint import Constraint
from minidecoder.errors import MiniDecoderError, UnsatisfiableConstraintError, UsageError
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["OUTCOMES", "Outcome", "Result", "Tokens", "orders", "read_remotes", "run_suite", "written"]

Outcome: TypeAlias = Literal["pass", "compile_error", "false_negative", "false_positive"]
OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)

_SERVER: Final = "http://localhost:1234/"  # where the suite supposes its remotes; nothing is fetched
_DRAFT: Final = "draft2020-12"
_MOST_ORDERS: Final = 5_040  # of the keys of one instance; the required part of the suite has up to 720


@dataclass(frozen=True)
class Tokens:
    """A vocabulary, and how its tokenizer cuts a text."""

    vocabulary: Vocabulary
    encode: Callable[[str], list[int]]


@dataclass(frozen=True)
class Result:
    """What became of one test. `reason`: the error, where there was one."""

    file: str
    group: str
    test: str
    outcome: Outcome
    reason: str = ""


class _Number(str):
    """A number as the file writes it: 1.0 is not 1 as a text, though it is as a value."""

    __slots__ = ()


def run_suite(folder: Path, tokens: Tokens, resources: Mapping[str, Any] | None = None) -> Iterator[Result]:
    """The results for all `*.json` files of a folder, in order, or of one file. `resources`: documents that
    the schemas may refer to, by URI. `UsageError` where there are no such files, or other ones."""
    files = [folder] if folder.is_file() else sorted(folder.glob("*.json"))
    if not files:
        raise UsageError(f"there are no .json files in {folder}")
    for file in files:
        for group, instances in _read(file):
            constraint, fault = _compile(group["schema"], tokens, resources)
            for test, instance in zip(group["tests"], instances, strict=True):
                outcome, reason = _judge(constraint, fault, instance, bool(test["valid"]), tokens)
                yield Result(file.name, group["description"], test["description"], outcome, reason)


def _read(file: Path) -> Iterator[tuple[dict[str, Any], list[Any]]]:
    """Each group of a file, and its instances with their numbers as they are written."""
    try:
        text = file.read_text(encoding="utf-8")
        groups = json.loads(text)
        exact = json.loads(text, parse_int=_Number, parse_float=_Number)
        for group, copy in zip(groups, exact, strict=True):
            instances = [test["data"] for test in copy["tests"]]
            if not all({"description", "valid"} <= test.keys() for test in group["tests"]):
                raise KeyError("description or valid")
            yield {"schema": group["schema"], **group}, instances
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        raise UsageError(f"{file} is no file of the JSON Schema test suite: {fault!r:.80}") from None


def _compile(
    schema: Any, tokens: Tokens, resources: Mapping[str, Any] | None
) -> tuple[Constraint | None, MiniDecoderError | None]:
    try:
        return compile_json_schema(schema, tokens.vocabulary, whitespace="compact", resources=resources), None
    except MiniDecoderError as fault:
        return None, fault


def _judge(
    constraint: Constraint | None,
    fault: MiniDecoderError | None,
    instance: Any,
    valid: bool,
    tokens: Tokens,
) -> tuple[Outcome, str]:
    if fault is not None and not isinstance(fault, UnsatisfiableConstraintError):
        return "compile_error", str(fault)
    try:
        if constraint is None:
            accepted = False
        else:
            # subtle: an invalid instance counts as accepted if either way takes it, a valid one if both do.
            needed = all if valid else any
            accepted = any(needed(_ways(constraint, text, tokens)) for text in _texts(instance))
    except MiniDecoderError as late:  # a part of the schema that is met in the middle of a text
        return "compile_error", str(late)
    if accepted == valid:
        return "pass", ""
    return ("false_positive" if accepted else "false_negative"), ""


def _ways(constraint: Constraint, text: str, tokens: Tokens) -> Iterator[bool]:
    """Whether the text is accepted byte by byte, and token by token."""
    machine = constraint.automaton
    state, held = machine.start, machine.hold(machine.start)
    for byte in text.encode():
        state = machine.step(state, byte)
        if state == DEAD:
            break
        held = machine.hold(state)  # noqa: F841 (a lazy machine forgets what nobody holds)
    yield state != DEAD and machine.is_accepting(state)
    matcher = constraint.matcher()
    yield all(map(matcher.accept_token, tokens.encode(text))) and matcher.accept_token(
        tokens.vocabulary.eos_ids[0]
    )


# -- instances -----------------------------------------------------------------------------------------


def _texts(instance: Any) -> Iterator[str]:
    """The instance in each order of its keys; none where a lone surrogate keeps it from being UTF-8."""
    for ordered in orders(instance):
        text = written(ordered)
        try:
            text.encode()
        except UnicodeEncodeError:
            return
        yield text


def orders(value: Any) -> Iterator[Any]:
    """The value with the keys of all its objects in each order, the given order first.

    `UsageError` where there are more than 5,040.
    """
    if (number := _count_orders(value)) > _MOST_ORDERS:
        raise UsageError(f"an instance has {number:,} orders of its keys; at most {_MOST_ORDERS:,} are tried")
    return _orders(value)


def _count_orders(value: Any) -> int:
    if isinstance(value, dict):
        return math.factorial(len(value)) * math.prod(map(_count_orders, value.values()))
    return math.prod(map(_count_orders, value)) if isinstance(value, list) else 1


def _orders(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for names in itertools.permutations(value):
            for members in itertools.product(*(list(_orders(value[name])) for name in names)):
                yield dict(zip(names, members, strict=True))
    elif isinstance(value, list):
        yield from map(list, itertools.product(*(list(_orders(item)) for item in value)))
    else:
        yield value


def written(value: Any) -> str:
    """A value as compact JSON, characters as themselves."""
    match value:
        case _Number():
            return str(value)
        case dict():
            members = (f"{json.dumps(name, ensure_ascii=False)}:{written(v)}" for name, v in value.items())
            return "{" + ",".join(members) + "}"
        case list():
            return "[" + ",".join(map(written, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


# -- remote documents ----------------------------------------------------------------------------------


def read_remotes(folder: Path) -> dict[str, Any]:
    """The suite's folder `remotes` as resources: the URI where its server would show it → the document.

    Those that are written for another draft are left out. `UsageError` where there are none.
    """
    files = [file for file in sorted(folder.rglob("*.json")) if _is_of_this_draft(file.relative_to(folder))]
    if not files:
        raise UsageError(f"there are no .json files in {folder}")
    try:
        return {
            _SERVER + file.relative_to(folder).as_posix(): json.loads(file.read_text(encoding="utf-8"))
            for file in files
        }
    except ValueError as fault:
        raise UsageError(f"a file in {folder} is not JSON: {fault}") from None


def _is_of_this_draft(file: Path) -> bool:
    return file.parts[0] == _DRAFT or not file.parts[0].startswith(("draft", "v1"))
