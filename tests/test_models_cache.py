"""The folder that is made once: whole or absent, whoever is killed, however many come at once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from minidecoder.models import model_cache
from minidecoder.models.model_cache import (
    cache_root,
    exclusive,
    is_ours,
    is_whole,
    leftovers,
    lock_file,
    ready_folder,
)

ROOT = Path(__file__).parents[1]
SETTINGS: dict[str, Any] = {"source": "test 1", "room": 1000, "say": lambda note: None}


class Writer:
    """Writes two small files, and counts how often it was asked to."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, folder: Path) -> None:
        self.calls += 1
        (folder / "weights.safetensors").write_bytes(b"0123456789" * 50)
        (folder / "config.json").write_text("{}")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "toy-1"


def contents(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_folder_is_made_once(target: Path) -> None:
    write = Writer()
    for _ in range(3):
        assert ready_folder(target, write, **SETTINGS) == target
    assert write.calls == 1
    assert contents(target) == {"weights.safetensors", "config.json", "manifest.json"}
    assert contents(target.parent) == {"toy-1", "toy-1.lock"}


def damage_by_cutting(target: Path) -> None:
    with (target / "weights.safetensors").open("r+b") as file:
        file.truncate(100)


def damage_one_byte(target: Path) -> None:
    with (target / "weights.safetensors").open("r+b") as file:
        file.seek(77)
        file.write(b"X")


def damage_by_deleting(target: Path) -> None:
    (target / "config.json").unlink()


def damage_manifest(target: Path) -> None:
    (target / "manifest.json").write_text('{"files": {"weights.safe')


def lose_manifest(target: Path) -> None:
    (target / "manifest.json").unlink()


@pytest.mark.parametrize(
    "damage", [damage_by_cutting, damage_one_byte, damage_by_deleting, damage_manifest, lose_manifest]
)
def test_a_damaged_folder_is_noticed_and_made_again(target: Path, damage: Any) -> None:
    write = Writer()
    ready_folder(target, write, **SETTINGS)
    damage(target)
    assert not is_whole(target)
    ready_folder(target, write, **SETTINGS)
    assert is_whole(target)
    assert write.calls == 2


@pytest.mark.parametrize(
    "text", ["", "[]", "3", '{"files": {}}', '{"files": 3}', '{"files": {"a": 3}}', "\udcff"]
)
def test_a_manifest_that_says_nothing_makes_no_folder_whole(target: Path, text: str) -> None:
    target.mkdir(parents=True)
    (target / "manifest.json").write_text(text, encoding="utf-8", errors="surrogateescape")
    assert not is_whole(target)


def test_a_folder_of_somebody_else_is_in_the_way_and_stays(target: Path) -> None:
    target.mkdir(parents=True)
    (target / "thesis.txt").write_text("four years of work")
    with pytest.raises(FileExistsError, match="not made by minidecoder"):
        ready_folder(target, Writer(), **SETTINGS)
    assert (target / "thesis.txt").read_text() == "four years of work"


def test_a_link_is_not_ours(target: Path, tmp_path: Path) -> None:
    ready_folder(target, Writer(), **SETTINGS)
    link = tmp_path / "link"
    try:
        link.symlink_to(target, target_is_directory=True)
    except OSError as fault:
        pytest.skip(f"no symbolic links here: {fault}")
    assert is_ours(target)
    assert not is_ours(link)


def test_a_write_that_fails_leaves_nothing_behind(target: Path) -> None:
    def full_disk(folder: Path) -> None:
        (folder / "weights.safetensors").write_bytes(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        ready_folder(target, full_disk, **SETTINGS)
    assert contents(target.parent) == {"toy-1.lock"}
    assert is_whole(ready_folder(target, Writer(), **SETTINGS))


def test_a_disk_without_room_is_noticed_before_the_work(target: Path) -> None:
    write = Writer()
    with pytest.raises(OSError, match=r"needed"):
        ready_folder(target, write, **{**SETTINGS, "room": 1 << 60})
    assert write.calls == 0


def test_a_place_that_cannot_be_written_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")  # where a folder would have to be; works for root too
    with pytest.raises(OSError, match="file"):
        ready_folder(tmp_path / "file" / "toy-1", Writer(), **SETTINGS)


def test_a_whole_folder_is_used_although_nothing_can_be_written(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready_folder(target, Writer(), **SETTINGS)
    monkeypatch.setattr(model_cache, "exclusive", lambda *_: pytest.fail("took the lock"))
    assert ready_folder(target, Writer(), **SETTINGS) == target


def test_others_may_read_what_was_made(target: Path) -> None:
    ready_folder(target, Writer(), **SETTINGS)
    if os.name == "posix":
        assert all(path.stat().st_mode & 0o044 == 0o044 for path in target.iterdir())


CHILD = """
import sys, time, pathlib
from minidecoder.models.model_cache import ready_folder

def write(folder):
    (folder / "weights.safetensors").write_bytes(b"0" * 500)
    print("writing", flush=True)
    time.sleep(float(sys.argv[2]))
    (folder / "config.json").write_text("{}")

ready_folder(pathlib.Path(sys.argv[1]), write, source="child", room=1, say=lambda note: print(note, flush=True))
print("done", flush=True)
"""


def child(target: Path, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD, str(target), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_of_two_processes_one_writes_and_the_other_waits_for_it(target: Path) -> None:
    first = child(target, 1.5)
    assert first_line(first) == "writing"
    second = child(target, 0)
    assert first_line(second) == "another process is at work on toy-1; waiting for it"
    assert [process.communicate(timeout=60)[0].strip() for process in (first, second)] == ["done", "done"]
    assert is_whole(target)
    assert contents(target.parent) == {"toy-1", "toy-1.lock"}


def test_a_killed_process_releases_its_lock_and_its_remains_are_cleared(target: Path) -> None:
    process = child(target, 600)
    assert first_line(process) == "writing"
    process.kill()
    process.communicate(timeout=60)
    assert len(leftovers(target)) == 1
    assert not target.exists()
    write = Writer()
    assert is_whole(ready_folder(target, write, **SETTINGS))
    assert write.calls == 1
    assert leftovers(target) == []


def test_two_threads_of_one_process_exclude_each_other(target: Path) -> None:
    write = Writer()

    def slow(folder: Path) -> None:
        time.sleep(0.3)
        write(folder)

    threads = [threading.Thread(target=ready_folder, args=(target, slow), kwargs=SETTINGS) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert is_whole(target)
    assert write.calls == 1


def test_who_waits_too_long_is_told_so(tmp_path: Path) -> None:
    said: list[str] = []
    lock = lock_file(tmp_path / "toy-1")
    with (
        exclusive(lock, said.append),
        pytest.raises(TimeoutError, match="held by another process"),
        exclusive(lock, said.append, patience_s=0.3),
    ):
        pytest.fail("two holders of one lock")
    assert said == ["another process is at work on toy-1; waiting for it"]
    with exclusive(lock, said.append, patience_s=0):
        pass


HOME = {"linux": ".cache", "darwin": "Library/Caches", "win32": "AppData/Local"}


@pytest.mark.parametrize("platform", HOME)
def test_caches_lie_where_the_platform_keeps_them(platform: str) -> None:
    assert cache_root({}, platform) == Path.home() / HOME[platform] / "minidecoder"


def test_the_platforms_own_variables_are_respected(tmp_path: Path) -> None:
    place = {"XDG_CACHE_HOME": str(tmp_path / "x"), "LOCALAPPDATA": str(tmp_path / "l")}
    assert cache_root(place, "linux") == tmp_path / "x" / "minidecoder"
    assert cache_root(place, "win32") == tmp_path / "l" / "minidecoder"
    assert cache_root(place, "darwin") == Path.home() / "Library/Caches/minidecoder"
    assert cache_root({"XDG_CACHE_HOME": "relative"}, "linux") == Path.home() / ".cache/minidecoder"


def test_our_own_variable_wins_everywhere(tmp_path: Path) -> None:
    place = {"MINIDECODER_CACHE": str(tmp_path), "XDG_CACHE_HOME": "/elsewhere"}
    assert {cache_root(place, platform) for platform in HOME} == {tmp_path}
    assert cache_root({"MINIDECODER_CACHE": "~/models"}, "linux") == Path.home() / "models"
    assert cache_root({"MINIDECODER_CACHE": ""}, "linux") == Path.home() / ".cache/minidecoder"


def test_a_user_without_a_home_folder_gets_an_os_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home(path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", no_home)
    with pytest.raises(OSError, match="MINIDECODER_CACHE"):
        cache_root({}, "linux")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no homes of others")
def test_the_home_of_an_unknown_user_is_an_os_error_that_names_it() -> None:
    with pytest.raises(OSError, match=r"home folder.*MINIDECODER_CACHE.*~no-such-user/models"):
        cache_root({"MINIDECODER_CACHE": "~no-such-user/models"}, "linux")


def test_a_folder_with_somebodys_file_beside_ours_is_not_ours_any_more(target: Path) -> None:
    ready_folder(target, Writer(), **SETTINGS)
    assert is_ours(target)
    (target / "notes.txt").write_text("four years of work")
    assert not is_ours(target)


def test_only_temporary_names_that_are_given_here_are_leftovers(target: Path) -> None:
    for tail in ("building-12-0a1b2c3d", "building-mine", "building-12-0a1b2c3d-copy"):
        (target.parent / f".{target.name}.{tail}").mkdir(parents=True)
    assert [path.name for path in leftovers(target)] == [f".{target.name}.building-12-0a1b2c3d"]
