"""The decode loop: four acts a step, and a record of each.

    1 the state gives the legal tokens · 2 the mask cuts the model's logits ·
    3 one token is drawn · 4 the token moves the state

The model's weights, attention and cache are untouched. Without a constraint the same loop runs with
only padding blocked. Where only EOS may follow, it is taken without asking the model; with a
`JumpForward` other forced tokens are too.

Left out: text in and out (`request`, `api`). Cost: one model call and O(V) a step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from minidecoder.automaton import State, TokenId
from minidecoder.decoding.budget import Budget
from minidecoder.decoding.jump_forward import JumpForward
from minidecoder.decoding.language_model import LanguageModel
from minidecoder.decoding.matcher import Matcher
from minidecoder.decoding.sampling import Draw, Past, Row, Sampler, as_logits, softmax
from minidecoder.decoding.stop_strings import StopStrings
from minidecoder.errors import EmptyMaskError, UsageError
from minidecoder.tokens.bitmask import Bitmask, is_set, pack, unpack
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["Loop", "Request", "Step", "decode"]


@dataclass(frozen=True, eq=False)
class Request:
    """What one run needs. `matcher`: at its start, moved by the run; None for no constraint, and then no
    `jump` and no `budget` either. `request.prepare` makes one from what a caller says, checked."""

    prompt_ids: list[int]
    vocabulary: Vocabulary
    matcher: Matcher | None
    sampler: Sampler
    max_tokens: int
    stop: StopStrings = field(default_factory=StopStrings)
    jump: JumpForward | None = None
    budget: Budget | None = None


@dataclass(frozen=True, eq=False)
class Step:
    """What happened between two tokens. `None` in the states: no constraint; in the three figures
    that need the model's logits: it was not asked, because the token was forced.

    `bitmask`: what could be drawn; without a constraint, all ids but padding. `legal`: the same before
    the budget. `feasible_mass`: the probability (0..1, temperature 1) that the model itself gave to what
    could be drawn; `favourite`: its likeliest token, blocked or not; `probability`: with which the token
    was drawn. `tokens_left`: of `max_tokens`, this one included; `stop`: the stop string that it completed;
    `seconds`: what the step took, model and mask and all.
    """

    index: int
    state: State | None
    state_after: State | None
    token_id: TokenId
    allowed_count: int
    bitmask: Bitmask
    favourite: TokenId | None
    feasible_mass: float | None
    probability: float
    is_eos: bool
    draw: Draw | None
    legal: Bitmask
    tokens_left: int
    budget: Budget | None = None
    stop: str = ""
    seconds: float = 0.0

    @property
    def favourite_blocked(self) -> bool:
        """Whether the mask overruled the model's own choice."""
        return self.favourite is not None and not is_set(self.bitmask, self.favourite)

    @property
    def forced(self) -> bool:
        """Whether the token was taken without asking the model."""
        return self.favourite is None


def decode(model: LanguageModel, request: Request) -> Iterator[Step]:
    """Yield a Step per token until EOS, a stop string or `max_tokens` (EOS counts; 0 makes no model call).

    Raises `ModelError` for logits that cannot be used, `EmptyMaskError` where nothing is left to draw.
    """
    loop = Loop(model, request)
    for index in range(request.max_tokens):
        step = loop.step(index)
        yield step
        if step.is_eos or step.stop:
            return


