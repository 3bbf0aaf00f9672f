"""`python -m minidecoder demo`: ask SmolLM2 a question twice, free and constrained, and show each step.

The table has a line per token: the state before it, how many tokens the automaton allowed, what the
model itself would have said and whether that was blocked, the token drawn and the states it moves
through, and the feasible mass: the share of the model's probability that the mask keeps.

Left out: JSON Schemas (`demo_schema`), pictures (`viz`), and how a terminal shows it (`screen`). Exit code 0
for a whole match, 1 where the answer was cut before it was one.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from minidecoder.api import Run, compile_regex, generate
from minidecoder.cli import demo_schema
from minidecoder.cli.screen import Screen
from minidecoder.decoding.sampling import Sampling
from minidecoder.errors import UsageError
from minidecoder.models.causal_lm import check_text
from minidecoder.regex.compiler import compile_dfa

if TYPE_CHECKING:
    from minidecoder.models.causal_lm import CausalLM

__all__ = ["EXAMPLES", "Example", "add_parser", "run"]


@dataclass(frozen=True)
class Example:
    """A question and the pattern its answer must match."""

    prompt: str
    pattern: str
    max_tokens: int


EXAMPLES: Final = {
    "price": Example(
        "What is the price of a coffee? Answer with a number with two decimals only.",
        r"[0-9]+\.[0-9]{2}",
        32,
    ),
    "review": Example(
        "Write a one-line review of a coffee machine as JSON with the keys product, stars and summary.",
        r'\{"product": "[^"\\\x00-\x1f]+", "stars": [1-5], "summary": "[^"\\\x00-\x1f]+"\}',
        96,
    ),
}


def add_parser(subparsers: Any) -> None:
    """Register `demo` and its options."""
    parser = subparsers.add_parser("demo", help="SmolLM2 answers free and constrained, step by step")
    parser.add_argument("example", nargs="?", choices=EXAMPLES, default="price", help="a built-in example")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--pattern", metavar="REGEX", help="what the answer must match, instead")
    kind.add_argument("--schema", metavar="FILE", help="fill this JSON Schema: a file, or a shipped example")
    parser.add_argument("--prompt", metavar="TEXT", help="what to ask, instead")
    parser.add_argument("--temperature", type=float, default=0.0, help="0 (greedy, the default) or more")
    parser.add_argument("--seed", type=int, default=0, help="of the draws; matters above temperature 0")
    parser.add_argument("--max-tokens", type=int, metavar="N", help="cut the answer there")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Run both generations and print them. Bad input raises before the model is loaded."""
    if args.schema is not None:
        return demo_schema.run(args)
    example = EXAMPLES[args.example]
    prompt = example.prompt if args.prompt is None else check_text(args.prompt, "--prompt")
    pattern = example.pattern if args.pattern is None else check_text(args.pattern, "--pattern")
    max_tokens = example.max_tokens if args.max_tokens is None else args.max_tokens
    sampling = Sampling(temperature=args.temperature, seed=args.seed)
    if max_tokens < 1:
        raise UsageError(f"--max-tokens {max_tokens}: it must be 1 or more")
    compile_dfa(pattern)
    screen = Screen()
    with screen.busy("loading SmolLM2-135M-Instruct: some seconds, the first time half a minute") as say:
        from minidecoder.models import load_smollm2

        model = load_smollm2(progress=say)
    free, answer = _ask_twice(screen, model, prompt, pattern, sampling, max_tokens)
    prompt_note, pattern_note = _defaults_in_use(args)
    screen.show("prompt", prompt, prompt_note)
    screen.show("pattern", pattern, pattern_note)
    screen.show_free_answer(free, answer.constraint)
    screen.show_steps(answer)
    return _verdict(screen, answer, max_tokens)


def _defaults_in_use(args: argparse.Namespace) -> tuple[str, str]:
    """What to say beside prompt and pattern where one is the user's and the other the example's."""
    if (args.prompt is None) == (args.pattern is None):
        return "", ""
    note = f"of the {args.example} example"
    return ("", note) if args.pattern is None else (note, "")


def _ask_twice(
    screen: Screen, model: CausalLM, prompt: str, pattern: str, sampling: Sampling, max_tokens: int
) -> tuple[Run, Run]:
    """The same question without and with the constraint."""
    constraint = compile_regex(pattern, model.vocabulary)
    prompt_ids = model.encode_chat(prompt)
    with screen.busy("answering freely"):
        free = generate(model, prompt_ids, sampling=sampling, max_tokens=max_tokens)
    with screen.busy("answering under the pattern"):
        answer = generate(model, prompt_ids, constraint=constraint, sampling=sampling, max_tokens=max_tokens)
    return free, answer


def _verdict(screen: Screen, answer: Run, max_tokens: int) -> int:
    overruled = sum(step.favourite_blocked for step in answer.steps)
    screen.say(f"The model's favourite was blocked in {overruled} of {len(answer.steps)} steps.")
    cut = f", though it was cut at {max_tokens} tokens" if answer.finish_reason == "length" else ""
    if answer.is_complete:
        screen.good(f"The answer matches the pattern{cut}:", answer.text)
        return 0
    screen.bad(f"The answer was cut at {max_tokens} tokens and does not match yet:", answer.text)
    return 1
