"""The table in terminals of every width, from a run of a toy model: no torch, a few milliseconds."""

from __future__ import annotations

import pytest

from minidecoder.api import Run, compile_regex, generate
from minidecoder.cli.screen import Screen
from minidecoder.models import UniformModel
from minidecoder.tokens.vocabulary import Vocabulary

pytest.importorskip("rich", reason="needs rich")

TOKENS = [
    "</s>",
    '{"',
    "product",
    '": "',
    "a_name_of_twenty_characters",
    '"}',
    "☕",
    *map(str, range(12_000)),
]


@pytest.fixture(scope="module")
def toy_run() -> Run:
    vocabulary = Vocabulary.from_tokens(TOKENS, eos="</s>")
    constraint = compile_regex(r'\{"product": "(a_name_of_twenty_characters)[0-9]{2}"\}', vocabulary)
    return generate(UniformModel(len(TOKENS)), [1], constraint=constraint, max_tokens=12)


def table(run: Run, columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    Screen().show_steps(run)
    return capsys.readouterr().out


@pytest.mark.parametrize("columns", [24, 40, 60, 80, 100])
def test_the_table_fits_the_terminal_with_a_line_per_token(
    toy_run: Run,
    columns: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = table(toy_run, columns, monkeypatch, capsys)
    rows = out.rpartition("─")[2].strip().splitlines()
    assert len(rows) == len(toy_run.steps)
    assert max(map(len, out.splitlines())) <= columns


def test_a_narrow_terminal_drops_columns_and_cuts_no_number(
    toy_run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = {columns: table(toy_run, columns, monkeypatch, capsys) for columns in (40, 60, 80)}
    for columns, least in (("state", 60), ("of 12,007", 60), ("through", 80), ("mass", 40), ("token", 40)):
        assert [width for width in shown if columns in shown[width]] == [w for w in shown if w >= least]
    assert all("only EOS" in out for out in shown.values())
    assert "a_name_of" in shown[60]


def test_columns_of_zero_mean_that_the_terminal_does_not_know(
    toy_run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "mass" in table(toy_run, 0, monkeypatch, capsys)
