r"""`python -m minidecoder show`: write a run as a page to step through, and open it.

    python -m minidecoder show "[0-9]+\.[0-9]{2}" --tokens 12,.5,0 --open
    python -m minidecoder show --json schema.json --model --prompt "A user, as JSON." --out user.html

`--tokens` draws the tokens given, of a teaching vocabulary (`show_run`); a comma in a token is `\,`. Given
twice, both runs stand side by side. `--model` records SmolLM2 instead.

Left out: the page (`viz.player`). Exit code 0 wherever a page was written.
"""

from __future__ import annotations

import argparse
import re
import webbrowser
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from minidecoder.cli.demo import EXAMPLES
from minidecoder.cli.show_run import Compile, ask, letters_of, letters_of_pattern, play, teaching_vocabulary
from minidecoder.compiling import compile_grammar, compile_json_schema, compile_regex
from minidecoder.errors import UsageError
from minidecoder.lens.labels import show_text
from minidecoder.lens.trace import Trace
from minidecoder.models.causal_lm import check_text

__all__ = ["add_parser", "run", "split_tokens"]

OUT: Final = "minidecoder_run.html"
MAX_TOKENS: Final = 64
_ESCAPES: Final = {r"\\": "\\", r"\,": ",", r"\n": "\n", r"\t": "\t"}


class _Source(NamedTuple):
    compile: Compile
    letters: list[str]


def add_parser(subparsers: Any) -> None:
    """Register `show` and its options."""
    parser = subparsers.add_parser("show", help="a run as a page to step through, by tokens or by SmolLM2")
    parser.add_argument("pattern", nargs="?", metavar="REGEX", help="what the text must match")
    parser.add_argument("--json", metavar="FILE", help="a JSON Schema instead of a pattern")
    parser.add_argument("--grammar", metavar="FILE", help="a grammar in GBNF instead of a pattern")
    parser.add_argument(
        "--tokens",
        action="append",
        metavar="A,B,…",
        help=r"the tokens to draw, then EOS where the text may end; \, \n \t and \\ as in Python. Twice: "
        "two runs side by side",
    )
    parser.add_argument("--model", action="store_true", help="record SmolLM2 instead")
    parser.add_argument("--prompt", metavar="TEXT", help="what to ask it")
    parser.add_argument(
        "--max-tokens", type=int, metavar="N", help=f"cut its answer there (default {MAX_TOKENS})"
    )
    parser.add_argument("--out", metavar="FILE", default=OUT, help=f"the page to write (default {OUT})")
    parser.add_argument("--open", action="store_true", help="and open it in the browser")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Record, write, say where, open. Bad options raise before anything is compiled or loaded."""
    _check(args)
    source = _source(args)
    traces = [_asked(args, source)] if args.model else _played(args, source)
    from minidecoder.viz.player import save

    path = save((traces[0], traces[1]) if len(traces) == 2 else traces[0], args.out).resolve()
    for trace in traces:
        print(_told(trace))
    print(f"the page: {path}")
    if args.open and not _opened(path):
        print("no browser was found: open that file in one")
    return 0


def _check(args: argparse.Namespace) -> None:
    given = [name for name in ("pattern", "json", "grammar") if getattr(args, name) is not None]
    if len(given) != 1:
        raise UsageError("show needs one of: a pattern, --json FILE, --grammar FILE")
    if args.model == (args.tokens is not None):
        raise UsageError(
            "show needs --tokens A,B,… to draw these, or --model to let SmolLM2 draw, and not both"
        )
    if not args.model and (args.prompt is not None or args.max_tokens is not None):
        raise UsageError("--prompt and --max-tokens are for --model: --tokens draws the tokens that it names")
    if len(args.tokens or ()) > 2:
        raise UsageError("--tokens may be given twice, for two runs side by side, and no more often")
    if args.max_tokens is not None and args.max_tokens < 1:
        raise UsageError(f"--max-tokens {args.max_tokens}: it must be 1 or more")


def _source(args: argparse.Namespace) -> _Source:
    """How the constraint is compiled, and the characters that it can use."""
    if args.pattern is not None:
        pattern = check_text(args.pattern, "the pattern")
        return _Source(partial(compile_regex, pattern), letters_of_pattern(pattern))
    file, compile_ = (
        (args.json, compile_json_schema) if args.json is not None else (args.grammar, compile_grammar)
    )
    text = _read(file)
    return _Source(partial(compile_, text), letters_of(text))


def _read(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as fault:
        raise UsageError(f"{file} cannot be read as text: {fault}") from fault


def _played(args: argparse.Namespace, source: _Source) -> list[Trace]:
    runs = [split_tokens(text) for text in args.tokens]
    # One vocabulary for both runs, so that an id means the same in each.
    given = list(dict.fromkeys(token for tokens in runs for token in tokens))
    constraint = source.compile(teaching_vocabulary(given, source.letters))
    return [play(constraint, tokens, len(given)) for tokens in runs]


def split_tokens(text: str) -> list[str]:
    r"""The tokens of `12,.5,0`. In a token `\,` is a comma, `\n` and `\t` are what they are in Python, and a
    backslash before anything else stands for itself. `UsageError` for an empty token.

    >>> split_tokens(r"a\,b,\n")
    ['a,b', '\n']
    """
    tokens = [""]
    for part in re.findall(r"\\[\\,nt]|.", check_text(text, "--tokens"), re.DOTALL):
        if part == ",":
            tokens.append("")
        else:
            tokens[-1] += _ESCAPES.get(part, part)
    if "" in tokens:
        raise UsageError(
            rf"--tokens {text!r}: token {tokens.index('') + 1} is empty; a comma in a token is \,"
        )
    return tokens


def _asked(args: argparse.Namespace, source: _Source) -> Trace:
    prompt = EXAMPLES["price"].prompt if args.prompt is None else check_text(args.prompt, "--prompt")
    from minidecoder.cli.screen import Screen
    from minidecoder.models import load_smollm2

    with Screen().busy("loading SmolLM2-135M-Instruct: some seconds, the first time half a minute") as say:
        model = load_smollm2(progress=say)
    return ask(model, prompt, source.compile, args.max_tokens or MAX_TOKENS)


def _told(trace: Trace) -> str:
    sign, what = ("✓", "a whole match") if trace.is_complete else ("✕", "not a whole match yet")
    return f"{sign} {show_text(trace.text) or '(no text)'}   {len(trace.steps)} tokens, {what}"


def _opened(path: Path) -> bool:
    try:
        return webbrowser.open(path.as_uri())
    except (webbrowser.Error, OSError):
        return False
