"""The frame around every page: head, policy, theme button, scripts. All of it is inline.

The policy names each script by its hash, so that nothing else runs, whatever a page shows.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import Final

from minidecoder.viz import player
from minidecoder.viz.theme import css_variables
from website.shelf import relative

__all__ = ["page"]

_HERE: Final = files("website")
_PLAYERS: Final = """
for (const host of document.querySelectorAll(".player:has(> script)")) {
  const recording = JSON.parse(host.querySelector("script").textContent);
  render({ model: { get: () => recording }, el: host });
}
const isFirstPage = document.body.className === "index" && !location.hash;
if (isFirstPage) document.querySelector(".mdp").focus({ preventScroll: true });
"""


def page(address: str, title: str, body: str, *, aside: str = "", kind: str = "text") -> str:
    """The whole page that stands at `address`. `aside`: its contents; `kind`: a class for the layout."""
    scripts = {"theme": _source("theme.js"), "module": _module() if 'class="player"' in body else ""}
    hashes = " ".join(f"'sha256-{_hash(script)}'" for script in scripts.values() if script)
    parts = {
        "policy": f"default-src 'none'; style-src 'unsafe-inline'; script-src {hashes}; img-src data:; "
        "media-src 'self' file: data:; base-uri 'none'; form-action 'none'",
        "title": escape(title),
        "style": _style(with_player=bool(scripts["module"])),
        "theme": scripts["theme"],
        "kind": kind,
        "home": relative("index.html", address),
        "aside": aside,
        "body": body,
        "module": f'<script type="module">{scripts["module"]}</script>' if scripts["module"] else "",
    }
    return _fill(_source("page.html"), parts)


def _fill(template: str, parts: Mapping[str, str]) -> str:
    """Put the parts in their places; a part that looks like a place stays as it is."""
    pieces = template.split("%%")
    return "".join(parts[piece] if i % 2 else piece for i, piece in enumerate(pieces))


@cache
def _source(name: str) -> str:
    return _HERE.joinpath(name).read_text(encoding="utf-8")


@cache
def _module() -> str:
    return player.player_module() + _PLAYERS


@cache
def _style(with_player: bool) -> str:
    light, dark = css_variables(":root").strip().splitlines()
    without_scripts = dark.replace(":root[data-theme=dark]", ":root:not([data-theme])")
    parts = [light, f"@media (prefers-color-scheme: dark) {{ {without_scripts} }}", dark, _source("site.css")]
    return "\n".join([*parts, player.player_style()] if with_player else parts)


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
