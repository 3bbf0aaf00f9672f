"""One recorded run: everything that a picture, a film or an exercise shows of it.

The decode loop's steps go in, a `Trace` comes out. Of each step the `CANDIDATES` likeliest tokens before the
mask are kept and as many after it, each with the verdict on it.

The parts of a trace are `trace_data`'s, and are given from here too. Left out: the rows of all V logits.
Cost: O(V) a step, 2 to 3 ms for 49,152 tokens; a trace of 64 steps stays under 200 KB (`trace_size`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from minidecoder.automaton import State
from minidecoder.decoding.constraint import Constraint
from minidecoder.decoding.logits import Row
from minidecoder.decoding.loop import Step
from minidecoder.lens.explain import Explainer
from minidecoder.lens.explain_drawn import explain_drawn
from minidecoder.lens.labels import show_ranges, show_token
from minidecoder.lens.place import path_of
from minidecoder.lens.trace_data import (
    ByteMove,
    Candidate,
    Machine,
    MachineEdge,
    MachineState,
    Trace,
    TraceStep,
)
from minidecoder.lens.trace_size import cut_label, cut_path, cut_stack, cut_text, fit
from minidecoder.lens.trace_versions import SCHEMA_VERSION
from minidecoder.regex.dfa import DFA
from minidecoder.tokens.bitmask import is_set, unpack
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = [
    "CANDIDATES",
    "SCHEMA_VERSION",
    "ByteMove",
    "Candidate",
    "Machine",
    "MachineEdge",
    "MachineState",
    "Trace",
    "TraceRecorder",
    "TraceStep",
    "draw_machine",
]

CANDIDATES: Final = 16


class TraceRecorder:
    """Collects the steps of one run as they happen: `add` each, then `finish`."""

    def __init__(self, vocabulary: Vocabulary, constraint: Constraint | None, prompt: str) -> None:
        self.vocabulary = vocabulary
        self.constraint = constraint
        self.prompt = prompt
        self.steps: list[TraceStep] = []
        self._explainer = None if constraint is None else Explainer(constraint)
        self._labels: dict[int, str] = {}

    def add(self, step: Step) -> None:
        """Record a step. Its rows of logits are read here and not kept. A state of a grammar must still be
        held by somebody, as the matcher of the run does."""
        candidates = self._candidates(step)
        chosen = next(candidate for candidate in candidates if candidate.token_id == step.token_id)
        self.steps.append(
            TraceStep(
                state=self._name(step.state),
                state_after=self._name(step.state_after),
                token_id=step.token_id,
                label=chosen.label,
                is_eos=step.is_eos,
                allowed_count=step.allowed_count,
                feasible_mass=None if step.feasible_mass is None else _rounded(step.feasible_mass),
                favourite=step.favourite,
                favourite_blocked=step.favourite_blocked,
                probability=_rounded(step.probability),
                path=chosen.path,
                candidates=candidates,
                stack=self._stack(step.state),
            )
        )

    def back_to(self, index: int) -> None:
        """Forget the steps from `index` on."""
        del self.steps[index:]

    def finish(self, is_complete: bool) -> Trace:
        """The whole trace. `is_complete`: whether the text is a whole match."""
        ended = bool(self.steps) and self.steps[-1].is_eos
        text = self.vocabulary.decode(step.token_id for step in self.steps)
        characters = None if self.constraint is None else self.constraint.characters
        return fit(
            Trace(
                schema_version=SCHEMA_VERSION,
                pattern=None if self.constraint is None else cut_text(self.constraint.source),
                machine=None if characters is None else draw_machine(characters),
                vocabulary_size=len(self.vocabulary),
                prompt=cut_text(self.prompt),
                steps=tuple(self.steps),
                text=text.decode("utf-8", "replace"),
                finish_reason="stop" if ended else "length",
                is_complete=is_complete,
            )
        )

    def _name(self, state: State | None) -> str | None:
        if state is None or self._explainer is None:
            return None
        return self._explainer.place(state).name

    def _stack(self, state: State | None) -> tuple[str, ...]:
        if state is None or self._explainer is None:
            return ()
        return cut_stack(self._explainer.place(state).stack)

    # -- candidates -----------------------------------------------------------------------------

    def _candidates(self, step: Step) -> tuple[Candidate, ...]:
        """The likeliest tokens before the mask and those after it, at most 2 x CANDIDATES, by logit."""
        if step.draw is None:
            return self.candidates_of(step, [step.token_id])
        logits = step.draw.before
        masked = np.where(unpack(step.bitmask, len(logits)), logits, -np.inf)
        top = {int(step.token_id), *_likeliest(logits).tolist()}
        top |= {i for i in _likeliest(masked).tolist() if masked[i] > -np.inf}
        return self.candidates_of(step, sorted(top, key=lambda i: (-logits[i], i)))

    def candidates_of(self, step: Step, token_ids: Sequence[int]) -> tuple[Candidate, ...]:
        """What a trace says of these tokens in this step, in their order. The step must have its `draw`, if
        the model was asked, and a state of a grammar must still be held."""
        if step.draw is None:
            share = {True: (1.0, 1.0, 1.0), False: (0.0, 0.0, 0.0)}
            return tuple(self._candidate(step, i, None, share[i == step.token_id]) for i in token_ids)
        logits, ids = step.draw.before, np.array(token_ids, dtype=np.intp)
        masked = np.where(unpack(step.bitmask, len(logits)), logits, -np.inf)
        shares = zip(*(_shares(row, ids) for row in (logits, masked, step.draw.after)), strict=True)
        return tuple(
            self._candidate(step, token_id, float(logits[token_id]), chances)
            for token_id, chances in zip(ids.tolist(), shares, strict=True)
        )

    def _candidate(
        self, step: Step, token_id: int, logit: float | None, chances: tuple[float, float, float]
    ) -> Candidate:
        verdict = explain_drawn(step, token_id, self.vocabulary, self._explainer)
        silent = verdict.is_allowed and self._explainer is None
        before, after, drawn = map(_rounded, chances)
        return Candidate(
            int(token_id),
            self._label(token_id),
            self._kind(token_id),
            _rounded(logit) if logit is not None and np.isfinite(logit) else None,
            before,
            after,
            drawn,
            is_set(step.bitmask, token_id),
            self._path(step.state, token_id, verdict.path),
            "" if silent else verdict.sentence,
            verdict.kind.name,
        )

    def _path(self, state: State | None, token_id: int, states: tuple[State, ...]) -> tuple[ByteMove, ...]:
        data = self.vocabulary.token_bytes[token_id]
        if self.constraint is None or state is None or not data:
            return ()
        assert self._explainer is not None
        found = (states, ()) if states else path_of(self.constraint, state, data)  # held till they are named
        names = map(self._explainer.name, found[0])
        return cut_path([ByteMove(byte, name) for byte, name in zip(data, names, strict=False)])

    def _label(self, token_id: int) -> str:
        if token_id not in self._labels:
            self._labels[token_id] = cut_label(show_token(self.vocabulary, token_id))
        return self._labels[token_id]

    def _kind(self, token_id: int) -> str:
        if token_id in self.vocabulary.eos_ids:
            return "eos"
        return "text" if self.vocabulary.token_bytes[token_id] else "special"


def _likeliest(logits: Row) -> NDArray[np.intp]:
    """The places of the CANDIDATES largest, those of lower ids where several tie."""
    if len(logits) <= CANDIDATES:
        return np.arange(len(logits))
    least = np.partition(logits, -CANDIDATES)[-CANDIDATES]
    above = np.flatnonzero(logits > least)
    return np.concatenate([above, np.flatnonzero(logits == least)[: CANDIDATES - len(above)]])


def _shares(row: Row, ids: NDArray[np.intp]) -> list[float]:
    """The probabilities of `ids` in a row; see `softmax`, which would make all V of them."""
    finite = row[row > -np.inf]
    if not len(finite):  # a step of the sampling left nothing, and the token was chosen by hand
        return [0.0] * len(ids)
    with np.errstate(over="ignore"):
        total = np.exp(finite - finite.max()).sum()
        shares: list[float] = (np.exp(row[ids] - finite.max()) / total).tolist()
    return shares


def _rounded(number: float) -> float:
    """To four digits: more than a picture shows, and a third of the length in JSON."""
    return float(f"{number:.4g}")


def draw_machine(dfa: DFA) -> Machine:
    """The states and labelled edges of a character machine."""
    states = tuple(
        MachineState(dfa.name(State(q)), dfa.is_accepting(State(q))) for q in range(1, len(dfa) + 1)
    )
    edges = tuple(MachineEdge(dfa.name(s), dfa.name(t), show_ranges(ranges)) for s, ranges, t in dfa.edges())
    return Machine(states, edges)
