"""Prose as HTML: headings with ids, links that lead to pages of the site, pictures inside the page.

Left out: raw HTML and formulas, which a `SiteError` names, and Jupyter's attachments. Mistune comes with
JupyterLab.
"""

from __future__ import annotations

import base64
import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from itertools import count
from mimetypes import guess_type
from typing import Any

import mistune
from mistune.plugins.math import math
from mistune.plugins.table import table

from website.code import code_block
from website.shelf import Shelf, SiteError, relative

__all__ = ["Heading", "Prose", "slug_of"]


@dataclass(frozen=True)
class Heading:
    level: int
    id: str
    html: str


@dataclass
class Prose:
    """Turns the Markdown of one file into HTML for one page. `headings` grows in the order of the page."""

    shelf: Shelf
    source: str
    page: str
    headings: list[Heading] = field(default_factory=list)

    def html(self, text: str, place: str = "") -> str:
        """`place`: where in the file, for an error. Raises `SiteError`."""
        where = f"{self.source}{', ' + place if place else ''}"
        rendered = mistune.create_markdown(renderer=_Renderer(self, where), plugins=[table, math])(text)
        return str(rendered)

    def heading(self, html: str, level: int) -> str:
        """The id that a heading gets: its words, and a number where another one has them."""
        slug = slug_of(re.sub(r"<[^>]+>|&\w+;", "", html))
        taken, anchor = {known.id for known in self.headings}, slug
        for number in count(1):
            if anchor not in taken:
                break
            anchor = f"{slug}-{number}"
        self.headings.append(Heading(level, anchor, html))
        return anchor


def slug_of(words: str) -> str:
    """Words as an id: letters and digits, with hyphens for blanks."""
    return "-".join(re.sub(r"[^\w\s-]", "", words.lower()).split()) or "part"


class _Renderer(mistune.HTMLRenderer):
    """Mistune's names; what is not here is as Mistune has it."""

    def __init__(self, prose: Prose, where: str) -> None:
        super().__init__(escape=True)
        self.prose, self.where = prose, where

    def heading(self, text: str, level: int, **attrs: Any) -> str:
        anchor = self.prose.heading(text, level)
        return f'<h{level} id="{escape(anchor)}">{text}</h{level}>\n'

    def link(self, text: str, url: str, title: str | None = None) -> str:
        href = self._guarded(self.prose.shelf.link, url)
        return f'<a href="{escape(href)}">{text}</a>' if href else f"{text} (<code>{escape(url)}</code>)"

    def codespan(self, text: str) -> str:
        """A path that has a page leads there."""
        shown, path = f"<code>{escape(text)}</code>", text.rstrip("/")
        if not re.fullmatch(r"\w[\w./-]*/[\w./-]+", text) or ".." in text or not self._is_in_repository(path):
            return shown
        address = self.prose.shelf.address(path)
        return f'<a href="{escape(relative(address, self.prose.page))}">{shown}</a>' if address else shown

    def _is_in_repository(self, path: str) -> bool:
        return (self.prose.shelf.root / path).exists()

    def image(self, text: str, url: str, title: str | None = None) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(self.prose.source), url))
        file = self.prose.shelf.root / path
        if path.startswith(("..", "/")) or not file.is_file():
            raise SiteError(f"{self.where}: the picture {url!r} is no file of the repository")
        data = base64.b64encode(file.read_bytes()).decode()
        kind = guess_type(file.name)[0] or "image/png"
        return f'<img class="picture" src="data:{kind};base64,{data}" alt="{escape(text)}">'

    def block_code(self, code: str, info: str | None = None) -> str:
        return code_block(code, (info or "text").split()[0])

    def table(self, text: str) -> str:
        return f'<div class="wide"><table>{text}</table></div>\n'

    def inline_html(self, html: str) -> str:
        if html.startswith("<!--"):
            return ""
        raise SiteError(
            f"{self.where}: HTML in Markdown ({html.strip()[:40]}) is not shown: write Markdown, or `code`"
        )

    block_html = inline_html

    def inline_math(self, text: str) -> str:
        raise SiteError(
            f"{self.where}: a formula (${text[:40]}$) would need a program from the network: "
            r"write it in words and Unicode, or \$ for a dollar"
        )

    block_math = inline_math

    def _guarded(self, link: Callable[[str, str, str], str | None], url: str) -> str | None:
        try:
            return link(url, self.prose.source, self.prose.page)
        except SiteError as error:
            raise SiteError(f"{self.where}: {error}") from None
