"""What a caller asks for becomes a `Request`, checked before the model is called.

Left out: running it (`loop`). Cost: O(V) for the vocabulary of a new model; with a budget, the search for
the shortest ends, once a constraint.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from minidecoder.decoding.budget import Budget, make_budget
from minidecoder.decoding.constraint import Constraint
from minidecoder.decoding.jump_forward import JumpForward
from minidecoder.decoding.language_model import LanguageModel, TextModel
from minidecoder.decoding.loop import Request
from minidecoder.decoding.matcher import Matcher
from minidecoder.decoding.sampling import GREEDY, Sampler, Sampling
from minidecoder.decoding.stop_strings import StopStrings
from minidecoder.errors import ModelError, UsageError
from minidecoder.tokens.checks import check_type, utf8_bytes, whole_number
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["Options", "prepare"]


class Options(TypedDict, total=False):
    """The keywords of `generate`; it says what they mean."""

    constraint: Constraint | None
    vocabulary: Vocabulary | None
    sampling: Sampling
    max_tokens: int
    stop: str | Sequence[str]
    jump_forward: bool
    finish_within_budget: bool


def prepare(
    model: LanguageModel,
    prompt: str | Sequence[int],
    *,
    constraint: Constraint | None = None,
    vocabulary: Vocabulary | None = None,
    sampling: Sampling = GREEDY,
    max_tokens: int = 64,
    stop: str | Sequence[str] = (),
    jump_forward: bool = False,
    finish_within_budget: bool = False,
) -> Request:
    """The request, or the error that `generate` lists."""
    check_type(model, LanguageModel, "model", "an object with next_logits(token_ids)")
    matcher = None if constraint is None else Matcher(constraint)
    vocabulary = _vocabulary(model, constraint, vocabulary)
    sampler = Sampler(sampling)
    sampling.check_width(len(vocabulary))
    prompt_ids = _prompt_ids(model, prompt, vocabulary)
    max_tokens = _room(model, prompt_ids, _checked_max_tokens(max_tokens, sampling))
    _check_needs_constraint(constraint, jump_forward=jump_forward, finish_within_budget=finish_within_budget)
    return Request(
        prompt_ids,
        vocabulary,
        matcher,
        sampler,
        max_tokens,
        StopStrings(stop),
        JumpForward(vocabulary, getattr(model, "encode", None)) if jump_forward else None,
        _budget(constraint, sampling, max_tokens) if constraint and finish_within_budget else None,
    )


def _vocabulary(model: LanguageModel, constraint: Constraint | None, given: Vocabulary | None) -> Vocabulary:
    if given is not None:
        check_type(given, Vocabulary, "vocabulary", "Vocabulary.from_tokens([...], eos=...) gives one")
    if constraint is not None and given is not None and given.hash != constraint.vocabulary.hash:
        raise UsageError("the constraint was compiled for another vocabulary than the one given")
    used = given if constraint is None else constraint.vocabulary
    used = used if used is not None else getattr(model, "vocabulary", None)
    if not isinstance(used, Vocabulary):
        raise UsageError("without a constraint, say what the ids mean: vocabulary=")
    width = getattr(model, "width", None)
    if isinstance(width, int) and width != len(used):
        raise ModelError(
            f"{type(model).__name__} has {width:,} logits, the vocabulary {len(used):,} tokens: "
            "it belongs to another model, or needs width= (config.vocab_size, padding included)"
        )
    return used


def _prompt_ids(model: LanguageModel, prompt: str | Sequence[int], vocabulary: Vocabulary) -> list[int]:
    if not isinstance(prompt, str):
        return vocabulary.check_ids(prompt, "the prompt, where it is no str,")
    utf8_bytes(prompt, "the prompt")  # a lone surrogate is text that no tokenizer can read
    if prompt == "":
        return []
    if not isinstance(model, TextModel):
        raise UsageError(f"{type(model).__name__} has no encode(text), so the prompt must be token ids")
    try:
        return vocabulary.check_ids(model.encode(prompt))
    except UsageError as error:
        raise ModelError(f"{type(model).__name__}.encode gave no ids of this vocabulary: {error}") from None


def _checked_max_tokens(max_tokens: int, sampling: Sampling) -> int:
    max_tokens = whole_number(max_tokens, "max_tokens")
    if max_tokens < 0:
        raise UsageError(f"max_tokens={max_tokens}: it must be 0 or more")
    if sampling.min_tokens > max_tokens:
        raise UsageError(f"min_tokens={sampling.min_tokens} is more than max_tokens={max_tokens}")
    return max_tokens


def _room(model: LanguageModel, prompt_ids: Sequence[int], max_tokens: int) -> int:
    """`max_tokens`, or what the model's context holds after the prompt. The last token is not read."""
    context = getattr(model, "context_length", None)
    if not isinstance(context, int):
        return max_tokens
    if len(prompt_ids) > context:
        raise UsageError(
            f"the prompt has {len(prompt_ids):,} tokens, this model's context holds {context:,}: shorten it"
        )
    return min(max_tokens, context - max(len(prompt_ids), 1) + 1)


def _check_needs_constraint(constraint: Constraint | None, **flags: bool) -> None:
    for name, flag in flags.items():
        check_type(flag, bool, name, "True or False")
        if flag and constraint is None:
            raise UsageError(f"{name}=True needs a constraint: without one nothing is forced or finished")


def _budget(constraint: Constraint, sampling: Sampling, max_tokens: int) -> Budget:
    budget = make_budget(constraint, frozenset(sampling.banned_ids))
    budget.check_start(max_tokens)
    return budget
