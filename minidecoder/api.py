"""The front door: `import minidecoder as md` gives these names.

    c = md.compile_regex(r"[0-9]+\\.[0-9]{2}", vocab)
    run = md.generate(model, "What is the price of a coffee?", constraint=c)

`generate` gives a finished `Run`, `stream` the same steps one by one, `generate_many` a run for each of
several prompts. Left out: compiling (`compiling`, `structured`), and batches on one device.
Cost: a run is T model calls, less the tokens that were forced, and O(V) beside each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Unpack

from minidecoder.compiling import compile_choice, compile_regex
from minidecoder.decoding.budget import Budget
from minidecoder.decoding.constraint import Constraint
from minidecoder.decoding.language_model import LanguageModel
from minidecoder.decoding.loop import Request, Step, decode
from minidecoder.decoding.matcher import Matcher
from minidecoder.decoding.request import Options, prepare
from minidecoder.decoding.sampling import GREEDY, Sampling
from minidecoder.errors import GenerationInterrupted
from minidecoder.lens.measures import Measures, measure
from minidecoder.lens.trace import Trace, TraceRecorder
from minidecoder.tokens.checks import check_type, listed
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["Run", "compile_choice", "compile_regex", "generate", "generate_many", "stream"]


@dataclass(frozen=True, eq=False)
class Run:
    """A finished generation. `steps`: without their rows of logits; `trace`: what pictures show; `budget`:
    with `finish_within_budget`; `stop_string`: the one that ended the text, None if none did."""

    steps: tuple[Step, ...]
    vocabulary: Vocabulary
    constraint: Constraint | None
    prompt_ids: tuple[int, ...]
    trace: Trace
    budget: Budget | None = None
    stop_string: str | None = None
    _matcher: Matcher | None = field(
        default=None, repr=False
    )  # so that the states of `steps` keep their meaning

    def __getstate__(self) -> dict[str, Any]:
        """Pickle is refused where there is a constraint, by its own words; `trace` can always be sent."""
        if self.constraint is not None:
            self.constraint.__reduce__()
        return self.__dict__

    @property
    def token_ids(self) -> list[int]:
        """All generated ids: EOS included, and those of a stop string that the text is cut before."""
        return [step.token_id for step in self.steps]

    @property
    def text(self) -> str:
        """The generated text; EOS and special ids print nothing, half a character prints U+FFFD."""
        return self.trace.text

    @property
    def finish_reason(self) -> str:
        """ "stop" after EOS or a stop string, "length" at `max_tokens` or the end of the model's context;
        "interrupted" in the run that a `GenerationInterrupted` carries."""
        return self.trace.finish_reason

    @property
    def is_complete(self) -> bool:
        """Whether the text is a whole match: always, without a constraint."""
        return self.trace.is_complete

    @cached_property
    def measures(self) -> Measures:
        """What the mask did, in figures: feasible mass, divergence, blocked favourites, speed."""
        return measure(self.steps)

    def summary(self) -> str:
        """The measures as a table of plain text."""
        return str(self.measures)

    @property
    def model_calls(self) -> int:
        """How often the model was asked: once for each token that was not forced."""
        return self.measures.model_calls

    @property
    def model_calls_saved(self) -> int:
        """Tokens that were taken without asking: a forced EOS, and with `jump_forward` forced text."""
        return self.measures.model_calls_saved

    @property
    def budget_is_exact(self) -> bool | None:
        """Whether the budget knew the shortest way to the end, or a bound; None where there was none."""
        return None if self.budget is None else self.budget.is_exact


def generate(
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
) -> Run:
    """Run the model until EOS, a stop string, `max_tokens` or the end of the model's context.

    `vocabulary`: what ids mean and which end the text, where there is neither a constraint nor the model's
    own. `stop`: a text or several; the text is cut before the first, and `is_complete` says whether what is
    left is a whole match. `jump_forward`: take forced text without asking the model; its tokens count.
    `finish_within_budget`: never be cut off; also block tokens after which the shortest end would not fit.

    Raises what `stream` raises, and `GenerationInterrupted` with the run so far for Ctrl-C.
    """
    request = prepare(
        model,
        prompt,
        constraint=constraint,
        vocabulary=vocabulary,
        sampling=sampling,
        max_tokens=max_tokens,
        stop=stop,
        jump_forward=jump_forward,
        finish_within_budget=finish_within_budget,
    )
    recorder = TraceRecorder(request.vocabulary, constraint, prompt if isinstance(prompt, str) else "")
    kept: list[Step] = []
    try:
        for step in decode(model, request):
            recorder.add(step)
            # The rows of logits are let go step by step: 1,000 tokens of 131,072 float64 would be 1 GB.
            kept.append(replace(step, draw=None))
    except KeyboardInterrupt as fault:
        raise GenerationInterrupted(_finished(request, kept, recorder, interrupted=True)) from fault
    return _finished(request, kept, recorder)


def stream(
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
) -> Iterator[Step]:
    """The steps of `generate`, one by one as they happen, each with its rows of logits (`step.draw`).

    Raises, before the first step, `UsageError` for an argument that cannot mean anything, a prompt longer
    than the model's context, or a `max_tokens` too small for `finish_within_budget`; `ModelError` for an
    encoded prompt that is no ids, and for another number of logits than tokens. Later: `ModelError` for NaN
    or +inf among the logits, `EmptyMaskError` where a step leaves nothing to draw.
    """
    request = prepare(
        model,
        prompt,
        constraint=constraint,
        vocabulary=vocabulary,
        sampling=sampling,
        max_tokens=max_tokens,
        stop=stop,
        jump_forward=jump_forward,
        finish_within_budget=finish_within_budget,
    )
    return decode(model, request)


def generate_many(
    model: LanguageModel,
    prompts: Iterable[str | Sequence[int]],
    *,
    progress: bool = False,
    **options: Unpack[Options],
) -> list[Run]:
    """`generate` for each prompt in turn. `progress`: a bar in plain text on stderr (needs tqdm).

    `options`: the keywords of `generate`. With a seed, prompt i is drawn with seed + i, so that equal
    prompts differ and each run can be repeated alone. Ctrl-C raises `GenerationInterrupted` with the run so
    far, and in `.finished` those before it.
    """
    texts = listed(prompts, "prompts")
    sampling = options.get("sampling", GREEDY)
    check_type(sampling, Sampling, "sampling", "Sampling(temperature=..., seed=...)")
    runs: list[Run] = []
    for index, prompt in enumerate(_with_bar(texts) if progress else texts):
        seed = None if sampling.seed is None else sampling.seed + index
        options["sampling"] = replace(sampling, seed=seed)
        try:
            runs.append(generate(model, prompt, **options))
        except GenerationInterrupted as fault:
            raise GenerationInterrupted(fault.run, runs) from fault
    return runs


def _with_bar(items: list[Any]) -> Iterable[Any]:
    from minidecoder.models.causal_lm import require

    bar: Iterable[Any] = require("tqdm").tqdm(items, unit="prompt")
    return bar


def _finished(
    request: Request, steps: Sequence[Step], recorder: TraceRecorder, *, interrupted: bool = False
) -> Run:
    """The run that these steps make, its text cut before a stop string."""
    constraint = None if request.matcher is None else request.matcher.constraint
    data = request.vocabulary.decode(step.token_id for step in steps)
    found = request.stop.find(data)
    text = data if found is None else data[: found.position]
    # subtle: what the text is, and not where the matcher stands: that may be behind the stop string.
    trace = recorder.finish(constraint is None or _matches(constraint, text))
    reason = "interrupted" if interrupted else "stop" if found else trace.finish_reason
    trace = replace(trace, text=text.decode("utf-8", "replace"), finish_reason=reason)
    stop_string = None if found is None else found.stop
    return Run(
        tuple(steps),
        request.vocabulary,
        constraint,
        tuple(request.prompt_ids),
        trace,
        request.budget,
        stop_string,
        request.matcher,
    )


def _matches(constraint: Constraint, text: bytes) -> bool:
    matcher = constraint.matcher()
    return matcher.accept_string(text) and matcher.is_accepting
