"""Where the output goes: ASCII terminals, closed pipes and streams, full disks, and the exit code of each."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import IO, Any

import pytest

from minidecoder.cli import demo
from minidecoder.cli.main import main
from minidecoder.cli.screen import Screen
from minidecoder.models import smollm2_files
from minidecoder.models.smollm2_files import Places


@pytest.fixture(autouse=True)
def places(monkeypatch: pytest.MonkeyPatch) -> None:
    """`model where` prints two lines and reads nothing."""
    monkeypatch.setattr(smollm2_files, "where", lambda: Places(None, 0, Path("cache/☕"), 0))


def closed_pipe() -> IO[str]:
    """A stream whose reader has left."""
    reader, writer = os.pipe()
    os.close(reader)
    return os.fdopen(writer, "w", encoding="utf-8")


def full_disk() -> IO[str]:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    return open("/dev/full", "w", encoding="utf-8")  # closed by the test


def test_a_character_that_the_encoding_lacks_becomes_a_question_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="strict")
    monkeypatch.setattr(sys, "stdout", out)
    assert main(["model", "where"]) == 0
    assert b"cache/? (not made yet" in out.buffer.getvalue()  # type: ignore[attr-defined]


def test_a_pipe_that_nobody_reads_is_141(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with closed_pipe() as out:
        monkeypatch.setattr(sys, "stdout", out)
        assert main(["model", "where"]) == 141
    assert capsys.readouterr().err == ""


def test_help_that_nobody_reads_is_quiet_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with closed_pipe() as out:
        monkeypatch.setattr(sys, "stdout", out)
        try:
            code: Any = main(["--help"])
        except SystemExit as left:  # argparse swallows the fault in newer Pythons
            code = left.code
    assert code in (0, 141)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows reports a closed pipe differently")
def test_rich_leaves_a_closed_pipe_to_the_dispatcher(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")

    def show(args: object) -> int:
        Screen().say("hello")
        return 0

    monkeypatch.setattr(demo, "run", show)
    with closed_pipe() as out:
        monkeypatch.setattr(sys, "stdout", out)
        assert main(["demo"]) == 141


def test_a_full_disk_is_one_line_and_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with full_disk() as out:
        monkeypatch.setattr(sys, "stdout", out)
        assert main(["model", "where"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("minidecoder: the system refuses to read or write: [Errno 28]")
    assert len(err.splitlines()) == 1


def test_a_full_disk_for_messages_still_gives_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    with full_disk() as err:
        monkeypatch.setattr(sys, "stderr", err)
        assert main(["demo", "--max-tokens", "0"]) == 2


def test_closed_streams_are_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["model", "where"]) == 0
    assert main(["demo", "--max-tokens", "0"]) == 2
    for stream in (sys.stdout, sys.stderr):
        assert isinstance(stream, io.TextIOWrapper)  # of the null device; the next line closes it
        stream.close()
