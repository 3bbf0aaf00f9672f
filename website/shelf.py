"""Which file of the repository stands at which address of the site.

A lesson is a page in `lessons/`; another text that is linked becomes a page in `files/`, and is asked for by
being linked (`Shelf.wanted`). What has no page (a folder without a README, answers) is named and not linked.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from minidecoder.errors import MiniDecoderError

__all__ = ["ROOT", "Shelf", "SiteError", "relative"]

ROOT: Final = Path(__file__).resolve().parents[1]
TEXTS: Final = (".md", ".py", ".gbnf", ".json", ".toml", ".yml", ".txt", ".cfg")
ANSWERS: Final = {"instructor", "mutants"}


class SiteError(MiniDecoderError):
    """The site cannot be built: the message names the file, the place in it, and what to do."""


@dataclass
class Shelf:
    """`root`: the repository. `wanted`: the files that pages link to, in the order of asking."""

    root: Path = ROOT
    wanted: list[str] = field(default_factory=list)

    def address(self, path: str) -> str | None:
        """The page of a file or folder, both relative to their roots; None where there is none."""
        target = self.root / path
        if target.is_dir():
            return self.address(f"{path}/README.md") if (target / "README.md").is_file() else None
        if ANSWERS & set(Path(path).parts) or target.suffix not in (*TEXTS, ".ipynb"):
            return None
        if target.suffix == ".ipynb":
            is_lesson = target.parent.name == "notebooks" and target.name[0].isdigit()
            return f"lessons/{target.stem}.html" if is_lesson else None
        if path not in self.wanted:
            self.wanted.append(path)
        return f"files/{path}.html"

    def link(self, url: str, source: str, page: str) -> str | None:
        """A link in the file `source`, as it must be in `page`. None: name the target, do not link it.

        Raises `SiteError` for a link that leads nowhere in the repository.
        """
        parts = urlsplit(url)
        if parts.scheme in ("https", "http", "mailto") or (parts.fragment and not parts.path):
            return url
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), unquote(parts.path)))
        if parts.scheme or parts.netloc or path.startswith(("..", "/")) or not (self.root / path).exists():
            raise SiteError(f"{source}: the link {url!r} leads to no file of the repository: mend it there")
        address = self.address(path)
        if address is None:
            return None
        return relative(address, page) + (f"#{parts.fragment}" if parts.fragment else "")


def relative(address: str, page: str) -> str:
    """The way from one page of the site to another, as an `href` holds it."""
    return posixpath.relpath(address, posixpath.dirname(page) or ".")
