"""The score card as text: what was got, what was possible, and for each miss what happened and a hint.

    Task 2  build_index                                             3 of 4
      ✗ 0/1  EOS is allowed exactly in accepting states
        Call            build_index(machine("a"), [1, 2], [b"", b"a"], 0)[1]
        Yours           {0: 1, 1: 2}
        Expected        {1: 2}
        Why it matters  …
        Hint            …

Left out: colours, which the terminal adds by a line's first sign. Cost: nothing to speak of.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from exercises.checks import Check, Wrong
from minidecoder.lens.labels import show_char

__all__ = ["Outcome", "card", "explain", "visible"]

_INDENT = " " * 4
_LABEL = 16
_AS_TYPED = {"You printed"}  # its line breaks are kept


@dataclass(frozen=True)
class Outcome:
    """What became of one check. `wrong` is None where it passed; `was_run` is False where it never came
    to a verdict, which is worth nothing; `mended`: it passed once the task it builds on was put right."""

    check: Check
    wrong: Wrong | None = None
    was_run: bool = True
    mended: bool = False

    @property
    def points(self) -> int:
        return self.check.points if self.was_run and self.wrong is None else 0


def card(title: str, outcomes: Sequence[Outcome], *, width: int) -> list[str]:
    """The lines of the score card, none wider than `width` where words can be broken."""
    lines = [title, ""]
    told_of_file = False
    for task in dict.fromkeys(outcome.check.task for outcome in outcomes):
        mine = [outcome for outcome in outcomes if outcome.check.task == task]
        lines.append(_right(f"Task {task.number}  {task.function}", _of(mine), width))
        first_wrong = next((outcome for outcome in mine if outcome.wrong), None)
        for outcome in mine:
            lines += _row(outcome, first_wrong, width)
            # One thing at a time: what follows from the first mistake needs no words of its own.
            if outcome is first_wrong and not told_of_file:
                lines += explain(outcome, width=width)
                told_of_file = outcome.wrong is not None and outcome.wrong.kind == "file"
        lines.append("")
    lines.append(_right("Score", _of(outcomes), width))
    return lines


def explain(outcome: Outcome, *, width: int) -> list[str]:
    """What went wrong in one check, and its hint."""
    assert outcome.wrong is not None
    lines = list(outcome.wrong.lines)
    if outcome.wrong.hint:
        lines.append(("Hint", outcome.wrong.hint))
    return [line for label, text in lines for line in _field(label, text, width)]


def _row(outcome: Outcome, first_wrong: Outcome | None, width: int) -> list[str]:
    check = outcome.check
    sign = "✓" if outcome.points else "✗" if outcome.was_run else "–"
    remark = "" if outcome.was_run else "(not run)"
    if outcome.wrong and outcome is not first_wrong and outcome.wrong.kind in ("answer", "form"):
        remark = "(first the one above)"
    if outcome.mended and check.task.builds_on:
        remark = f"(with task {check.task.builds_on.number} mended)"
    row = f"  {sign} {outcome.points}/{check.points}  {check.title}"
    if len(row) + 2 + len(remark) <= width:
        return [f"{row}  {remark}".rstrip()]
    return [row, f"         {remark}"]


def _field(label: str, text: str, width: int) -> Iterator[str]:
    pieces = text.split("\n") if label in _AS_TYPED else [" ".join(text.split())]
    for piece in pieces:
        for line in _wrap(visible(piece), max(20, width - len(_INDENT) - _LABEL)):
            yield f"{_INDENT}{label:{_LABEL}}{line}".rstrip()
            label = ""


def visible(text: str) -> str:
    """A student's text on one line, where a terminal obeys nothing in it: `\\x1b`, not an escape code."""
    return "".join(char if char == " " else show_char(char) for char in text)


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def _of(outcomes: Iterable[Outcome]) -> str:
    together = list(outcomes)
    if not any(outcome.was_run for outcome in together):
        return "not run"  # 0 would look like a verdict
    return f"{sum(o.points for o in together)} of {sum(o.check.points for o in together)}"


def _right(left: str, right: str, width: int) -> str:
    return f"{left}{right:>{max(1, width - len(left))}}"
