"""`python -m minidecoder compare`: the same questions to SmolLM2, free and constrained, a thousand times.

Phone numbers, dates and labels are sampled at temperature 1, and the share of legal answers is counted with
`re.fullmatch`, which has seen neither the automaton nor the mask. A free answer is given up at the first
token after which it can no longer match: it counts as illegal, and its beginning is shown.

Left out: whether an answer is true (`demo` shows some). Exit code 1 where a constrained answer is illegal.
Cost: two to three minutes on two cores for 1,000 samples; the model reads 64 answers in one pass.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from minidecoder.cli.screen import Screen
from minidecoder.compiling import compile_regex
from minidecoder.decoding.constraint import Constraint
from minidecoder.decoding.sampling import Past, Sampler, Sampling, as_logits
from minidecoder.errors import UsageError
from minidecoder.lens.labels import show_text

if TYPE_CHECKING:
    from minidecoder.models.causal_lm import CausalLM

__all__ = ["QUESTIONS", "Question", "Tally", "add_parser", "ask", "run"]

ROWS: Final = 64  # answers in one pass of the model


@dataclass(frozen=True)
class Question:
    """What is asked, and what the answer must match: a finite language, so that every answer ends."""

    name: str
    prompt: str
    pattern: str


QUESTIONS: Final = (
    Question(
        "phone number",
        "Invent a phone number. Answer with the number alone, in the form 555-010-0199.",
        "[0-9]{3}-[0-9]{3}-[0-9]{4}",
    ),
    Question(
        "date",
        "Name a day of the year 2024. Answer with the date alone, in the form 2024-03-14.",
        "20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])",
    ),
    Question(
        "label",
        'Is this review Positive, Negative or Neutral? "The coffee was good, but cold." '
        "Answer with one of the three words alone.",
        "Positive|Negative|Neutral",
    ),
)


@dataclass
class Tally:
    """What came of one question, asked one way. `failures`: how illegal answers began."""

    samples: int = 0
    legal: int = 0
    tokens: int = 0
    seconds: float = 0.0
    failures: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        self.samples += other.samples
        self.legal += other.legal
        self.tokens += other.tokens
        self.seconds += other.seconds
        self.failures += other.failures


def add_parser(subparsers: Any) -> None:
    """Register `compare` and its options."""
    parser = subparsers.add_parser(
        "compare", help="how often SmolLM2's answers are legal, free and constrained"
    )
    parser.add_argument(
        "--samples", type=int, default=1000, metavar="N", help="answers in all (default 1000)"
    )
    parser.add_argument("--temperature", type=float, default=1.0, help="of the draws (default 1)")
    parser.add_argument("--seed", type=int, default=0, help="of the first answer; each next one has one more")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Ask, count and print. Bad input raises before the model is loaded."""
    if args.samples < len(QUESTIONS):
        raise UsageError(f"--samples {args.samples}: at least {len(QUESTIONS)}, one for each question")
    Sampling(temperature=args.temperature, seed=args.seed)
    screen = Screen()
    with screen.busy("loading SmolLM2-135M-Instruct") as say:
        from minidecoder.models import load_smollm2

        model = load_smollm2(progress=say)
    rows: list[tuple[Question, Tally, Tally]] = []
    for index, question in enumerate(QUESTIONS):
        count = (args.samples + len(QUESTIONS) - 1 - index) // len(QUESTIONS)
        constraint = compile_regex(question.pattern, model.vocabulary)
        both = {masked: Tally() for masked in (True, False)}
        for masked, tally in both.items():
            for part in ask(model, question, constraint, count, args, masked=masked):
                tally.add(part)
                way = "constrained" if masked else "free"
                _progress(f"{question.name}, {way}: {tally.samples} of {count}")
        rows.append((question, both[True], both[False]))
    _progress("")
    return _report(screen, rows, args)


