"""The first page: a run to step through, the lessons as the README's ladder has them, the films."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from website.lessons import Lesson
from website.markdown import slug_of
from website.outputs import player_element
from website.page import page
from website.shelf import Shelf, SiteError, relative

__all__ = ["Rung", "index_page", "onward", "rungs"]


@dataclass(frozen=True)
class Rung:
    """A row of the ladder: what belongs to one lesson. Paths are the repository's; "" where there is none."""

    idea: str
    lesson: str
    exercise: str
    film: str
    minutes: str

    @property
    def film_stem(self) -> str:
        return Path(self.film).stem


def rungs(readme: str) -> dict[str, Rung]:
    """The ladder's rows that have a lesson, by its path. Raises `SiteError` if there is no such table."""
    section = readme.partition("\n## The ladder")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("|")
    ]
    head = [name.lower() for name in rows[0]] if rows else []
    wanted = ("idea", "notebook", "exercise", "film", "minutes")
    if not set(wanted) <= set(head):
        raise SiteError(f"README.md: the ladder must be a table with the columns {', '.join(wanted)}")
    found = {}
    for row in rows[2:]:
        cells = dict(zip(head, row, strict=False))
        idea, *paths, minutes = (cells.get(name, "") for name in wanted)
        lesson, exercise, film = (
            target[1] if (target := re.search(r"\]\(([^)]+)\)", x)) else "" for x in paths
        )
        if lesson:
            found[lesson] = Rung(idea, lesson, exercise, film, minutes)
    return found


def onward(
    lesson: Lesson, lessons: Sequence[Lesson], rung: Rung | None, films: Mapping[str, str], shelf: Shelf
) -> str:
    """What stands at the end of a lesson: its exercise, its film, and the lessons before and after."""
    here = shelf.address(lesson.path) or ""
    ways = _ways(rung, shelf, here) if rung else []
    film = films.get(rung.film_stem, "") if rung else ""
    place = lessons.index(lesson)
    for other, word in ((place - 1, "← "), (place + 1, "→ ")):
        if 0 <= other < len(lessons):
            address = relative(shelf.address(lessons[other].path) or "", here)
            ways.append(f'<a href="{escape(address)}">{word}{escape(_plain(lessons[other]))}</a>')
    ways.append(f'<a href="{relative("index.html", here)}">All lessons</a>')
    items = "".join(f"<li>{way}</li>" for way in ways)
    return f'<nav class="onward" aria-label="Where to go from here">{film}<ul>{items}</ul></nav>\n'


def _ways(rung: Rung, shelf: Shelf, here: str) -> list[str]:
    """Links to the exercise, its starter, and the film's transcript, as far as there are such."""
    found = []
    for path, name in ((rung.exercise, "Exercise"), (f"{rung.exercise}/starter.py", "Its file to fill in")):
        if rung.exercise and (shelf.root / path).exists() and (address := shelf.address(path)):
            found.append(f'<a href="{escape(relative(address, here))}">{name}</a>')
    if rung.film and (address := shelf.address("animations/README.md")):
        fragment = _transcript_place(shelf, Path(rung.lesson).name[:2])
        found.append(f'<a href="{escape(relative(address, here))}{fragment}">What the film says</a>')
    return found


def _transcript_place(shelf: Shelf, number: str) -> str:
    """The fragment of the section that tells the film of that lesson."""
    text = (shelf.root / "animations/README.md").read_text(encoding="utf-8")
    heading = re.search(rf"^## ({number} .+)$", text, re.MULTILINE)
    return f"#{slug_of(heading[1])}" if heading else ""


def _plain(lesson: Lesson) -> str:
    return f"{lesson.number} {lesson.title}"


def index_page(
    readme: str,
    lessons: Sequence[Lesson],
    shelf: Shelf,
    recording: Mapping[str, Any],
    plays: Mapping[str, str],
    films: Mapping[str, str],
    film_names: Mapping[str, str],
) -> str:
    """The page. `recording`: the run at its top; `plays`: what each further player shows, by its file;
    `films`: elements by stem, of those that were rendered."""
    claim = re.search(r"\*\*(.+?)\*\*", readme, re.DOTALL)
    if claim is None:
        raise SiteError("README.md: its first bold sentence, which says what this is, is missing")
    ladder = rungs(readme)
    cards = "".join(_card(lesson, ladder.get(lesson.path), shelf) for lesson in lessons)
    more = "".join(f'<li><a href="{escape(name)}">{escape(what)}</a></li>' for name, what in plays.items())
    body = (
        f'<h1 class="claim">{escape(" ".join(claim[1].split()))}</h1>\n'
        '<p class="try">Try it: <kbd>→</kbd> steps, <kbd>←</kbd> goes back, <kbd>Space</kbd> plays. After '
        "<code>12.5</code>, click <code>50</code> and read why it is blocked.</p>\n"
        f"{player_element(recording, '<p>The player needs JavaScript.</p>')}"
        f'<ul class="plays">{more}</ul>\n'
        f'<h2 id="lessons">Lessons</h2>\n<div class="cards">{cards}</div>\n'
        f"{_films(ladder, films, film_names, shelf)}"
    )
    return page("index.html", "minidecoder: constrained decoding, step by step", body, kind="index")


def _card(lesson: Lesson, rung: Rung | None, shelf: Shelf) -> str:
    title, _, rest = lesson.title.partition(": ")
    minutes = f" · {escape(rung.minutes)} minutes" if rung and rung.minutes else ""
    ways = "".join(f"<li>{way}</li>" for way in (_ways(rung, shelf, "index.html") if rung else []))
    more = f"<p>{escape(rest[:1].upper() + rest[1:])}.</p>" if rest else ""
    return (
        f'<article class="card"><p class="number">{lesson.number}{minutes}</p>'
        f'<h3><a href="{escape(shelf.address(lesson.path) or "")}">{escape(title)}</a></h3>{more}'
        f"<ul>{ways}</ul></article>\n"
    )


def _films(
    ladder: Mapping[str, Rung], films: Mapping[str, str], names: Mapping[str, str], shelf: Shelf
) -> str:
    stems = [rung.film_stem for rung in ladder.values() if rung.film]
    if not stems:
        return ""
    shown = "".join(
        f"<figure>{films[stem]}<figcaption>{escape(names[stem])}</figcaption></figure>\n"
        for stem in stems
        if stem in films
    )
    missing = [names[stem] for stem in stems if stem not in films]
    note = (
        f"<p><code>make videos</code> renders {_listed(missing)}; then <code>make site</code> again.</p>"
        if missing
        else ""
    )
    transcript = shelf.address("animations/README.md")
    said = f'<p><a href="{escape(transcript)}">What the films say, in words</a></p>' if transcript else ""
    return f'<h2 id="films">Films</h2>\n<div class="films">{shown}</div>{note}{said}\n'


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"<cite>{escape(name)}</cite>" for name in names)
