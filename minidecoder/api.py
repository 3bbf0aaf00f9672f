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

from minidecoder.decoding.constraint import Constraint, compiled_once
from minidecoder.decoding.language_model import LanguageModel, TextModel
from minidecoder.decoding.loop import Step, decode
from minidecoder.decoding.sampling import GREEDY, Sampler, Sampling
from minidecoder.errors import UsageError
from minidecoder.lens.trace import Trace, TraceRecorder
from minidecoder.regex.compiler import Dialect, Match, compile_dfa
from minidecoder.regex.limits import MAX_STATES, TIMEOUT_S, Limits
from minidecoder.regex.utf8 import lower_to_bytes
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
    of the text does; `dialect="ecma"`: the patterns of JSON Schema.

    Raises `RegexSyntaxError` or `UnsupportedFeatureError` with the position, `ConstraintTooLargeError`
    with the limit, `UnsatisfiableConstraintError` where the vocabulary cannot spell any match.
    """
    if not isinstance(pattern, str):
        raise UsageError(f"the pattern must be a str, not {type(pattern).__name__}")

    def compile_() -> Constraint:
        limits = Limits(max_states, timeout_s)
        characters = compile_dfa(pattern, dialect=dialect, match=match, limits=limits)
        automaton = lower_to_bytes(characters, limits)
        return Constraint(pattern, vocabulary, characters, automaton, build_index(automaton, vocabulary))

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
    matcher = None if constraint is None else constraint.matcher()
    prompt_ids = _prompt_ids(model, prompt)
    vocabulary = _vocabulary(model, constraint, vocabulary)
    recorder = TraceRecorder(vocabulary, constraint, prompt if isinstance(prompt, str) else "")
    kept = []
    for step in decode(model, prompt_ids, vocabulary, matcher, Sampler(sampling), max_tokens):
        recorder.add(step)
        # The rows of logits are let go step by step: 1,000 tokens of 131,072 float64 would be 1 GB.
        kept.append(replace(step, draw=None))
    trace = recorder.finish(matcher is None or matcher.is_accepting)
    return Run(tuple(kept), vocabulary, constraint, tuple(prompt_ids), trace)


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

    Raises `UsageError` for a prompt the model cannot read or a negative `max_tokens`, `ModelError` for
    logits of another width, NaN or +inf.
    """
    matcher = None if constraint is None else constraint.matcher()
    vocabulary = _vocabulary(model, constraint, vocabulary)
    return decode(model, _prompt_ids(model, prompt), vocabulary, matcher, Sampler(sampling), max_tokens)


def _prompt_ids(model: LanguageModel, prompt: str | Sequence[int]) -> list[int]:
    if not isinstance(prompt, str):
        return [int(token_id) for token_id in prompt]
    if prompt == "":
        return []
    if not isinstance(model, TextModel):
        raise UsageError(f"{type(model).__name__} has no encode(text), so the prompt must be token ids")
    return model.encode(prompt)


def _vocabulary(model: LanguageModel, constraint: Constraint | None, given: Vocabulary | None) -> Vocabulary:
    if constraint is not None:
        if given is not None and given.hash != constraint.vocabulary.hash:
            raise UsageError("the constraint was compiled for another vocabulary than the one given")
        return constraint.vocabulary
    own = given if given is not None else getattr(model, "vocabulary", None)
    if not isinstance(own, Vocabulary):
        raise UsageError("without a constraint, say what the ids mean: vocabulary=")
    return own
