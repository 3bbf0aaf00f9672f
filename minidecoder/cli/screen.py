"""How a run looks in a terminal: the question, the free answer, and a table with a line per token.

Colours follow the roles of every other picture (live, accepting, blocked, EOS) and never stand alone:
a blocked favourite also carries a cross. White space is visible, tokens stand in their own column, and
a narrow terminal gets fewer columns. Notes of what takes long go to stderr, so that a pipe receives
results only.

Left out: plots and machines (`viz`). Needs `rich`, which comes with the extra `models`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from minidecoder.api import Run
from minidecoder.automaton import walk
from minidecoder.decoding.constraint import Constraint
from minidecoder.decoding.loop import Step
from minidecoder.errors import MissingDependencyError
from minidecoder.lens.labels import show_text, show_token

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Screen"]

_LIVE: Final = "bold blue"
_ACCEPTING: Final = "bold green"
_BLOCKED: Final = "red"
_EOS: Final = "magenta"
_PIPE_WIDTH: Final = 110  # columns where the output is no terminal
_LONGEST_LABEL: Final = 24
_WIDE: Final = 100  # columns from which a header needs no second line


@dataclass(frozen=True)
class _Column:
    """A column of the table, shown where the terminal has `least_room` columns."""

    name: str
    header: str  # with a line break for a narrow terminal; {} is the width of the vocabulary
    least_room: int = 0
    justify: str = "left"
    style: str = ""
    shrinks: bool = False


_COLUMNS: Final = (
    _Column("step", "step", least_room=28, justify="right", style="dim"),
    _Column("state", "state", least_room=56, style=_LIVE),
    _Column("allowed", "allowed\nof {:,}", least_room=56, justify="right"),
    _Column("favourite", "model's\nfavourite", shrinks=True),
    _Column("token", "token", shrinks=True),
    _Column("moves", "moves\nthrough", least_room=76, shrinks=True),
    _Column("mass", "mass\nkept", least_room=36, justify="right"),
)


class Screen:
    """Prints results to stdout and progress to stderr."""

    def __init__(self) -> None:
        # COLUMNS, else the terminal's, else ours; rich would take 80, and print nothing where COLUMNS is 0.
        room = shutil.get_terminal_size((_PIPE_WIDTH, 0)).columns
        self._out = _console(width=room, highlight=False, soft_wrap=False)
        self._err = _console(stderr=True, highlight=False)

    @contextmanager
    def busy(self, what: str) -> Iterator[Callable[[str], None]]:
        """Show that something takes long; the value takes notes on how far it is."""
        if self._err.is_terminal:
            with self._err.status(f"{what} …"):
                yield self._note
        else:
            self._err.print(f"{what} …", markup=False, soft_wrap=True)
            yield self._note

    def _note(self, text: str) -> None:
        self._err.print(f"  {text}", markup=False, soft_wrap=True)

    def say(self, text: str) -> None:
        self._line((text, ""))

    def good(self, sentence: str, text: str) -> None:
        """A success, and the text it is about."""
        self._line((f"✓ {sentence} ", ""), (_one_line(text), _ACCEPTING))

    def bad(self, sentence: str, text: str) -> None:
        """A failure, and the text it is about."""
        self._line((f"✕ {sentence} ", _BLOCKED), (_one_line(text), "bold"))

    def show(self, label: str, text: str, note: str = "") -> None:
        """A labelled text, such as the prompt, and a note on it in a line of its own."""
        self._line((f"{label:<11}  ", "dim"), (_one_line(text), ""))
        if note:
            self._line((f"{'':<11}  ({note})", "dim"))

    def show_free_answer(self, run: Run, constraint: Constraint | None) -> None:
        """The model's own answer, and whether it matches."""
        matches = constraint is None or _accepts(constraint, run.text)
        verdict = ("✓ matches", _ACCEPTING) if matches else ("✕ no match", _BLOCKED)
        cut = "" if run.finish_reason == "stop" else f", cut at {len(run.steps)} tokens"
        self.show("free answer", run.text)
        self._line(("             ", ""), verdict, (cut, ""))

    def show_steps(self, run: Run) -> None:
        """A line per token of a constrained run."""
        from rich import box
        from rich.table import Table

        room = self._out.width
        wide = room >= _WIDE
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1) if wide else (0, 1, 0, 0))
        shown = [column for column in _COLUMNS if room >= column.least_room]
        for column in shown:
            header = column.header.format(len(run.vocabulary))
            look: dict[str, Any] = {"justify": column.justify, "style": column.style}
            # What may shrink is cut by its own text (_cell); rich would also shrink a number.
            table.add_column(
                header.replace("\n", " ") if wide else header, no_wrap=not column.shrinks, **look
            )
        for step in run.steps:
            cells = self._row(run, step)
            table.add_row(*(cells[column.name] for column in shown))
        self._out.print(table)

    def _row(self, run: Run, step: Step) -> dict[str, Any]:
        """The cells of a step by the names in `_COLUMNS`."""
        token = show_token(run.vocabulary, step.token_id)[:_LONGEST_LABEL]
        mass = "only EOS" if step.feasible_mass is None else _percent(step.feasible_mass)
        return {
            "step": str(step.index + 1),
            "state": _state_name(run, step),
            "allowed": f"{step.allowed_count:,}",
            "favourite": self._favourite(run, step),
            "token": self._cell((token, _EOS if step.is_eos else "bold")),
            "moves": self._cell((_moves(run, step), "")),
            "mass": mass,
        }

    def _favourite(self, run: Run, step: Step) -> Any:
        if step.favourite is None:
            return self._cell(("not asked", "dim"))
        label = show_token(run.vocabulary, step.favourite)[:_LONGEST_LABEL]
        if step.favourite_blocked:
            return self._cell(("✕ ", _BLOCKED), (label, f"{_BLOCKED} strike"))
        return self._cell(("  ", ""), (label, ""))

    def _cell(self, *pieces: tuple[str, str]) -> Any:
        """A text that stays one line; `…` stands for what its column has no room for."""
        text = self._styled(*pieces)
        text.no_wrap, text.overflow = True, "ellipsis"
        return text

    def _line(self, *pieces: tuple[str, str]) -> None:
        # soft_wrap: the terminal breaks a long line, so that what is copied from it is one line.
        self._out.print(self._styled(*pieces), soft_wrap=True)

    @staticmethod
    def _styled(*pieces: tuple[str, str]) -> Any:
        """A line of (text, style); the text is never read as markup, whatever a model wrote."""
        from rich.text import Text

        return Text.assemble(*pieces)


