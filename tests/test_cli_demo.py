"""The demo: what a person types, sees, and gets as an exit code."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys

import pytest

from minidecoder.cli.demo import EXAMPLES
from minidecoder.cli.main import main
from minidecoder.models import CausalLM


@pytest.fixture
def demo(smollm2: CausalLM, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """Run the command in this process, with the model already loaded and no network."""

    def no_network(*args: object) -> None:
        raise AssertionError("the demo must not open a connection")

    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.setattr(socket.socket, "connect", no_network)
    monkeypatch.setattr("minidecoder.models.load_smollm2", lambda progress=None: smollm2)

    def run(*args: str) -> tuple[int, str, str]:
        code = main(["demo", *args])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def rows(out: str) -> list[str]:
    return [line for line in out.splitlines() if re.match(r"\s*\d+ +s\d", line)]


def test_the_price_is_a_price_and_the_table_shows_why(demo) -> None:  # type: ignore[no-untyped-def]
    code, out, err = demo()
    assert code == 0
    answer = re.search(r"matches the pattern: (.*)", out)
    assert answer
    assert re.fullmatch(EXAMPLES["price"].pattern, answer[1])
    assert "allowed of 49,152" in out
    assert "✕ no match" in out, "the free answer is prose"
    first, *_, last = rows(out)
    assert "✕ The" in first, "the model's favourite first word is blocked"
    assert re.search(r"s0 +10 ", first), "ten digits are allowed at the start"
    assert "<|im_end|>" in last
    assert "loading SmolLM2" in err
    assert len(rows(out)) == len(answer[1]) + 1, "SmolLM2 writes one digit a token, then EOS"


def test_the_review_crosses_grammar_parts_inside_tokens(demo) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = demo("review")
    assert code == 0
    assert re.search(r' ":  +s\d+→s\d+→s\d+ ', out)
    assert re.search(r' ",  +s\d+→s\d+→s\d+ ', out)
    answer = re.search(r"matches the pattern: (.*)", out)
    assert answer
    assert re.fullmatch(EXAMPLES["review"].pattern, answer[1])


def test_an_answer_that_is_cut_says_where_and_exits_with_1(demo) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = demo("--max-tokens", "2")
    assert code == 1
    assert "cut at 2 tokens and does not match yet: 1." in out


def test_a_seed_repeats_a_sampled_run_and_another_changes_it(demo) -> None:  # type: ignore[no-untyped-def]
    options = ("--pattern", "[a-z]{12}", "--prompt", "Say something.", "--temperature", "1.5", "--seed")
    first, again, other = demo(*options, "1"), demo(*options, "1"), demo(*options, "2")
    assert first == again
    assert first[1] != other[1]


def test_text_that_looks_like_markup_is_printed_as_it_is(demo) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = demo("--pattern", r"\[bold\]x\[/nothing\]", "--prompt", "[red]Hi[/red]")
    assert code == 0
    assert "[bold]x[/nothing]" in out
    assert "[red]Hi[/red]" in out


def test_control_characters_never_reach_the_terminal(demo) -> None:  # type: ignore[no-untyped-def]
    _, out, _ = demo("--pattern", "a\x1b\\[2Jb|a b", "--prompt", "x\x07y\x1b[31m", "--max-tokens", "4")
    assert "\x1b" not in out
    assert "\x07" not in out
    assert r"pattern      a\x1b\[2Jb|a b" in out


def test_an_empty_answer_is_named(demo) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = demo("--pattern", "", "--prompt", "Say nothing.", "--max-tokens", "2")
    assert code == 0
    assert "pattern      (empty text)" in out
    assert "✓ The answer matches the pattern: (empty text)" in out


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (["--prompt", "A price?"], r"pattern      \[0-9\]\+.*\n +\(of the price example\)"),
        (["review", "--pattern", "a"], r"prompt       Write.*\n +\(of the review example\)"),
    ],
)
def test_half_a_question_is_completed_from_the_example_and_says_so(demo, args: list[str], line: str) -> None:  # type: ignore[no-untyped-def]
    _, out, _ = demo(*args, "--max-tokens", "2")
    assert re.search(line, out)
    assert out.count("example)") == 1


def test_a_whole_example_and_a_whole_question_need_no_such_note(demo) -> None:  # type: ignore[no-untyped-def]
    for args in ([], ["--prompt", "Say a.", "--pattern", "a"]):
        assert "example)" not in demo(*args, "--max-tokens", "2")[1]


def test_the_first_line_says_how_long_loading_takes(demo) -> None:  # type: ignore[no-untyped-def]
    err = demo("--max-tokens", "1")[2]
    assert err.splitlines()[0].startswith(
        "loading SmolLM2-135M-Instruct: some seconds, the first time half a minute"
    )


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--pattern", "(a"], "missing )"),
        (["--pattern", r"(a)\1"], "back-reference"),
        (["--pattern", "[^\\x00-\\U0010ffff]"], "no text at all"),
        (["--temperature", "-1"], "temperature"),
        (["--temperature", "warm"], "temperature"),
        (["--seed", "-1"], "seed"),
        (["--max-tokens", "0"], "max-tokens"),
        (["--max-tokens", "many"], "max-tokens"),
        (["sandwich"], "sandwich"),
        (["--bogus"], "bogus"),
        (["--prompt", "\udcff\udcfe"], "--prompt is not valid Unicode"),
        (["--pattern", "a\udcff?"], "--pattern is not valid Unicode"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(demo, args: list[str], message: str) -> None:  # type: ignore[no-untyped-def]
    try:
        code, out, err = demo(*args)
    except SystemExit as exit_:
        code, out, err = exit_.code, "", message  # argparse printed and left
    assert code == 2
    assert message in err
    assert "Traceback" not in out + err


def test_a_mistyped_option_is_one_line() -> None:
    command = [sys.executable, "-m", "minidecoder", "demo", "--temperature", "warm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "warm" in done.stderr


def test_the_installed_model_needs_no_network(smollm2: CausalLM) -> None:
    """The whole command in a fresh process whose sockets cannot connect."""
    block = "import socket, sys, runpy\ndef refuse(*a): raise OSError('no network here')\nsocket.socket.connect = refuse\n"
    run = "sys.argv = ['minidecoder', 'demo']\nrunpy.run_module('minidecoder', run_name='__main__')"
    environment = {**os.environ, "COLUMNS": "110", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-c", block + run], capture_output=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert re.search(r"matches the pattern: [0-9]+\.[0-9]{2}\n", done.stdout.decode())
