"""How a run looks in a terminal: the question, the free answer, and a table with a line per token.

Colours follow the roles of every other picture (live, accepting, blocked, EOS) and never stand alone:
a blocked favourite also carries a cross. White space is visible, tokens stand in their own column.
Notes of what takes long go to stderr, so that a pipe receives results only.

Left out: plots and machines (`viz`). Needs `rich`, which comes with the extra `models`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import Any, Final

from minidecoder.api import Run
from minidecoder.automaton import walk
from minidecoder.decoding.constraint import Constraint
from minidecoder.decoding.loop import Step
from minidecoder.errors import MissingDependencyError
from minidecoder.lens.labels import show_text, show_token

__all__ = ["Screen"]

_LIVE: Final = "bold blue"
_ACCEPTING: Final = "bold green"
_BLOCKED: Final = "red"
_EOS: Final = "magenta"
_PIPE_WIDTH: Final = 110  # columns where the output is no terminal
_LONGEST_LABEL: Final = 24


class Screen:
    """Prints results to stdout and progress to stderr."""

    def __init__(self) -> None:
        try:
            from rich.console import Console
        except ModuleNotFoundError:
            raise MissingDependencyError("rich", extra="models") from None
        width = None if sys.stdout.isatty() else _PIPE_WIDTH
        self._out = Console(width=width, highlight=False, soft_wrap=False)
        self._err = Console(stderr=True, highlight=False)

    @contextmanager
    def busy(self, what: str) -> Iterator[Callable[[str], None]]:
        """Show that something takes long; the value takes notes on how far it is."""
        if not self._err.is_terminal:
            self._err.print(f"{what} …", markup=False)
            yield lambda text: self._err.print(f"  {text}", markup=False)
            return
        with self._err.status(what) as status:
            yield lambda text: status.update(f"{what}: {text}")

    def say(self, text: str) -> None:
        self._out.print(text, markup=False)

    def good(self, sentence: str, text: str) -> None:
        """A success, and the text it is about."""
        self._line((f"✓ {sentence} ", ""), (_one_line(text), _ACCEPTING))

    def bad(self, sentence: str, text: str) -> None:
        """A failure, and the text it is about."""
        self._line((f"✕ {sentence} ", _BLOCKED), (_one_line(text), "bold"))

    def show_question(self, prompt: str, pattern: str) -> None:
        self._line(("prompt       ", "dim"), (_one_line(prompt), ""))
        self._line(("pattern      ", "dim"), (pattern, ""))

    def show_free_answer(self, run: Run, constraint: Constraint | None) -> None:
        """The model's own answer, and whether it matches."""
        matches = constraint is None or _accepts(constraint, run.text)
        verdict = ("✓ matches", _ACCEPTING) if matches else ("✕ no match", _BLOCKED)
        cut = "" if run.finish_reason == "stop" else f", cut at {len(run.steps)} tokens"
        self._line(("free answer  ", "dim"), (_one_line(run.text), ""))
        self._line(("             ", ""), verdict, (cut, ""))

    def show_steps(self, run: Run) -> None:
        """A line per token of a constrained run."""
        from rich import box
        from rich.table import Table

        width = len(run.vocabulary)
        table = Table(box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
        table.add_column("step", justify="right", style="dim")
        table.add_column("state", style=_LIVE)
        table.add_column(f"allowed of {width:,}", justify="right")
        table.add_column("model's favourite", overflow="ellipsis", no_wrap=True)
        table.add_column("token", overflow="ellipsis", no_wrap=True)
        table.add_column("moves through", overflow="fold")
        table.add_column("mass kept", justify="right")
        for step in run.steps:
            table.add_row(*self._row(run, step))
        self._out.print(table)

    def _row(self, run: Run, step: Step) -> list[Any]:
        token = show_token(run.vocabulary, step.token_id)[:_LONGEST_LABEL]
        mass = "only EOS" if step.feasible_mass is None else _percent(step.feasible_mass)
        return [
            str(step.index + 1),
            _state_name(run, step),
            f"{step.allowed_count:,}",
            self._favourite(run, step),
            self._styled((token, _EOS if step.is_eos else "bold")),
            _moves(run, step),
            mass,
        ]

    def _favourite(self, run: Run, step: Step) -> Any:
        if step.favourite is None:
            return self._styled(("not asked", "dim"))
        label = show_token(run.vocabulary, step.favourite)[:_LONGEST_LABEL]
        if step.favourite_blocked:
            return self._styled(("✕ ", _BLOCKED), (label, f"{_BLOCKED} strike"))
        return self._styled(("  ", ""), (label, ""))

    def _line(self, *pieces: tuple[str, str]) -> None:
        # soft_wrap: the terminal breaks a long line, so that what is copied from it is one line.
        self._out.print(self._styled(*pieces), soft_wrap=True)

    @staticmethod
    def _styled(*pieces: tuple[str, str]) -> Any:
        """A line of (text, style); the text is never read as markup, whatever a model wrote."""
        from rich.text import Text

        return Text.assemble(*pieces)


def _one_line(text: str) -> str:
    """A text with its line breaks and control characters visible, and its spaces as they are."""
    return " ".join(map(show_text, text.split(" ")))


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