def _console(**settings: Any) -> Console:
    """A console that leaves a closed pipe to the dispatcher; rich's own answer is to exit with 1."""
    try:
        from rich.console import Console
    except ModuleNotFoundError:
        raise MissingDependencyError("rich", extra="models") from None

    class PlainConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return PlainConsole(**settings)


def _one_line(text: str) -> str:
    """A text with its line breaks and control characters visible, and its spaces as they are."""
    return " ".join(map(show_text, text.split(" "))) or "(empty text)"


def _accepts(constraint: Constraint, text: str) -> bool:
    machine = constraint.automaton
    path = [machine.start, *walk(machine, machine.start, text.encode("utf-8", "replace"))]
    return machine.is_accepting(path[-1])


def _state_name(run: Run, step: Step) -> str:
    assert run.constraint is not None and step.state is not None
    return run.constraint.automaton.name(step.state)


def _moves(run: Run, step: Step) -> str:
    """The states a token passes, each run of one state once: `s14→s15→s16` crosses two borders."""
    assert run.constraint is not None and step.state is not None
    machine = run.constraint.automaton
    path = [step.state, *walk(machine, step.state, run.vocabulary.token_bytes[step.token_id])]
    names = [machine.name(state) for state, _ in groupby(path)]
    if step.is_eos:
        return "the end"
    return "→".join(names if len(names) < 6 else [*names[:2], "…", *names[-2:]])


def _percent(share: float) -> str:
    """Probabilities a person can compare: two digits, and never a false 0 or 100."""
    percent = 100 * share
    if percent >= 99.95 and share < 1:
        return "> 99.9 %"
    if percent < 0.01:
        return f"{percent:.0e} %"
    return f"{percent:.2f} %" if percent < 10 else f"{percent:.1f} %"
