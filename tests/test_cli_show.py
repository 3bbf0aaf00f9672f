"""`show`: what a person types, the page that comes of it, and what is said where the machine refuses."""

from __future__ import annotations

import json
import re
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minidecoder as md
from minidecoder.cli import show as command
from minidecoder.cli.main import main
from minidecoder.cli.show import split_tokens
from minidecoder.cli.show_run import letters_of, letters_of_pattern, play, teaching_vocabulary
from minidecoder.errors import UsageError
from minidecoder.lens.trace import Trace
from minidecoder.models import CausalLM

PRICE = r"[0-9]+\.[0-9]{2}"
GRAMMAR = 'root ::= "[" (value ("," value)*)? "]"\nvalue ::= root | [0-9]+\n'
SCHEMA = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}


@pytest.fixture
def show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """Run the command in an empty folder; a browser that it opens is only noted."""
    monkeypatch.chdir(tmp_path)
    opened: list[str] = []
    monkeypatch.setattr(command.webbrowser, "open", lambda url: not opened.append(url))

    def run(*args: str) -> tuple[int, str, str]:
        code = main(["show", *args])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    run.opened = opened  # type: ignore[attr-defined]
    return run


def traces_in(page: Path) -> list[Trace]:
    """The runs that a page holds, read as its own script reads them."""
    found = re.search(
        r'<script type="application/json" id="recording">(.*?)</script>', page.read_text(), re.S
    )
    assert found
    recording = json.loads(found[1])
    parts = [part for part in (recording, recording.get("other")) if part]
    return [Trace.from_json(json.dumps(part["trace"])) for part in parts]


