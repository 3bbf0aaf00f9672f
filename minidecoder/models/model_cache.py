"""A folder that is made once, by one process, and is whole or not there at all.

`ready_folder` writes into a temporary folder beside the target, flushes it to the disk, adds a manifest
of sizes and checksums, and renames it. Two processes at once: a lock file, which the system releases
when its holder ends, however it ends, makes the second wait and then use the first one's work. What a
killed process left behind is cleared by the next one; a damaged folder is noticed and made again.

Left out: what is written (`smollm2`). A full or read-only disk shows as the `OSError` that it is.
Cost: one read of all files for each check (0.13 s for 270 MB).
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import secrets
import shutil
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = [
    "cache_root",
    "exclusive",
    "folder_bytes",
    "is_ours",
    "is_whole",
    "leftovers",
    "lock_file",
    "ready_folder",
]

MANIFEST = "manifest.json"
_SUFFIXES = {".json", ".jinja", ".safetensors"}  # all that a finished folder holds
_POLL_S = 0.2


def cache_root(environment: Mapping[str, str] | None = None, platform: str = sys.platform) -> Path:
    """Where this user's caches lie: `MINIDECODER_CACHE`, else the platform's place for caches.

    `environment` stands in for `os.environ`. Raises `OSError` where the user has no home folder.
    """
    variables = os.environ if environment is None else environment
    if chosen := variables.get("MINIDECODER_CACHE"):
        return _from_home(Path(chosen)).absolute()
    named = {"win32": "LOCALAPPDATA", "darwin": ""}.get(platform, "XDG_CACHE_HOME")
    place = Path(variables.get(named, ""))
    if place.is_absolute():  # the XDG rules: a relative path is to be ignored
        return place / "minidecoder"
    usual = {"win32": "AppData/Local", "darwin": "Library/Caches"}.get(platform, ".cache")
    return _from_home(Path("~")) / usual / "minidecoder"


def _from_home(path: Path) -> Path:
    """`path` with `~` and `~user` replaced. Raises `OSError` where that home folder is not known."""
    try:
        return path.expanduser()
    except RuntimeError as fault:
        note = "no such home folder; set MINIDECODER_CACHE to another"
        raise FileNotFoundError(errno.ENOENT, note, str(path)) from fault


def ready_folder(
    target: Path, write: Callable[[Path], None], *, source: str, room: int, say: Callable[[str], None]
) -> Path:
    """`target`, made by `write(folder)` unless it is there and whole already.

    `source` goes into the manifest; `room` is the bytes that `write` needs; `say` hears that another
    process is waited for. Raises `OSError` where the disk is full, read-only or cannot lock.
    """
    if is_whole(target):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(lock_file(target), say):
        if not is_whole(target):  # the process that we waited for may have made it
            _clear(target)
            if shutil.disk_usage(target.parent).free < room:  # known now, rather than at the end
                raise OSError(errno.ENOSPC, f"{room >> 20} MB are needed", str(target.parent))
            _publish(target, write, source)
    return target


def is_whole(folder: Path) -> bool:
    """Whether the files of `folder` are those of its manifest, by size and CRC-32 (damage, not malice)."""
    try:
        files = _manifest(folder)["files"]
        return bool(files) and all(
            # Sizes first: they are free, and a file that was cut short is not read.
            (folder / name).stat().st_size == size and _crc32(folder / name) == checksum
            for name, (size, checksum) in files.items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


@contextlib.contextmanager
def exclusive(path: Path, say: Callable[[str], None], patience_s: float = 600.0) -> Iterator[None]:
    """Hold the lock file `path`; it stays on the disk, empty, because deleting it would be a race.

    Raises `TimeoutError` (an `OSError`) after `patience_s` seconds of waiting.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        gives_up = time.monotonic() + patience_s
        told = False
        while not _try_lock(handle):
            if not told:
                say(f"another process is at work on {path.stem}; waiting for it")
                told = True
            if time.monotonic() > gives_up:
                raise TimeoutError(
                    errno.ETIMEDOUT, f"held by another process for {patience_s:.0f} s", str(path)
                )
            time.sleep(_POLL_S)
        yield
    finally:
        os.close(handle)  # which gives the lock back, as does the end of the process


def lock_file(target: Path) -> Path:
    """The lock of `target`, beside it."""
    return target.with_name(f"{target.name}.lock")


def leftovers(target: Path) -> list[Path]:
    """Temporary folders of `target` whose process was stopped. To be trusted only under its lock."""
    name = re.compile(rf"\.{re.escape(target.name)}\.building-\d+-[0-9a-f]+")
    found = target.parent.glob(f".{target.name}.building-*")
    return sorted(path for path in found if name.fullmatch(path.name) and _is_real_folder(path))


def is_ours(folder: Path) -> bool:
    """Whether `folder` was made here: by what lies in it, and by its manifest, unless that is lost.

    Ask it only of names that were given here. Anything else under such a name is never deleted.
    """
    if not _is_real_folder(folder) or not all(map(_is_our_kind, folder.iterdir())):
        return False  # also where somebody has put a file of their own beside ours
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        return bool(_manifest(folder)["made_by"] == "minidecoder")
    return True


def folder_bytes(folder: Path) -> int:
    """Bytes of the files in `folder`; 0 where there is none."""
    return sum(path.stat().st_size for path in folder.glob("*") if path.is_file())


def _is_real_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _is_our_kind(path: Path) -> bool:
    return path.is_file() and path.suffix in _SUFFIXES and not path.is_symlink()


def _publish(target: Path, write: Callable[[Path], None], source: str) -> None:
    """Make the folder under a temporary name on the same disk, and rename it: there is no half-way."""
    # os.mkdir and not mkdtemp, which would lock out those with whom a lecturer shares one cache.
    building = target.with_name(f".{target.name}.building-{os.getpid()}-{secrets.token_hex(4)}")
    building.mkdir()
    try:
        write(building)
        files = {path.name: (path.stat().st_size, _crc32(path)) for path in sorted(building.iterdir())}
        manifest = {"made_by": "minidecoder", "source": source, "files": files}
        (building / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        for path in building.iterdir():
            path.chmod(0o644)
            _flush(path)
        building.rename(target)
        _flush(target.parent)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _manifest(folder: Path) -> Any:
    return json.loads((folder / MANIFEST).read_text(encoding="utf-8"))


def _clear(target: Path) -> None:
    """Under the lock: delete what stopped processes left, and a target that is not whole."""
    for folder in leftovers(target):
        shutil.rmtree(folder, ignore_errors=True)
    if target.exists() or target.is_symlink():
        if not is_ours(target):
            raise FileExistsError(errno.EEXIST, "in the way, and not made by minidecoder", str(target))
        shutil.rmtree(target)


def _flush(path: Path) -> None:
    """Make the system write `path` to the disk, so that a power cut cannot follow the rename with zeros."""
    if path.is_dir() and sys.platform == "win32":
        return  # Windows cannot flush a folder
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _crc32(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            checksum = zlib.crc32(block, checksum)
    return checksum


def _try_lock(handle: int) -> bool:
    """Lock the open file without waiting; False where another has it."""
    # subtle: flock and not lockf, whose locks belong to the process: two threads would both get it.
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # the one of POSIX, the other of Windows
        return False
    return True
