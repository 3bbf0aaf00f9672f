"""A committed notebook as a page: its cells in order, its contents beside it, the way on at its end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import nbformat

from website.code import code_block
from website.markdown import Heading, Prose
from website.outputs import cell_output
from website.page import page
from website.shelf import Shelf, SiteError

__all__ = ["Lesson", "contents", "lesson_page", "read_lessons"]


@dataclass(frozen=True)
class Lesson:
    """`path`: in the repository. `title`: its claim, from the first line."""

    path: str
    title: str
    cells: Sequence[Any]

    @property
    def number(self) -> str:
        return Path(self.path).name[:2]


def read_lessons(root: Path) -> list[Lesson]:
    """All lessons in their order. Raises `SiteError` for a file that is no notebook, and for none."""
    lessons = [_read(path, root) for path in sorted((root / "notebooks").glob("[0-9]*.ipynb"))]
    if not lessons:
        raise SiteError("there is no lesson in notebooks/: nothing to show")
    return lessons


def _read(path: Path, root: Path) -> Lesson:
    name = path.relative_to(root).as_posix()
    try:
        notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
        nbformat.validate(notebook)
    except (ValueError, TypeError, AttributeError, KeyError, nbformat.ValidationError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise SiteError(f"{name} is no notebook that can be read ({reason}): restore it") from None
    title = re.match(r"# (.+)", notebook.cells[0].source) if notebook.cells else None
    if title is None:
        raise SiteError(f"{name}: the first cell must begin with '# ' and the lesson's claim")
    return Lesson(name, title[1], notebook.cells)


def lesson_page(lesson: Lesson, shelf: Shelf, onward: str) -> str:
    """The whole page. `onward`: HTML that stands at its end. Raises `SiteError` naming the cell at fault."""
    address = shelf.address(lesson.path) or ""
    prose = Prose(shelf, lesson.path, address)
    parts = [_cell(cell, number, prose) for number, cell in enumerate(lesson.cells)]
    return page(
        address,
        f"{lesson.number} {lesson.title} – minidecoder",
        "".join(parts) + onward,
        aside=contents(prose.headings),
        kind="lesson",
    )


def _cell(cell: Any, number: int, prose: Prose) -> str:
    """`number`: its place in the notebook, from 0, which an error names."""
    if cell.cell_type == "markdown":
        tags = {"predict", "explain"} & set(cell.metadata.get("tags", ()))
        return f'<div class="prose {" ".join(tags)}">\n{prose.html(cell.source, f"cell {number}")}</div>\n'
    if cell.cell_type == "code":
        try:
            shown = "".join(map(cell_output, cell.outputs))
        except SiteError as error:
            raise SiteError(f"{prose.source}, cell {number}: {error}") from None
        outputs = f'<div class="outputs">{shown}</div>' if shown else ""
        return f'<div class="cell">\n{code_block(cell.source)}{outputs}</div>\n'
    return ""  # raw cells are for other programs


def contents(headings: Sequence[Heading]) -> str:
    """The second-level headings as a list of links; nothing where there are fewer than two."""
    parts = [heading for heading in headings if heading.level == 2]
    if len(parts) < 2:
        return ""
    links = "".join(f'<li><a href="#{escape(part.id)}">{part.html}</a></li>' for part in parts)
    return (
        '<nav class="side" aria-label="Contents"><details class="contents"><summary>Contents</summary>'
        f"<ol>{links}</ol></details></nav>"
    )