def test_the_tokens_given_become_a_page_that_is_opened(show, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    code, out, err = show(PRICE, "--tokens", "12,.5,0", "--open")
    page = tmp_path / "minidecoder_run.html"
    assert (code, err) == (0, "")
    assert out == f"✓ 12.50   4 tokens, a whole match\nthe page: {page}\n"
    assert show.opened == [page.as_uri()]
    (trace,) = traces_in(page)
    assert (trace.pattern, trace.text, trace.finish_reason) == (PRICE, "12.50", "stop")
    assert [step.label for step in trace.steps] == ["12", ".5", "0", "■ </s>"]
    assert page.stat().st_size < 500_000


def test_without_open_nothing_is_opened_and_out_names_the_page(show, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    assert show("a+", "--tokens", "a,aa", "--out", "a.html")[0] == 0
    assert [file.name for file in tmp_path.iterdir()] == ["a.html"]
    assert show.opened == []


def test_without_a_browser_the_path_is_told(show, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    def none(url: str) -> bool:
        raise command.webbrowser.Error("could not locate runnable browser")

    for answer in (none, lambda url: False):
        monkeypatch.setattr(command.webbrowser, "open", answer)
        code, out, _ = show("a+", "--tokens", "a", "--open")
        assert code == 0
        assert out.endswith("minidecoder_run.html\nno browser was found: open that file in one\n")


def test_a_text_that_is_no_whole_match_yet_is_shown_and_said(show, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = show(PRICE, "--tokens", "12,.5")
    assert (code, out.splitlines()[0]) == (0, "✕ 12.5   2 tokens, not a whole match yet")
    (trace,) = traces_in(tmp_path / "minidecoder_run.html")
    assert (trace.finish_reason, trace.is_complete) == ("length", False)


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (
            "12.,50,0",
            "token 3, `0`, is refused after `12.50`: `0` is blocked: in s4 only the end may follow.",
        ),
        ("1.,x", "token 2, `x`, is refused after `1.`: `x` dies at byte 1 of 1"),
        ("5.5.", "token 1, `5.5.`, is refused: `5.5.` dies at byte 4 of 4"),
    ],
)
def test_a_token_that_the_machine_refuses_is_explained_in_one_line(show, tokens: str, message: str) -> None:  # type: ignore[no-untyped-def]
    code, out, err = show(PRICE, "--tokens", tokens)
    assert (code, out) == (2, "")
    assert err.startswith(f"minidecoder: --tokens: {message}")
    assert err.count("\n") == 1


def test_given_twice_both_runs_stand_side_by_side_over_one_vocabulary(show, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = show(PRICE, "--tokens", "12,.5,0", "--tokens", "12,.,50")
    assert code == 0
    assert out.count("✓ 12.50") == 2
    one, two = traces_in(tmp_path / "minidecoder_run.html")
    assert one.steps[0].token_id == two.steps[0].token_id
    assert one.vocabulary_size == two.vocabulary_size
    ids = {c.label: c.token_id for trace in (one, two) for step in trace.steps for c in step.candidates}
    assert len(set(ids.values())) == len(ids)


def test_a_schema_and_a_grammar_come_from_files(show, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    Path("schema.json").write_text(json.dumps(SCHEMA))
    Path("lists.gbnf").write_text(GRAMMAR)
    assert show("--json", "schema.json", "--tokens", '{"age": ,36,}')[1].startswith('✓ {"age":␣36}')
    assert show("--grammar", "lists.gbnf", "--tokens", r"[1\,,[,],]", "--out", "g.html")[1].startswith(
        "✓ [1,[]]"
    )
    (trace,) = traces_in(tmp_path / "g.html")
    assert trace.machine is None
    assert [len(step.stack) for step in trace.steps][2] > len(trace.steps[0].stack)


def test_hostile_patterns_and_tokens_stay_text(show, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    hostile = "</script><img src=x onerror=alert(1)>"
    assert show("(.|\n)+", "--tokens", hostile)[0] == 0
    (trace,) = traces_in(tmp_path / "minidecoder_run.html")
    assert trace.text == hostile
    assert "<img" not in (tmp_path / "minidecoder_run.html").read_text()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "show needs one of: a pattern, --json FILE, --grammar FILE"),
        (("a", "--json", "b", "--tokens", "a"), "show needs one of"),
        (("a",), "show needs --tokens A,B,…"),
        (("a", "--tokens", "a", "--model"), "and not both"),
        (("a", "--tokens", "a", "--prompt", "b"), "--prompt and --max-tokens are for --model"),
        (("a", "--model", "--max-tokens", "0"), "--max-tokens 0: it must be 1 or more"),
        (("a", "--tokens", "a", "--tokens", "a", "--tokens", "a"), "twice"),
        (("a", "--tokens", "a,,a"), "token 2 is empty"),
        (("a", "--tokens", ""), "token 1 is empty"),
        (("--json", "nowhere.json", "--tokens", "a"), "nowhere.json cannot be read as text"),
        (("--grammar", ".", "--tokens", "a"), ". cannot be read as text"),
        (("a", "--tokens", "a", "--out", "no/such/folder.html"), "cannot be written"),
    ],
)
def test_what_cannot_be_meant_is_one_clear_line(show, args: tuple[str, ...], message: str) -> None:  # type: ignore[no-untyped-def]
    code, out, err = show(*args)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_faulty_pattern_points_at_its_fault(show) -> None:  # type: ignore[no-untyped-def]
    code, _, err = show("a(", "--tokens", "a")
    assert code == 2
    assert err.splitlines()[1:] == ["  a(", "   ^"]


def test_smollm2_answers_the_prompt_under_the_constraint(  # type: ignore[no-untyped-def]
    show, smollm2: CausalLM, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("minidecoder.models.load_smollm2", lambda progress=None: smollm2)
    code, out, _ = show(PRICE, "--model", "--prompt", "What does a coffee cost?", "--max-tokens", "9")
    assert code == 0
    (trace,) = traces_in(tmp_path / "minidecoder_run.html")
    assert (trace.vocabulary_size, trace.prompt) == (49_152, "What does a coffee cost?")
    assert re.fullmatch(r"[0-9]+\.?[0-9]{0,2}", trace.text)
    assert trace.is_complete == bool(re.fullmatch(PRICE, trace.text)) == out.startswith("✓")


# ---------------------------------------------------------------- the teaching vocabulary


def test_the_letters_of_a_pattern_are_those_its_machine_can_read() -> None:
    assert letters_of_pattern(PRICE) == sorted([*string.digits, "."])
    assert letters_of_pattern("(é|☕)x?") == ["x", "é", "☕"]
    assert len(letters_of_pattern("(.|\n)*")) == 96, (
        "printable ASCII and the line break, and not all of Unicode"
    )
    assert letters_of_pattern(r"\[a\]") == ["[", "]", "a"]


def test_the_vocabulary_is_eos_the_tokens_and_the_letters_each_once() -> None:
    vocabulary = teaching_vocabulary(["12", "0", "12", "</s>"], ["0", "1"])
    assert vocabulary.token_bytes == (b"", b"12", b"0", b"</s>", b"1")
    assert vocabulary.eos_ids == (0,)
    assert set("ü{") < set(letters_of('root ::= "ü"'))


@given(st.text(st.sampled_from(string.digits + "."), min_size=1, max_size=6), st.integers(1, 5))
def test_any_cut_of_a_text_is_played_token_by_token_or_refused(text: str, cut: int) -> None:
    tokens = [piece for piece in (text[:cut], text[cut:]) if piece]
    vocabulary = teaching_vocabulary(tokens, letters_of_pattern(PRICE))
    constraint = md.compile_regex(PRICE, vocabulary)
    is_prefix = re.fullmatch(r"[0-9]+(\.[0-9]{0,2})?", text) is not None
    if not is_prefix:
        with pytest.raises(UsageError, match="is refused"):
            play(constraint, tokens, len(set(tokens)))
        return
    trace = play(constraint, tokens, len(set(tokens)))
    assert trace.text == text
    assert trace.is_complete == bool(re.fullmatch(PRICE, text)) == trace.steps[-1].is_eos


@given(st.lists(st.text(st.sampled_from(["a", ",", "\\", "\n", "\t", " "]), min_size=1), min_size=1))
def test_every_token_can_be_written_on_the_command_line(tokens: list[str]) -> None:
    def written(token: str) -> str:
        return token.replace("\\", r"\\").replace(",", r"\,").replace("\n", r"\n").replace("\t", r"\t")

    assert split_tokens(",".join(map(written, tokens))) == tokens