def ask(
    model: CausalLM,
    question: Question,
    constraint: Constraint,
    count: int,
    args: argparse.Namespace,
    *,
    masked: bool,
) -> Iterator[Tally]:
    """A tally for each batch of answers. Answer i is drawn with `seed + i`, masked or not."""
    prompt_ids = model.encode_chat(question.prompt)
    for first in range(0, count, ROWS):
        seeds = range(args.seed + first, args.seed + min(first + ROWS, count))
        started = perf_counter()
        answers = [Answer(constraint, args.temperature, seed, masked=masked) for seed in seeds]
        _write_all(model, prompt_ids, answers)
        tally = Tally(samples=len(answers), seconds=perf_counter() - started)
        for answer in answers:
            tally.tokens += answer.tokens
            # The judge is `re`: an answer is legal if it ended by itself and matches as a whole.
            if answer.ended and re.fullmatch(question.pattern, answer.text):
                tally.legal += 1
            else:
                tally.failures[answer.text] += 1
        yield tally


class Answer:
    """One answer while it is written. The matcher gives the mask, or only watches where it is free."""

    def __init__(self, constraint: Constraint, temperature: float, seed: int, *, masked: bool) -> None:
        self.matcher = constraint.matcher()
        self.sampler = Sampler(Sampling(temperature=temperature, seed=seed))
        self.masked = masked
        self.data = b""
        self.tokens = 0
        self.ended = False

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")

    def write(self, logits: Any) -> int | None:
        """Draw a token; its id, or None where the answer is over."""
        vocabulary = self.matcher.constraint.vocabulary
        row = as_logits(logits, len(vocabulary))
        mask = self.matcher.bitmask() if self.masked else None
        token_id = self.sampler.draw(row, mask, Past((), self.tokens, vocabulary.eos_ids)).token_id
        self.tokens += 1
        self.data += vocabulary.token_bytes[token_id]
        taken = self.matcher.accept_token(token_id)
        self.ended = token_id in vocabulary.eos_ids
        if not taken or self.ended:
            return None
        if self.masked and set(self.matcher.allowed_token_ids().tolist()) <= set(vocabulary.eos_ids):
            self.ended = True  # nothing else may follow: no need to ask
            return None
        return token_id


def _write_all(model: CausalLM, prompt_ids: Sequence[int], answers: Sequence[Answer]) -> None:
    """Write the answers side by side; the batch shrinks as they end."""
    from minidecoder.models.batched import BatchedLM

    batch, open_ = BatchedLM(model), list(answers)
    logits = batch.begin(prompt_ids, len(answers))
    while open_:
        drawn = [answer.write(row) for answer, row in zip(open_, logits, strict=True)]
        going_on = [i for i, token_id in enumerate(drawn) if token_id is not None]
        if not going_on:
            return
        batch.keep(going_on)
        open_ = [open_[i] for i in going_on]
        logits = batch.step([token_id for token_id in drawn if token_id is not None])


def _progress(text: str) -> None:
    """One line that is written over in a terminal; nothing in a file."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _report(screen: Screen, rows: list[tuple[Question, Tally, Tally]], args: argparse.Namespace) -> int:
    constrained, free = Tally(), Tally()
    for _, masked, unmasked in rows:
        constrained.add(masked)
        free.add(unmasked)
    screen.say(f"{'':<13} {'answers':>8} {'legal, constrained':>20} {'legal, free':>20}")
    for name, masked, unmasked in [*((q.name, m, u) for q, m, u in rows), ("all", constrained, free)]:
        screen.say(f"{name:<13} {masked.samples:>8,} {_legal(masked):>20} {_legal(unmasked):>20}")
    for question, _, unmasked in rows:
        begun = ", ".join(f"{show_text(text)!r} {count}×" for text, count in unmasked.failures.most_common(3))
        screen.say(
            f"{question.name}: {question.pattern}   free answers that failed began {begun or '(none did)'}"
        )
    for name, tally in (("constrained", constrained), ("free", free)):
        screen.say(f"{name}: {tally.tokens:,} tokens in {tally.seconds:.0f} s")
    if illegal := constrained.samples - constrained.legal:
        screen.bad(f"{illegal:,} constrained answers are illegal:", ", ".join(constrained.failures))
        return 1
    screen.good(
        f"0 of {constrained.samples:,} constrained answers are illegal at temperature",
        f"{args.temperature:g}",
    )
    return 0


def _legal(tally: Tally) -> str:
    return f"{tally.legal:,} ({100 * tally.legal / tally.samples:.1f} %)"
