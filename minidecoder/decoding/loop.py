"""The decode loop: four acts a step, and a record of each.

    1 the state gives the legal tokens · 2 the mask cuts the model's logits ·
    3 one token is drawn · 4 the token moves the state

The model's weights, attention and cache are untouched. Without a constraint the same loop runs with
only padding blocked. Where only EOS may follow, it is taken without asking the model.

Left out: text in and out (`api`), jumping over forced text. Cost: one model call and O(V) a step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from minidecoder.automaton import State, TokenId
from minidecoder.decoding.language_model import LanguageModel
from minidecoder.decoding.matcher import Matcher
from minidecoder.decoding.sampling import Draw, Sampler, as_logits, softmax
from minidecoder.errors import UsageError
from minidecoder.tokens.bitmask import Bitmask, is_set, pack, unpack
from minidecoder.tokens.checks import whole_number
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["Step", "decode"]


@dataclass(frozen=True, eq=False)
class Step:
    """What happened between two tokens. `None` in the states: no constraint; in the three figures
    that need the model's logits: it was not asked, because only EOS could follow.

    `bitmask`: what could be drawn; without a constraint, all ids but padding.
    `feasible_mass`: the probability (0..1, temperature 1) that the model itself gave to allowed tokens;
    `favourite`: its likeliest token, blocked or not; `probability`: with which the token was drawn.
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

    @property
    def favourite_blocked(self) -> bool:
        """Whether the mask overruled the model's own choice."""
        return self.favourite is not None and not is_set(self.bitmask, self.favourite)


def decode(
    model: LanguageModel,
    prompt_ids: Sequence[int],
    vocabulary: Vocabulary,
    matcher: Matcher | None,
    sampler: Sampler,
    max_tokens: int,
) -> Iterator[Step]:
    """Yield a Step per token until EOS or `max_tokens` (EOS counts; 0 makes no model call).

    Raises `UsageError` for a negative `max_tokens`, `ModelError` for logits that cannot be used.
    """
    max_tokens = whole_number(max_tokens, "max_tokens")
    if max_tokens < 0:
        raise UsageError(f"max_tokens={max_tokens}: it must be 0 or more")
    return _steps(model, list(prompt_ids), vocabulary, matcher, sampler, max_tokens)


def _steps(
    model: LanguageModel,
    token_ids: list[int],
    vocabulary: Vocabulary,
    matcher: Matcher | None,
    sampler: Sampler,
    max_tokens: int,
) -> Iterator[Step]:
    free = _free_mask(vocabulary)
    for index in range(max_tokens):
        bitmask = free if matcher is None else matcher.bitmask()  # int32 (ceil(V/32),)
        allowed = np.flatnonzero(unpack(bitmask, len(vocabulary)))
        if 0 < len(allowed) <= len(vocabulary.eos_ids) and set(allowed.tolist()) <= set(vocabulary.eos_ids):
            step = _forced_end(index, TokenId(int(allowed[0])), len(allowed), bitmask, matcher)
        else:
            logits = as_logits(model.next_logits(token_ids), len(vocabulary))  # float64 (V,)
            step = _record(index, sampler.draw(logits, bitmask), bitmask, vocabulary, matcher)
        token_ids.append(step.token_id)
        yield step
        if step.is_eos:
            return


def _free_mask(vocabulary: Vocabulary) -> Bitmask:
    """Without a constraint: every id that is text, special or EOS. Padding means nothing."""
    allowed = np.array([data != b"" for data in vocabulary.token_bytes])
    allowed[[*vocabulary.special_text, *vocabulary.eos_ids]] = True
    row = pack(allowed)
    row.flags.writeable = False
    return row


def _forced_end(index: int, eos: TokenId, count: int, bitmask: Bitmask, matcher: Matcher | None) -> Step:
    before, after = _accept(matcher, eos)
    return Step(index, before, after, eos, count, bitmask, None, None, 1.0, True, None)


def _record(
    index: int, draw: Draw, bitmask: Bitmask, vocabulary: Vocabulary, matcher: Matcher | None
) -> Step:
    before, after = _accept(matcher, draw.token_id)
    free = softmax(draw.before)
    allowed = unpack(bitmask, len(vocabulary))
    return Step(
        index=index,
        state=before,
        state_after=after,
        token_id=draw.token_id,
        allowed_count=int(allowed.sum()),
        bitmask=bitmask,
        favourite=TokenId(int(draw.before.argmax())),
        feasible_mass=float(free[allowed].sum()),
        probability=float(softmax(draw.after)[draw.token_id]),
        is_eos=draw.token_id in vocabulary.eos_ids,
        draw=draw,
    )


def _accept(matcher: Matcher | None, token_id: TokenId) -> tuple[State | None, State | None]:
    """Move the matcher; the states before and after."""
    if matcher is None:
        return None, None
    before = matcher.state
    if not matcher.accept_token(token_id):
        raise UsageError(
            f"token {token_id} was drawn although the mask blocks it: the order of steps lacks 'mask'"
        )
    return before, matcher.state
