"""A run that can be stepped, taken back, and steered by hand.

    run = Rewindable(model, request)
    run.step()          the loop's next step         run.take(token_id)    a token of your own choice
    run.back_to(3)      as it was after 3 tokens     run.look(2)           step 2 again, with its rows

Each place keeps what the matcher, the text and the random numbers were, so a run that went back and forth
draws what it would have drawn: without a token taken by hand, the ids of `generate`. A token by hand uses up
the random number of the one that it replaces.

Left out: what a page shows of it (`viz.lab_run`). Cost: that of the loop; for each place one row of V logits
as the model gave it (its own type), `KEPT_BYTES` of them at most, and O(V) to look at a past step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from time import perf_counter
from typing import Any, Final, NamedTuple

import numpy as np

from minidecoder.automaton import TokenId
from minidecoder.decoding.language_model import LanguageModel, Logits
from minidecoder.decoding.logits import Row, as_logits
from minidecoder.decoding.loop import Loop, Request, Step
from minidecoder.decoding.sampling import Draw, Past
from minidecoder.errors import ModelError, UsageError
from minidecoder.tokens.bitmask import is_set
from minidecoder.tokens.checks import whole_number

__all__ = ["KEPT_BYTES", "Rewindable"]

KEPT_BYTES: Final = 128_000_000  # of rows: 122 steps of 131,072 tokens in float64, 650 of SmolLM2


class _Place(NamedTuple):
    """What the loop was before a token."""

    text: bytes
    waiting: tuple[TokenId, ...]
    random_state: Any


class Rewindable:
    """A run of `model`. `request`: for this run alone, with its matcher at the start, as `prepare` gives it.

    `steps`: what was taken so far, without the rows of logits, which `look` brings back.
    """

    def __init__(self, model: LanguageModel, request: Request) -> None:
        self.request = request
        self.steps: tuple[Step, ...] = ()
        self._rows = _Rows(model, len(request.prompt_ids))
        self._loop = Loop(self._rows, request)
        self._places = [self._place()]

    @property
    def is_over(self) -> bool:
        """Whether nothing may follow: after EOS, a stop string, or `max_tokens`."""
        last = self.steps[-1] if self.steps else None
        ended = last is not None and (last.is_eos or bool(last.stop))
        return ended or len(self.steps) >= self.request.max_tokens

    def step(self) -> Step:
        """Take what the loop draws. An error, such as `EmptyMaskError`, leaves everything as it was."""
        self._check_not_over()
        place = self._places[-1]
        try:
            step = self._loop.step(len(self.steps))
        except BaseException as fault:
            self._undo(fault, place)
            raise
        return self._add(step)

    def take(self, token_id: int) -> Step:
        """Take this token. `UsageError` where it is blocked, and everything stays as it was."""
        self._check_not_over()
        chosen = TokenId(self._loop.vocabulary.check_id(token_id))
        started, index, place = perf_counter(), len(self.steps), self._places[-1]
        try:
            draw = self._draw_by_hand(index, chosen)
            step = self._loop.take(index, chosen, draw, self._masks(index), started)
        except BaseException as fault:
            self._undo(fault, place)
            raise
        return self._add(step)

    def back_to(self, index: int) -> None:
        """As it was after `index` tokens: 0 is the beginning. `UsageError` where the run was never there."""
        index = whole_number(index, "index")
        if not 0 <= index <= len(self.steps):
            raise UsageError(f"back_to({index}): the run has {len(self.steps)} tokens, so it is 0 to that")
        self.steps = self.steps[:index]
        del self._places[index + 1 :]
        self._rows.forget_after(index)
        self._restore(self._places[index], index)

    def look(self, index: int) -> Step:
        """Step `index` with its `draw`, as it was when it was taken; `index == len(steps)`: the step that
        could not be taken, and its `token_id` means nothing. Nothing moves; the model is asked only for a
        row that was dropped, the oldest past `KEPT_BYTES`."""
        if index < len(self.steps):
            step = self.steps[index]
            return step if step.favourite is None else replace(step, draw=self._drawn(index, step.token_id))
        row = self._rows.row(index)
        legal, bitmask = self._loop.masks(self.request.max_tokens - index)
        draw = None if row is None else self._drawn(index, TokenId(int(np.argmax(row))))
        return Step(
            index=index,
            state=None if self._loop.matcher is None else self._loop.matcher.state,
            state_after=None,
            token_id=TokenId(0) if draw is None else draw.token_id,
            allowed_count=0,
            bitmask=bitmask,
            favourite=None,
            feasible_mass=None,
            probability=0.0,
            is_eos=False,
            draw=draw,
            legal=legal,
            tokens_left=self.request.max_tokens - index,
            budget=self.request.budget,
        )

    def fork(self) -> Rewindable:
        """An independent run with the same past. Both ask the same model."""
        matcher = None if self._loop.matcher is None else self._loop.matcher.fork()
        other = Rewindable(self._rows.model, replace(self.request, matcher=matcher, sampler=self._sampler()))
        other.steps, other._places = self.steps, self._places.copy()
        other._rows.rows = self._rows.rows.copy()
        other._loop.token_ids = self._loop.token_ids.copy()
        other._restore(self._places[-1], len(self.steps))
        return other

    # -- one step ---------------------------------------------------------------------------------

    def _add(self, step: Step) -> Step:
        self.steps = (*self.steps, replace(step, draw=None))
        self._places.append(self._place())
        return step

    def _masks(self, index: int) -> Any:
        return self._loop.masks(self.request.max_tokens - index)

    def _draw_by_hand(self, index: int, token_id: TokenId) -> Draw | None:
        """The draw that the token takes the place of; None where the model is not asked."""
        _, bitmask = self._masks(index)
        if not is_set(bitmask, token_id):
            raise UsageError(f"token {token_id} is blocked here: {self._why(token_id)}")
        ends = self._loop.vocabulary.eos_ids
        allowed = [i for i in ends if is_set(bitmask, i)]
        count = int(np.bitwise_count(bitmask.view(np.uint32)).sum())
        if self._loop.matcher is not None and count == len(allowed):
            return None
        self._loop.waiting.clear()
        logits = self._loop.logits()
        stages = self.request.sampler.stages(logits, bitmask, self._loop.past(index))
        self.request.sampler.skip()
        return Draw(
            token_id, logits, stages[-1][1] if stages else logits, stages, self.request.sampler.sampling
        )

    def _why(self, token_id: TokenId) -> str:
        if self._loop.matcher is None:
            return "it stands for no text"
        legal = self._loop.matcher.is_allowed(token_id)
        return "the budget leaves too few tokens after it" if legal else "the constraint does not allow it"

    def _drawn(self, index: int, token_id: TokenId) -> Draw:
        """What the pipeline makes of the row before token `index`."""
        read = self._loop.token_ids[: len(self.request.prompt_ids) + index]
        logits: Row = as_logits(self._rows.next_logits(read), len(self._loop.vocabulary))
        past = Past(read, index, self._loop.vocabulary.eos_ids)
        bitmask = self.steps[index].bitmask if index < len(self.steps) else self._masks(index)[1]
        stages = self.request.sampler.stages(logits, bitmask, past)
        return Draw(
            token_id, logits, stages[-1][1] if stages else logits, stages, self.request.sampler.sampling
        )

    # -- places -----------------------------------------------------------------------------------

    def _check_not_over(self) -> None:
        if self.is_over:
            raise UsageError("the run is over: go back first")

    def _place(self) -> _Place:
        return _Place(self._loop.text, tuple(self._loop.waiting), self.request.sampler.random_state)

    def _undo(self, fault: BaseException, place: _Place) -> None:
        if isinstance(fault, ModelError):  # that row is to be asked for again
            self._rows.forget_after(len(self.steps) - 1)
        self._restore(place, len(self.steps))

    def _restore(self, place: _Place, count: int) -> None:
        loop = self._loop
        del loop.token_ids[len(self.request.prompt_ids) + count :]
        loop.text, loop.waiting = place.text, deque(place.waiting)
        self.request.sampler.random_state = place.random_state
        if loop.matcher is not None:
            loop.matcher.rollback(loop.matcher.steps - count)

    def _sampler(self) -> Any:
        sampler = copy(self.request.sampler)
        sampler._random = np.random.default_rng()
        sampler.random_state = self.request.sampler.random_state
        return sampler


class _Rows:
    """The model, and the rows of logits that it gave before the latest tokens: it is not asked again."""

    def __init__(self, model: LanguageModel, prompt: int) -> None:
        self.model, self.prompt = model, prompt
        self.rows: dict[int, Logits] = {}

    def next_logits(self, token_ids: Sequence[int]) -> Logits:
        index = len(token_ids) - self.prompt
        if index not in self.rows:
            row = self.rows[index] = self.model.next_logits(token_ids)
            if len(self.rows) > max(1, KEPT_BYTES // max(1, getattr(row, "nbytes", 1))):
                del self.rows[
                    min(self.rows)
                ]  # subtle: may be this one, so that a look back drops no later one
            return row
        return self.rows[index]

    def row(self, index: int) -> Logits | None:
        return self.rows.get(index)

    def forget_after(self, index: int) -> None:
        """Before token `index` the ids are the same; behind it others may come."""
        self.rows = {at: row for at, row in self.rows.items() if at <= index}
