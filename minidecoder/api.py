"""The front door: `import minidecoder as md` gives these names.

    c = md.compile_regex(r"[0-9]+\\.[0-9]{2}", vocab)
    run = md.generate(model, "What is the price of a coffee?", constraint=c)

Left out: choices, grammars, JSON and schemas, which come with the packages that compile them.
Cost: compiling is cached by (constraint, vocabulary); a run is T model calls and O(V) beside each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from minidecoder.decoding.constraint import Constraint, compiled_once
from minidecoder.decoding.language_model import LanguageModel, TextModel
from minidecoder.decoding.loop import Step, decode
from minidecoder.decoding.matcher import Matcher
from minidecoder.decoding.sampling import GREEDY, Sampler, Sampling
from minidecoder.errors import ModelError, UsageError
from minidecoder.lens.trace import Trace, TraceRecorder
from minidecoder.regex.compiler import Dialect, Match, compile_dfa
from minidecoder.regex.limits import MAX_STATES, TIMEOUT_S, Limits
from minidecoder.regex.utf8 import lower_to_bytes
from minidecoder.tokens.checks import check_type, real_number, utf8_bytes, whole_number
from minidecoder.tokens.token_index import build_index
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["Run", "compile_regex", "generate", "stream"]


def compile_regex(
    pattern: str,
    vocabulary: Vocabulary,
    *,
    dialect: Dialect = "python",
    match: Match = "full",
    max_states: int = MAX_STATES,
    timeout_s: float = TIMEOUT_S,
) -> Constraint:
    """The constraint "the text matches `pattern`", as `re.fullmatch` means it; `match="search"`: some part
    of the text does; `dialect="ecma"`: the patterns of JSON Schema. `max_states`, `timeout_s` limit the
    compiling; a constraint that was compiled before is returned whatever the limits.

    Raises `RegexSyntaxError` or `UnsupportedFeatureError` with the position, `ConstraintTooLargeError`
    with the limit, `UnsatisfiableConstraintError` where the vocabulary cannot spell any match.
    """
    for name, text in (("the pattern", pattern), ("dialect", dialect), ("match", match)):
        check_type(text, str, name)
    check_type(vocabulary, Vocabulary, "vocabulary", "Vocabulary.from_tokens([...], eos=...) gives one")
    limits = Limits(whole_number(max_states, "max_states"), real_number(timeout_s, "timeout_s"))

    def compile_() -> Constraint:
        characters = compile_dfa(pattern, dialect=dialect, match=match, limits=limits)
        automaton = lower_to_bytes(characters, limits)
        index = build_index(automaton, vocabulary, limits)
        return Constraint(pattern, vocabulary, automaton, index, characters)

    return compiled_once(("regex", pattern, dialect, match), vocabulary, compile_)


@dataclass(frozen=True, eq=False)
class Run:
    """A finished generation. `finish_reason`: "stop" after EOS, "length" at `max_tokens`; `is_complete`:
    whether the text is a whole match (always, without a constraint); `trace`: what pictures show."""

    steps: tuple[Step, ...]
    vocabulary: Vocabulary
    constraint: Constraint | None
    prompt_ids: tuple[int, ...]
    trace: Trace

    @property
    def token_ids(self) -> list[int]:
        """The generated ids, EOS included."""
        return [step.token_id for step in self.steps]

    @cached_property
    def text(self) -> str:
        """The generated text; EOS and special ids print nothing, half a character prints U+FFFD."""
        return self.vocabulary.decode(self.token_ids).decode("utf-8", "replace")

    @property
    def finish_reason(self) -> str:
        return self.trace.finish_reason

    @property
    def is_complete(self) -> bool:
        return self.trace.is_complete


def generate(
    model: LanguageModel,
    prompt: str | Sequence[int],
    *,
    constraint: Constraint | None = None,
    vocabulary: Vocabulary | None = None,
    sampling: Sampling = GREEDY,
    max_tokens: int = 64,
) -> Run:
    """Run the model until EOS or `max_tokens`. Without a constraint, `vocabulary` (or the model's own) says
    what ids mean and which end the text. Errors: those of `stream`."""
    request = _checked(model, prompt, constraint, vocabulary, sampling)
    recorder = TraceRecorder(request.vocabulary, constraint, prompt if isinstance(prompt, str) else "")
    kept = []
    for step in decode(model, *request, max_tokens):
        recorder.add(step)
        # The rows of logits are let go step by step: 1,000 tokens of 131,072 float64 would be 1 GB.
        kept.append(replace(step, draw=None))
    trace = recorder.finish(request.matcher is None or request.matcher.is_accepting)
    return Run(tuple(kept), request.vocabulary, constraint, tuple(request.prompt_ids), trace)


def stream(
    model: LanguageModel,
    prompt: str | Sequence[int],
    *,
    constraint: Constraint | None = None,
    vocabulary: Vocabulary | None = None,
    sampling: Sampling = GREEDY,
    max_tokens: int = 64,
) -> Iterator[Step]:
    """The steps of `generate`, one by one as they happen, each with its rows of logits (`step.draw`).

    Raises `UsageError` for a prompt the model cannot read, ids outside of the vocabulary or a negative
    `max_tokens`; `ModelError` for an encoded prompt that is no ids, logits of another width, NaN or +inf.
    """
    return decode(model, *_checked(model, prompt, constraint, vocabulary, sampling), max_tokens)


class _Request(NamedTuple):
    """What a caller asked for, checked, as `decode` takes it."""

    prompt_ids: list[int]
    vocabulary: Vocabulary
    matcher: Matcher | None
    sampler: Sampler


def _checked(
    model: LanguageModel,
    prompt: str | Sequence[int],
    constraint: Constraint | None,
    vocabulary: Vocabulary | None,
    sampling: Sampling,
) -> _Request:
    check_type(model, LanguageModel, "model", "an object with next_logits(token_ids)")
    matcher = None if constraint is None else Matcher(constraint)
    vocabulary = _vocabulary(model, constraint, vocabulary)
    if isinstance(prompt, str):
        ids = _encoded(model, prompt, vocabulary)
    else:
        ids = vocabulary.check_ids(prompt, "the prompt, where it is no str,")
    return _Request(ids, vocabulary, matcher, Sampler(sampling))


def _encoded(model: LanguageModel, prompt: str, vocabulary: Vocabulary) -> list[int]:
    utf8_bytes(prompt, "the prompt")  # a lone surrogate is text that no tokenizer can read
    if prompt == "":
        return []
    if not isinstance(model, TextModel):
        raise UsageError(f"{type(model).__name__} has no encode(text), so the prompt must be token ids")
    try:
        return vocabulary.check_ids(model.encode(prompt))
    except UsageError as error:
        raise ModelError(f"{type(model).__name__}.encode gave no ids of this vocabulary: {error}") from None


def _vocabulary(model: LanguageModel, constraint: Constraint | None, given: Vocabulary | None) -> Vocabulary:
    if given is not None:
        check_type(given, Vocabulary, "vocabulary", "Vocabulary.from_tokens([...], eos=...) gives one")
    if constraint is not None:
        if given is not None and given.hash != constraint.vocabulary.hash:
            raise UsageError("the constraint was compiled for another vocabulary than the one given")
        return constraint.vocabulary
    own = given if given is not None else getattr(model, "vocabulary", None)
    if not isinstance(own, Vocabulary):
        raise UsageError("without a constraint, say what the ids mean: vocabulary=")
    return own
