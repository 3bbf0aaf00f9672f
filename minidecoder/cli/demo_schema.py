"""`python -m minidecoder demo --schema NAME`: SmolLM2 fills a JSON Schema, and the object is printed.

NAME is a shipped example (review, invoice, car, comment_tree) or a file. The prompt is the schema's own
description, if none is given. What was written is read back with `json` and judged by `jsonschema`, which
has seen neither the automaton nor the mask; the free answer is judged the same way.

Left out: pictures, and how a terminal shows a run (`screen`). Exit code 0 for a valid object, else 1.
"""

from __future__ import annotations

import argparse
import json
from decimal import Decimal
from typing import Any, Final

from minidecoder.api import Run, generate
from minidecoder.cli.check_schema import BYTES, read_schema
from minidecoder.cli.screen import Screen
from minidecoder.compiling import compile_json_schema
from minidecoder.decoding.constraint import Constraint
from minidecoder.decoding.sampling import Sampling
from minidecoder.errors import MissingDependencyError, UsageError
from minidecoder.models.causal_lm import check_text
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["judge", "run"]

_MAX_TOKENS: Final = 256
_ASK: Final = "Answer with one JSON object and nothing else."


def run(args: argparse.Namespace) -> int:
    """Ask twice and print both answers. Bad input raises before the model is loaded."""
    schema = read_schema(args.schema)
    _compile(schema, BYTES)
    prompt = _prompt(schema) if args.prompt is None else check_text(args.prompt, "--prompt")
    max_tokens = _MAX_TOKENS if args.max_tokens is None else args.max_tokens
    if max_tokens < 1:
        raise UsageError(f"--max-tokens {max_tokens}: it must be 1 or more")
    settings: dict[str, Any] = {
        "sampling": Sampling(temperature=args.temperature, seed=args.seed),
        "max_tokens": max_tokens,
    }
    screen = Screen()
    with screen.busy("loading SmolLM2-135M-Instruct: some seconds, the first time half a minute") as say:
        from minidecoder.models import load_smollm2

        model = load_smollm2(progress=say)
    constraint = _compile(schema, model.vocabulary)
    prompt_ids = model.encode_chat(prompt)
    with screen.busy("answering freely"):
        free = generate(model, prompt_ids, **settings)
    with screen.busy("filling the schema"):
        # The budget closes what is open before the tokens run out, so that the object is whole.
        answer = generate(model, prompt_ids, constraint=constraint, finish_within_budget=True, **settings)
    screen.show("prompt", prompt)
    screen.show("schema", args.schema)
    screen.show("free answer", free.text, _verdict(schema, free.text))
    return _report(screen, schema, answer)


def _compile(schema: Any, vocabulary: Vocabulary) -> Constraint:
    # Spaced as `json.dumps` writes, which models have read most of.
    return compile_json_schema(schema, vocabulary, whitespace="spaced", enforce_formats=True)


def _prompt(schema: Any) -> str:
    words = schema.get("description", schema.get("title")) if isinstance(schema, dict) else None
    if not isinstance(words, str):
        raise UsageError("the schema has no description to ask for: say what you want with --prompt")
    return f"{_ASK} {words}"


def _report(screen: Screen, schema: Any, answer: Run) -> int:
    blocked = sum(step.favourite_blocked for step in answer.steps)
    screen.say(f"The model's favourite was blocked in {blocked} of {len(answer.steps)} steps.")
    fault = judge(schema, answer.text)
    if fault is not None:
        screen.bad(f"The answer is not valid ({fault}):", answer.text)
        return 1
    for line in json.dumps(json.loads(answer.text), indent=2, ensure_ascii=False).splitlines():
        screen.say(line)
    screen.good("jsonschema finds the object valid:", f"{len(answer.steps)} tokens")
    return 0


def _verdict(schema: Any, text: str) -> str:
    fault = judge(schema, text)
    return "✓ valid" if fault is None else f"✕ {fault}"


def judge(schema: Any, text: str) -> str | None:
    """Why a text is no valid instance, None where it is one, according to `json` and `jsonschema`."""
    try:
        import jsonschema
    except ImportError:
        raise MissingDependencyError("jsonschema", "dev") from None
    try:
        value = json.loads(text, parse_float=Decimal)
    except ValueError as fault:
        return f"no JSON: {fault}"
    base = jsonschema.Draft202012Validator
    # subtle: as floats, 12.34 is no multiple of 0.01; as a decimal, 1.0 must still be an integer.
    types = base.TYPE_CHECKER.redefine("integer", _is_integer)
    validator = jsonschema.validators.extend(base, type_checker=types)
    found = next(iter(validator(schema, format_checker=jsonschema.FormatChecker()).iter_errors(value)), None)
    return None if found is None else f"{found.json_path}: {found.message:.100}"


def _is_integer(_: object, value: object) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, Decimal) and value == value.to_integral_value())
