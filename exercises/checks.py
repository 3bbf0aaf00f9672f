"""What a check is: points, a hint, a time limit, and a question that has one right answer.

    @check(TASK, points=1, hint="EOS ends the text …")
    def test_eos_needs_an_accepting_state(solution):
        '''EOS is allowed exactly in accepting states.'''
        call = Call((automaton, 1), shown="(machine('a'), 1)", expected="2", why="…")
        if solution.answer(call) != 2:
            solution.refute(call, …)

A check talks to the solution through the `solution` fixture alone, and the expected value is worked
out beside the check, never in the process that runs the student's code. A check ends in one of two
ways: it returns (all its points) or raises `Wrong` (none, and what to tell the student).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = [
    "LIMIT_S",
    "Call",
    "Check",
    "Form",
    "Lines",
    "Task",
    "Wrong",
    "check",
    "check_of",
    "dict_of",
    "is_int",
    "list_of",
]

LIMIT_S = 10.0
"""Seconds that the student's code may take in one check, all its calls together."""


Form: TypeAlias = Callable[[Any], bool]
"""Whether a plain value has the form that a task asks for: `list_of(list_of(is_int))`."""


def is_int(value: Any) -> bool:
    """A whole number. subtle: True is an int to Python, and no state or token id to us."""
    return type(value) is int


def list_of(item: Form) -> Form:
    return lambda value: isinstance(value, list) and all(map(item, value))


def dict_of(key: Form, item: Form) -> Form:
    return lambda value: isinstance(value, dict) and all(key(k) and item(v) for k, v in value.items())


@dataclass(frozen=True)
class Task:
    """One function to write. `signature`: `name(argument, …)`; `returns`: in words; `form`: whether a
    plain value has that form; `lines`: about how long an answer is; `builds_on`: a task it may call;
    `stand_in`: `module:function`, a right answer for those who build on a wrong one."""

    number: int
    signature: str
    returns: str
    form: Form
    lines: int
    builds_on: Task | None = None
    stand_in: str = ""

    @property
    def function(self) -> str:
        return self.signature.partition("(")[0]

    @property
    def argument_names(self) -> list[str]:
        return self.signature.partition("(")[2].rstrip(")").split(", ")


@dataclass(frozen=True)
class Check:
    """What `@check` ties to a test function; `title` is the first line of its docstring. `hint_for`: hints
    for answers that have no form: a part of what is shown as Yours ("RecursionError") → the hint."""

    task: Task
    title: str
    points: int
    hint: str
    hint_for: Mapping[str, str]
    limit_s: float


@dataclass(frozen=True)
class Call:
    """One question. `shown`: the arguments as a student would type them, with `[1]` or the like
    behind them where only a part is in question; `about`: (label, text) lines that help to read it."""

    arguments: tuple[Any, ...]
    shown: str
    expected: str
    why: str
    about: tuple[tuple[str, str], ...] = ()


Lines: TypeAlias = list[tuple[str, str]]


class Wrong(Exception):
    """A check that failed. `lines`: (label, text) for the student; `hint`: None where the lines say it all,
    for a wrong hint is worse than none; `kind`: `"file"`, `"to do"`, `"form"` or `"answer"`."""

    def __init__(self, lines: Lines, *, kind: str, hint: str | None = None) -> None:
        super().__init__("; ".join(text for _, text in lines))
        self.lines, self.kind, self.hint = lines, kind, hint


def check(
    task: Task,
    *,
    points: int,
    hint: str,
    hint_for: Mapping[str, str] | None = None,
    limit_s: float = LIMIT_S,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a test function a check of `task`."""

    def mark(function: Callable[..., None]) -> Callable[..., None]:
        title = (function.__doc__ or function.__name__).strip().splitlines()[0].rstrip(".")
        vars(function)["check"] = Check(task, title, points, hint, hint_for or {}, limit_s)
        vars(function)[task.function] = task  # so that `pytest -k walk_token` runs the checks of one task
        return function

    return mark


def check_of(function: object) -> Check | None:
    """The `Check` of a test function; None for any other object."""
    found = getattr(function, "check", None)
    return found if isinstance(found, Check) else None
