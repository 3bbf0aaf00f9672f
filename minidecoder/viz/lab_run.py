"""One run of the lab: what was decoded so far, one step ahead of the page, as the page reads it.

The next token is drawn before it is asked for: the page shows it as what `step` will take. `committed` counts
the tokens that the page has taken. Where no next token can be drawn, `stuck` says why; what the steps of the
sampling left of the vocabulary stands in `left`.

Left out: threads and messages (`lab_session`). Cost: a step of the loop, and its record.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from minidecoder.decoding.constraint import Constraint
from minidecoder.decoding.language_model import LanguageModel
from minidecoder.decoding.loop import Request, Step
from minidecoder.decoding.rewindable import Rewindable
from minidecoder.errors import MiniDecoderError, UsageError
from minidecoder.lens.codec import to_plain
from minidecoder.lens.trace import Trace, TraceRecorder, TraceStep
from minidecoder.tokens.bitmask import is_set
from minidecoder.viz import player
from minidecoder.viz.lab_sources import Loaded
from minidecoder.viz.neighbourhood import MAX_DRAWN
from minidecoder.viz.plots import top_candidates

__all__ = ["LiveRun", "one_line"]

_Left = list[tuple[str, int]] | None


class LiveRun:
    """A run of `model`, with its first token drawn. `title`: "" for a run that stands alone."""

    def __init__(
        self, model: LanguageModel, request: Request, loaded: Loaded, constraint: Constraint | None,
        prompt: str, title: str = "",
    ) -> None:  # fmt: skip
        self.title, self.constraint, self.loaded, self.prompt = title, constraint, loaded, prompt
        self.rewindable = Rewindable(model, request)
        self.recorder = TraceRecorder(loaded.vocabulary, constraint, prompt)
        self.committed, self.is_fixed, self.stuck = 0, False, ""
        self.left: list[_Left] = []
        self._by_hand: set[int] = set()
        self._drawing = ""
        self._propose()

    @property
    def steps(self) -> tuple[Step, ...]:
        """The tokens that were taken, and the one that is next."""
        return self.rewindable.steps

    @property
    def is_over(self) -> bool:
        """Whether the page has taken the last token."""
        return self.committed == len(self.steps) and self.rewindable.is_over

    # -- moving -----------------------------------------------------------------------------------

    def step(self) -> int:
        """Take the next token, draw one more. Gives the number of the first step that is new."""
        self.committed = min(self.committed + 1, len(self.steps))
        first = len(self.steps)
        self._propose()
        return first

    def take(self, at: int, token_id: int) -> int:
        """After `at` tokens, take this one. Where it is blocked: `UsageError`, nothing done."""
        self._check_place(at)
        self._check_takable(at, token_id)
        self._forget(at)
        self.committed = at
        try:
            self._record(self.rewindable.take(token_id))
            self.committed = at + 1
            self._by_hand.add(at)
        finally:  # a model that fails here leaves the run at this place
            self.rewindable.back_to(len(self.recorder.steps))
            self._propose()
        return at

    def take_all(self, token_ids: Iterable[int]) -> int:
        """Take these from the beginning on, as far as they may be taken. Gives how many were."""
        for at, token_id in enumerate(token_ids):
            is_next = at < len(self.steps) and self.steps[at].token_id == token_id
            try:
                self.step() if is_next else self.take(at, token_id)
            except UsageError:
                return at
        return self.committed

    def back_to(self, at: int) -> int:
        """As it was after `at` tokens, with the token that was drawn there first."""
        self.committed = at = min(at, self.committed)
        if at == len(self.steps):
            return at
        first = at if at in self._by_hand else at + 1
        self._forget(first)
        self._propose()  # where the token was by hand
        return first

    def _forget(self, index: int) -> None:
        self.rewindable.back_to(index)
        self.recorder.back_to(index)
        del self.left[index:]
        self._by_hand = {at for at in self._by_hand if at < index}
        self.stuck = ""

    def _propose(self) -> None:
        if self.stuck or self.committed < len(self.steps) or self.rewindable.is_over:
            return
        try:
            self._record(self.rewindable.step())
        except MiniDecoderError as fault:
            self._stop(one_line(fault))
        except Exception as fault:  # a model may raise anything, and the run so far is still good
            self._stop(f"unexpected {type(fault).__name__}: {one_line(fault)}")

    def _record(self, step: Step) -> None:
        self.recorder.add(step)
        self.left.append(_left(step))

    def _stop(self, reason: str) -> None:
        self.stuck = reason
        self.rewindable.back_to(len(self.recorder.steps))
        try:
            self.left.append(_left(self.rewindable.look(len(self.steps))))
        except Exception:  # the logits themselves are unusable
            self.left.append(None)

    def _check_place(self, at: int) -> None:
        if not 0 <= at <= self.committed:
            raise UsageError(f"at={at}: the run has {self.committed} tokens")
        if at == len(self.steps) and self.rewindable.is_over:
            raise UsageError("the run is over: nothing follows")

    def _check_takable(self, at: int, token_id: int) -> None:
        step, width = self.rewindable.look(at), len(self.loaded.vocabulary)
        if not 0 <= token_id < width:
            raise UsageError(f"token {token_id} does not exist: ids are 0 to {width - 1:,}")
        if not is_set(step.bitmask, token_id):
            raise UsageError(self.recorder.candidates_of(step, [token_id])[0].why)

    def fixed(self) -> LiveRun:
        """A copy that never moves again, with the tokens that were taken so far."""
        kept = copy(self)
        kept.rewindable, kept.recorder = self.rewindable.fork(), copy(self.recorder)
        kept.recorder.steps = self.recorder.steps.copy()
        kept.left, kept._by_hand, kept.is_fixed = self.left.copy(), self._by_hand.copy(), True
        if not self.stuck:
            kept._forget(self.committed)
        return kept

    # -- as the page reads it ---------------------------------------------------------------------

    def trace(self) -> Trace:
        """The run so far, the next token included."""
        return replace(self.recorder.finish(self._is_complete()), finish_reason=self._finish_reason())

    def described(self) -> dict[str, Any]:
        """A RUN: everything."""
        shown = [_places(step) for step in self.recorder.steps]
        return {
            "recording": {"trace": to_plain(self.trace()), "svg": self._svg(), "shown": shown},
            "title": self.title,
            "over": self.is_over or self.is_fixed,
            "stuck": self.stuck,
            "fixed": self.is_fixed,
            "left": self.left.copy(),
        }

    def update(self, run: int, first: int) -> dict[str, Any]:
        """An UPDATE: what is new from step `first` on."""
        steps = self.recorder.steps[first:]
        text = self.loaded.vocabulary.decode(step.token_id for step in self.steps)
        before, svg = self._drawing, self._svg()
        return {
            "run": run,
            "from": first,
            "steps": [to_plain(step) for step in steps],
            "shown": [_places(step) for step in steps],
            "left": self.left[first:],
            "over": self.is_over,
            "stuck": self.stuck,
            "text": text.decode("utf-8", "replace"),
            "is_complete": self._is_complete(),
            "finish_reason": self._finish_reason(),
            **({} if svg == before else {"svg": svg}),
        }

    def _finish_reason(self) -> str:
        """ "interrupted" as long as more may follow."""
        if self.steps and self.steps[-1].is_eos:
            return "stop"
        return "length" if self.rewindable.is_over else "interrupted"

    def _is_complete(self) -> bool:
        matcher = self.rewindable.request.matcher
        return matcher is None or matcher.is_accepting

    def _svg(self) -> str:
        """The drawing, made again only where a state of the run is not in it."""
        if self.constraint is None or self.constraint.characters is None:
            return ""
        whole = len(self.constraint.characters) <= MAX_DRAWN
        steps = self.recorder.steps if whole else _latest(self.recorder.steps)
        if not self._drawing or not (whole or all(map(self._shows, _stops(steps)))):
            recorder = copy(self.recorder)
            recorder.steps = steps
            self._drawing = player.without_style(player.machine_picture(recorder.finish(is_complete=False)))
        return self._drawing

    def _shows(self, stop: str) -> bool:
        # subtle: a state inside a character is in no drawing, and is no reason to draw again.
        return f'"state-{stop}"' in self._drawing or not stop.startswith("s")


def one_line(fault: BaseException) -> str:
    """What an error says, without the picture of the place."""
    return (str(fault).splitlines() or [type(fault).__name__])[0]


def _left(step: Step) -> _Left:
    """How many tokens each step of the pipeline left."""
    if step.draw is None:
        return None
    rows = (("logits", step.draw.before), *step.draw.stages)
    return [(name, int(np.count_nonzero(row > -np.inf))) for name, row in rows]


def _stops(steps: Iterable[TraceStep]) -> set[str]:
    """The states that they begin in and pass."""
    return {name for step in steps for name in (step.state, *(move.state for move in step.path)) if name}


def _latest(steps: list[TraceStep]) -> list[TraceStep]:
    """As many of the last as a drawing has room for: all of a long run would take seconds a step."""
    first = max(0, len(steps) - 1)
    while first and len(_stops(steps[first - 1 :])) <= MAX_DRAWN:
        first -= 1
    return steps[first:]


def _places(step: TraceStep) -> list[int]:
    return player.places_of(step, top_candidates(step, player.ROWS))