class Loop:
    """The state of one run: ids read and written, the text, and forced tokens that wait to be taken."""

    def __init__(self, model: LanguageModel, request: Request) -> None:
        self.model, self.request = model, request
        self.vocabulary, self.matcher = request.vocabulary, request.matcher
        self.banned = frozenset(request.sampler.sampling.banned_ids)
        self.free = _free_mask(request.vocabulary) if request.matcher is None else None
        self.token_ids = list(request.prompt_ids)
        self.text = b""
        self.waiting: deque[TokenId] = deque()

    def step(self, index: int) -> Step:
        """Token number `index`, drawn or forced, and taken."""
        started, left = perf_counter(), self.request.max_tokens - index
        legal, bitmask = self.masks(left)
        allowed = unpack(bitmask, len(self.vocabulary))  # bool (V,)
        token_id, draw = self.forced(bitmask, np.flatnonzero(allowed)), None
        if token_id is None:
            draw = self.draw(index, bitmask)
            token_id = draw.token_id
        return self.take(index, token_id, draw, (legal, bitmask), started)

    def take(
        self, index: int, token_id: TokenId, draw: Draw | None, masks: tuple[Bitmask, Bitmask], started: float
    ) -> Step:
        """Act 4, and the record of all four. `masks`: as the method gives them; `draw`: None for a token
        that the model was not asked for."""
        legal, bitmask = masks
        allowed = unpack(bitmask, len(self.vocabulary))
        before, after = self.accept(token_id)
        return Step(
            index=index,
            state=before,
            state_after=after,
            token_id=token_id,
            allowed_count=int(allowed.sum()),
            bitmask=bitmask,
            favourite=None if draw is None else TokenId(int(draw.before.argmax())),
            feasible_mass=None if draw is None else float(softmax(draw.before)[allowed].sum()),
            probability=1.0 if draw is None else _share(draw.after, token_id),
            is_eos=token_id in self.vocabulary.eos_ids,
            draw=draw,
            legal=legal,
            tokens_left=self.request.max_tokens - index,
            budget=self.request.budget,
            stop=self.write(token_id),
            seconds=perf_counter() - started,
        )

    # -- act 1: what may come next ----------------------------------------------------------------

    def masks(self, left: int) -> tuple[Bitmask, Bitmask]:
        """int32 (ceil(V/32),) twice: what the constraint allows, and what fits the budget too."""
        if self.matcher is None:
            assert self.free is not None
            return self.free, self.free
        legal = self.matcher.bitmask()
        budget = self.request.budget
        return legal, legal if budget is None else budget.mask(self.matcher.state, left)

    def forced(self, bitmask: Bitmask, allowed: NDArray[np.intp]) -> TokenId | None:
        """The token to take without asking the model; None where it is to be asked."""
        if self.matcher is None:
            return None
        if not len(allowed):
            name = self.matcher.constraint.automaton.name(self.matcher.state)
            raise EmptyMaskError(f"in state {name} no token may come next", step="mask")
        ends = self.vocabulary.eos_ids
        if len(allowed) <= len(ends) and set(allowed.tolist()) <= set(ends):
            return self.only_end(allowed)
        return None if self.request.jump is None else self.jumped(self.request.jump, bitmask, allowed)

    def only_end(self, allowed: NDArray[np.intp]) -> TokenId:
        """Nothing but EOS may follow: the lowest id that is not banned."""
        ends = [token_id for token_id in allowed.tolist() if token_id not in self.banned]
        if not ends:
            raise EmptyMaskError("only EOS may come next, and it is banned", step="bans")
        return TokenId(ends[0])

    def jumped(self, jump: JumpForward, bitmask: Bitmask, allowed: NDArray[np.intp]) -> TokenId | None:
        """The next forced token. One that is the only one allowed is forced as well."""
        assert self.matcher is not None
        if not self.waiting:
            only = [TokenId(int(allowed[0]))] if len(allowed) == 1 else None
            self.waiting.extend(only or jump.tokens(self.matcher, self.text))
        if self.waiting and is_set(bitmask, self.waiting[0]) and self.waiting[0] not in self.banned:
            return self.waiting.popleft()
        self.waiting.clear()  # banned, or over the budget: the model is asked
        return None

    # -- acts 2 and 3: mask and draw ---------------------------------------------------------------

    def draw(self, index: int, bitmask: Bitmask) -> Draw:
        return self.request.sampler.draw(self.logits(), bitmask, self.past(index))

    def logits(self) -> Row:
        """What the model says now, float64 (V,)."""
        return as_logits(self.model.next_logits(self.token_ids), len(self.vocabulary))

    def past(self, index: int) -> Past:
        """What the sampling may look back at."""
        return Past(self.token_ids, index, self.vocabulary.eos_ids)

    # -- act 4: the next state ---------------------------------------------------------------------

    def accept(self, token_id: TokenId) -> tuple[State | None, State | None]:
        """Move the matcher; the states before and after."""
        self.token_ids.append(token_id)
        if self.matcher is None:
            return None, None
        before = self.matcher.state
        if not self.matcher.accept_token(token_id):
            raise UsageError(
                f"token {token_id} was drawn although the mask blocks it: the order of steps lacks 'mask'"
            )
        return before, self.matcher.state

    def write(self, token_id: TokenId) -> str:
        """Add the token's bytes to the text; the stop string that they complete, if any."""
        data = self.vocabulary.token_bytes[token_id]
        self.text += data
        found = self.request.stop.find(self.text, len(data)) if self.request.stop and data else None
        return found.stop if found else ""


def _share(row: Row, token_id: TokenId) -> float:
    """0 for a token that was chosen by hand after the sampling had cut it."""
    return 0.0 if row[token_id] == -np.inf else float(softmax(row)[token_id])


def _free_mask(vocabulary: Vocabulary) -> Bitmask:
    """Without a constraint: every id that is text, special or EOS. Padding means nothing."""
    allowed = np.array([data != b"" for data in vocabulary.token_bytes])
    allowed[[*vocabulary.special_text, *vocabulary.eos_ids]] = True
    row = pack(allowed)
    row.flags.writeable = False
    return row
