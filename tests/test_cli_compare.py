"""`compare`, for real: what SmolLM2 writes under a pattern matches it, at any temperature."""

from __future__ import annotations

import re
import socket

import numpy as np
import pytest

from minidecoder.cli import compare
from minidecoder.cli.main import main
from minidecoder.errors import UsageError
from minidecoder.models import CausalLM
from minidecoder.models.batched import BatchedLM


@pytest.fixture
def run(smollm2: CausalLM, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """Run the command in this process, with the model already loaded and no network."""

    def no_network(*args: object) -> None:
        raise AssertionError("compare must not open a connection")

    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.setattr(socket.socket, "connect", no_network)
    monkeypatch.setattr("minidecoder.models.load_smollm2", lambda progress=None: smollm2)

    def run(*args: str) -> tuple[int, str, str]:
        code = main(["compare", *args])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_no_constrained_answer_is_illegal_and_the_free_share_is_printed(run) -> None:  # type: ignore[no-untyped-def]
    code, out, err = run("--samples", "20", "--temperature", "1.5")
    assert code == 0
    table = {line[:13].strip(): line.split() for line in out.splitlines()[1:5]}
    assert list(table) == ["phone number", "date", "label", "all"]
    assert table["all"][1:3] == ["20", "20"]
    assert "7 (100.0 %)" in out
    assert "6 (100.0 %)" in out
    free = re.search(r"^all .*\) +(\d+) \(([\d.]+) %\)$", out, re.M)
    assert free
    assert int(free[1]) < 20
    assert float(free[2]) == pytest.approx(100 * int(free[1]) / 20, abs=0.05)
    assert "✓ 0 of 20 constrained answers are illegal" in out
    assert "loading SmolLM2" in err


def test_an_illegal_answer_is_counted_and_ends_with_1(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """The judge is not the machine: told another pattern, it finds every answer illegal."""
    monkeypatch.setattr(compare.re, "fullmatch", lambda pattern, text: None)
    code, out, _ = run("--samples", "3")
    assert code == 1
    assert "✕ 3 constrained answers are illegal" in out


@pytest.mark.parametrize(
    "args", [["--samples", "2"], ["--samples", "x"], ["--temperature", "-1"], ["--seed", "-1"]]
)
def test_bad_input_is_one_line_before_the_model_is_loaded(
    args: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("minidecoder.models.load_smollm2", lambda progress=None: pytest.fail("loaded"))
    try:
        code = main(["compare", *args])
    except SystemExit as left:
        code = int(left.code or 0)
    assert code == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_rows_of_a_batch_are_what_single_passes_give(smollm2: CausalLM) -> None:
    prompt = smollm2.encode_chat("Name a day.")
    batch = BatchedLM(smollm2)
    first = batch.begin(prompt, rows=3)
    alone = smollm2.next_logits(prompt)
    assert np.abs(first - alone).max() < 1e-3
    ids = [int(i) for i in np.argsort(-alone)[:3]]
    second = batch.step(ids)
    for row, token_id in zip(second, ids, strict=True):
        assert np.abs(row - smollm2.next_logits([*prompt, token_id])).max() < 1e-3
    batch.keep([2, 0])
    third = batch.step([ids[1], ids[2]])
    for row, past in zip(third, ([ids[2], ids[1]], [ids[0], ids[2]]), strict=True):
        assert np.abs(row - smollm2.next_logits([*prompt, *past])).max() < 1e-3


def test_a_batch_refuses_what_does_not_fit(smollm2: CausalLM) -> None:
    batch = BatchedLM(smollm2)
    for prompt, rows in (([], 2), ([1], 0)):
        with pytest.raises(UsageError, match="both must be at least 1"):
            batch.begin(prompt, rows)
    batch.begin([1, 2], rows=2)
    with pytest.raises(UsageError, match="1 tokens for 2 rows"):
        batch.step([5])
    for rows in ([], [2], [-1]):
        with pytest.raises(UsageError, match="one or more of 0 to 1"):
            batch.keep(rows)
    with pytest.raises(UsageError, match="must be of type CausalLM"):
        BatchedLM(None)  # type: ignore[arg-type]
