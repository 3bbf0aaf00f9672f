"""All pages, written into a new folder beside the old one, which then takes its place.

A folder that this program did not make is never touched, nor one of its own where something else lies, such
as a repository that publishes it: its own is known by a file in it (`MARKER`). Cost: seconds, and some 200 KB
a lesson.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from minidecoder.lens.trace import Trace
from minidecoder.viz import player
from website import toys
from website.code import code_block
from website.films import Film, find_film, video
from website.index import Rung, index_page, onward, rungs
from website.lessons import Lesson, contents, lesson_page, read_lessons
from website.markdown import Prose
from website.page import page
from website.shelf import ROOT, Shelf, SiteError, relative

__all__ = ["MARKER", "OURS", "Built", "build"]

MARKER: Final = ".minidecoder-site"
OURS: Final = {MARKER, "index.html", "lessons", "files", "films", "play"}
_PLAYS: Final = {
    "play/price.html": "The price alone, as a page for the projector",
    "play/two-prices.html": "The same model twice: left free, and held to the pattern",
    "play/review.html": "A review as JSON, by a schema",
}


@dataclass(frozen=True)
class Built:
    """`report`: lines for the terminal."""

    folder: Path
    report: tuple[str, ...]


def build(out: Path, root: Path = ROOT) -> Built:
    """Write the site of the repository `root` to `out`, whole or not at all.

    Raises `SiteError` for a folder that is not ours, and for a lesson that cannot be shown; `OSError`.
    """
    out = Path(os.path.abspath(out))  # without `..`, behind which another folder may lie once it is made
    _check_ours(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        fresh.chmod(0o755)
        (fresh / MARKER).write_text("made by make site, which may replace this folder\n", encoding="utf-8")
        report = _write_pages(fresh, root)
        _check_ours(out)  # that took seconds
        _put_in_place(fresh, out)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return Built(out, report)


def _check_ours(out: Path) -> None:
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise SiteError(f"{out} is no folder: name another with --out DIR")
    found = {path.name for path in out.iterdir()} if out.is_dir() else set[str]()
    others = sorted(found - OURS if MARKER in found else found)
    if others:
        reason = f"holds files that make site did not write ({others[0]})"
        raise SiteError(f"{out} {reason}: name another folder with --out DIR")


def _put_in_place(fresh: Path, out: Path) -> None:
    """Two renames. If the second one fails, the old folder comes back."""
    old = fresh.with_name(f"{fresh.name}-old")
    if out.exists():
        out.rename(old)
    try:
        fresh.rename(out)
    except BaseException:
        if old.exists():
            old.rename(out)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _write_pages(folder: Path, root: Path) -> tuple[str, ...]:
    """All pages and films. Returns what there is to say of them."""
    shelf, lessons = Shelf(root), read_lessons(root)
    readme = (root / "README.md").read_text(encoding="utf-8")
    ladder = rungs(readme)
    names = {rung.film_stem: _title(rung, lessons) for rung in ladder.values() if rung.film}
    rendered = _copy_films(folder, root, names)
    for lesson in lessons:
        address = shelf.address(lesson.path) or ""
        end = onward(lesson, lessons, ladder.get(lesson.path), _videos(rendered, names, address), shelf)
        _write(folder, address, lesson_page(lesson, shelf, end))
    recording, films = player.recording_of(toys.price()), _videos(rendered, names, "index.html")
    _write(folder, "index.html", index_page(readme, lessons, shelf, recording, _PLAYS, films, names))
    _write_plays(folder)
    _write_files(folder, shelf, ladder.values())
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    lines = [f"{len(lessons)} lessons, {len(list(folder.rglob('*.html')))} pages, {size / 1e6:.1f} MB"]
    missing = [stem for stem in names if stem not in rendered]
    return (*lines, *([f"without {', '.join(missing)}: make videos renders it"] if missing else []))


def _write_plays(folder: Path) -> None:
    (folder / "play").mkdir()
    runs: tuple[Trace | tuple[Trace, Trace], ...] = (toys.price(), toys.two_prices(), toys.review())
    for name, run in zip(_PLAYS, runs, strict=True):
        player.save(run, folder / name)


def _write_files(folder: Path, shelf: Shelf, ladder: Iterable[Rung]) -> None:
    """The files that pages link to, each with a way back."""
    lesson_of = {f"{rung.exercise}/": rung.lesson for rung in ladder if rung.exercise}
    for path in shelf.wanted:  # grows while these pages are made
        lesson = next((lesson_of[it] for it in lesson_of if path.startswith(it)), "")
        _write(folder, shelf.address(path) or "", _file_page(path, shelf, lesson))


def _title(rung: Rung, lessons: list[Lesson]) -> str:
    found = (
        f"{lesson.number} {lesson.title.partition(':')[0]}"
        for lesson in lessons
        if lesson.path == rung.lesson
    )
    return next(found, rung.idea)


def _copy_films(folder: Path, root: Path, stems: Iterable[str]) -> dict[str, Film]:
    """Those that were rendered, by stem; each lies in films/ afterwards."""
    rendered = {stem: film for stem in stems if (film := find_film(root, stem))}
    for stem, film in rendered.items():
        (folder / "films").mkdir(exist_ok=True)
        shutil.copyfile(film.file, folder / "films" / f"{stem}.mp4")
    return rendered


def _videos(rendered: Mapping[str, Film], names: Mapping[str, str], address: str) -> dict[str, str]:
    """Their elements, as the page at `address` needs them."""
    return {
        stem: video(film, names[stem], relative(f"films/{stem}.mp4", address))
        for stem, film in rendered.items()
    }


def _file_page(path: str, shelf: Shelf, lesson: str) -> str:
    """A file of the repository: Markdown as prose, else its text. `lesson`: where it belongs, or ""."""
    address, text = shelf.address(path) or "", (shelf.root / path).read_text(encoding="utf-8")
    back = relative((shelf.address(lesson) if lesson else None) or "index.html", address)
    end = f'<p class="onward"><a href="{back}">{"To the lesson" if lesson else "All lessons"}</a></p>\n'
    if path.endswith(".md"):
        prose = Prose(shelf, path, address)
        body = f'<div class="prose">\n{prose.html(text)}</div>\n{end}'
        return page(address, f"{path} – minidecoder", body, aside=contents(prose.headings), kind="lesson")
    kinds = {".py": "python", ".json": "json", ".toml": "toml", ".yml": "yaml"}
    name = f'<div class="prose"><h1 class="file">{path}</h1></div>'
    shown = code_block(text, kinds.get(Path(path).suffix, "text"))
    return page(address, f"{path} – minidecoder", name + shown + end)


def _write(folder: Path, address: str, text: str) -> None:
    target = folder / address
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8", newline="\n")
