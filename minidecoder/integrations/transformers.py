r"""A constraint in `model.generate` of `transformers`: greedy, sampling, several sequences, beams.

    lm = load_smollm2()  # or CausalLM.from_pretrained("a/folder"); lm.model is the transformers model
    phone = md.compile_regex(r"\([0-9]{3}\) [0-9]{3}-[0-9]{4}", lm.vocabulary)
    inputs = lm.tokenizer("To reach our office in New York, call", return_tensors="pt")
    processor = ConstrainedLogitsProcessor(phone)
    out = lm.model.generate(**inputs, max_new_tokens=24, do_sample=False, logits_processor=[processor])
    lm.decode(out[0, inputs["input_ids"].shape[1] :])  # (123) 255-1297<|im_end|>

A row's state is a function of the ids that the row holds now, so beams may reorder rows as they like.
Left out: our own loop (`api.generate`), with its trace, budget and jumps. Cost: O(V) a row and step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from minidecoder.automaton import DEAD, State
from minidecoder.decoding.constraint import Constraint
from minidecoder.errors import EmptyMaskError, ModelError, UsageError
from minidecoder.models.causal_lm import require
from minidecoder.tokens.bitmask import unpack
from minidecoder.tokens.checks import check_type

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["ConstrainedLogitsProcessor"]

_ENDED = State(-1)
"""After EOS: the row goes on with padding, which `generate` writes itself."""


class ConstrainedLogitsProcessor:
    """For `logits_processor=[...]`. The ids that the first call sees are the prompt; the constraint is on
    what comes after. Rows may be padded on the left. One processor serves one `generate` at a time;
    another prompt starts it anew, and `reset` does so where the next prompt is the last answer and on.
    """

    def __init__(self, constraint: Constraint) -> None:
        check_type(constraint, Constraint, "constraint", "compile_regex(pattern, vocabulary) gives one")
        self._torch = require("torch")
        self.constraint = constraint
        self.reset()

    def reset(self) -> None:
        """Forget the prompt: the next call begins a text."""
        self._prompts: NDArray[np.int64] = np.empty((0, 0), dtype=np.int64)
        self._longest = 0  # ids in a row at the last call
        # By the ids generated so far, of the last call's rows: where they stand, and what a lazy machine
        # needs to know that this state is still in use.
        self._places: dict[bytes, tuple[State, object]] = {}

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """`input_ids`: int64 (B, T); `scores`: floats (B, V), logits or log-probabilities. A new tensor, -inf
        where a token may not come next. After EOS, only EOS is left: such a row is finished.

        Raises `ModelError` where V is not the vocabulary's, `EmptyMaskError` where an earlier processor
        left nothing of what is allowed, `UsageError` for ids of another shape or type, for a generated id
        that is none of the vocabulary, and where all rows hold a token that was blocked.
        """
        self._check_scores(scores)
        self._check_input_ids(input_ids, len(scores))
        states = self._states_of(input_ids.detach().cpu().numpy())
        if all(state == DEAD for state in states):
            raise UsageError(
                "every row holds a token that the constraint blocks: another processor, or a reused "
                "ConstrainedLogitsProcessor whose prompt is the last answer (call reset() first)"
            )
        allowed = np.stack([self._allowed(state) for state in states])  # bool (B, V)
        blocked = self._torch.from_numpy(~allowed).to(scores.device)
        masked: Tensor = scores.masked_fill(blocked, -self._torch.inf)
        self._check_not_empty(states, masked)
        return masked

    def _check_scores(self, scores: Tensor) -> None:
        if not isinstance(scores, self._torch.Tensor) or not scores.is_floating_point():
            raise ModelError(f"the scores must be a tensor of floats, not {_described(scores)}")
        if scores.ndim != 2 or scores.shape[1] != len(self.constraint.vocabulary):
            raise ModelError(
                f"the scores have the shape {tuple(scores.shape)}, the constraint's vocabulary has "
                f"{len(self.constraint.vocabulary):,} tokens: make it with width=model.config.vocab_size"
            )

    def _check_input_ids(self, input_ids: Tensor, rows: int) -> None:
        kinds = (self._torch.int64, self._torch.int32)
        if not isinstance(input_ids, self._torch.Tensor) or input_ids.dtype not in kinds:
            raise UsageError(f"input_ids must be a tensor of int64 or int32, not {_described(input_ids)}")
        if input_ids.ndim != 2 or len(input_ids) != rows or not rows:
            raise UsageError(
                f"input_ids of the shape {tuple(input_ids.shape)} for {rows} rows of scores: they must be "
                f"(B, T), a row of ids for each row of scores, at least one"
            )

    def _allowed(self, state: State) -> NDArray[np.bool_]:
        if state not in (_ENDED, DEAD):
            return unpack(self.constraint.bitmask(state), len(self.constraint.vocabulary))
        # subtle: a row of -inf alone would be NaN after softmax, and stop the other rows of the batch. A
        # finished row takes padding whatever is drawn; a dead one is a beam whose score is -inf already.
        ends = np.zeros(len(self.constraint.vocabulary), dtype=np.bool_)
        ends[list(self.constraint.vocabulary.eos_ids)] = True
        return ends

    def _check_not_empty(self, states: list[State], masked: Tensor) -> None:
        full = (masked > -self._torch.inf).any(dim=1).tolist()
        for row, (state, something_left) in enumerate(zip(states, full, strict=True)):
            if not something_left and state not in (_ENDED, DEAD):
                name = self.constraint.automaton.name(state)
                raise EmptyMaskError(f"row {row}, in state {name}: all allowed tokens are -inf already")

    # -- where each row stands ------------------------------------------------------------------

    def _states_of(self, ids: NDArray[np.int64]) -> list[State]:
        """The state of each row, and what is needed to go on from here at the next call."""
        if not self._goes_on(ids):
            self.reset()
            self._prompts = ids.copy()
        self._longest = ids.shape[1]
        rows = [row[self._prompts.shape[1] :] for row in ids]
        states = [self._state_of(row) for row in rows]
        hold = self.constraint.automaton.hold
        places = [(state, None if state == _ENDED else hold(state)) for state in states]
        self._places = {row.tobytes(): place for row, place in zip(rows, places, strict=True)}
        return states

    def _goes_on(self, ids: NDArray[np.int64]) -> bool:
        """Whether these rows continue the text that began at the first call."""
        # Beams reorder rows within one prompt only, and drafts of assisted decoding go back some tokens.
        rows, length = self._prompts.shape
        if len(ids) != rows or not length <= ids.shape[1] <= self._longest + 1:
            return False
        return bool((ids[:, :length] == self._prompts).all())

    def _state_of(self, row: NDArray[np.int64]) -> State:
        """One move from the row of the last call that this one continues; from the start where it is none."""
        before = self._places.get(row[:-1].tobytes()) if len(row) else None
        if before is not None:
            return self._after(before[0], int(row[-1]))
        state = self.constraint.automaton.start
        for token_id in row.tolist():
            state = self._after(state, token_id)
        return state

    def _after(self, state: State, token_id: int) -> State:
        if state in (_ENDED, DEAD):
            return state
        # subtle: an index takes -1 for its last token. In the prompt, -200 may stand for an image.
        token_id = self.constraint.vocabulary.check_id(token_id)
        if token_id in self.constraint.vocabulary.eos_ids:
            return _ENDED if self.constraint.automaton.is_accepting(state) else DEAD
        return self.constraint.index.after(state, token_id)


def _described(value: object) -> str:
    """A tensor by its dtype, anything else by its type."""
    return str(getattr(value, "dtype", type(value).__name__))
