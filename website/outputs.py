"""What a cell printed, as HTML: the player where a run was recorded, else pictures, else text.

A drawing stands in the page as it is, with the page's colours for those of the light theme; every other
picture as data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from html import escape
from typing import Any, Final

from minidecoder.errors import MiniDecoderError, UsageError
from minidecoder.lens.trace import Trace
from minidecoder.viz.theme import PALETTES
from website.shelf import SiteError

__all__ = ["RECORDING", "cell_output", "player_element"]

RECORDING: Final = "application/vnd.minidecoder.recording+json"
PNG, SVG = "image/png", "image/svg+xml"


def cell_output(output: Mapping[str, Any]) -> str:
    """One output of a notebook. A kind that cannot be shown falls back to its text.

    Raises `SiteError` for a recording that this version of the player cannot read.
    """
    if output["output_type"] == "stream":
        return _text(output["text"])
    if output["output_type"] == "error":
        return _text("\n".join(output["traceback"]))
    data, about = output["data"], output.get("metadata", {})
    if RECORDING in data:
        _check(data[RECORDING])
        fallback = _png(data, about) if PNG in data else _text(data.get("text/plain", ""))
        return player_element(data[RECORDING], fallback)
    if SVG in data:
        return _drawing(data[SVG])
    if PNG in data:
        return _png(data, about)
    if "text/html" in data:
        return f'<div class="wide">{data["text/html"]}</div>\n'
    return _text(data.get("text/plain", ""))


def player_element(recording: Mapping[str, Any], fallback: str) -> str:
    """A place for a live player, and what stands there where no script runs."""
    # subtle: inside a script element only `<` can end it or open a comment; JSON may always write it \u003c.
    data = json.dumps(recording, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return (
        f'<div class="player"><noscript>{fallback}</noscript>'
        f'<script type="application/json">{data}</script></div>\n'
    )


def _check(recording: Any) -> None:
    try:
        for run in (recording, *filter(None, [recording.get("other")])):
            trace = Trace.from_json(json.dumps(run["trace"]))
            if len(run["shown"]) != len(trace.steps) or not isinstance(run["svg"], str):
                raise UsageError("its parts do not belong together")
    except (AttributeError, KeyError, TypeError, MiniDecoderError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise SiteError(f"a recording cannot be read ({reason}): make notebooks stores it anew") from None


def _png(data: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    size = about.get(PNG, {})
    shown = "".join(
        f' {name}="{int(size[name])}"' for name in ("width", "height") if _is_whole(size.get(name))
    )
    return _picture(PNG, "".join(data[PNG].split()), str(size.get("alt", "")), "shot", shown)


def _is_whole(size: object) -> bool:
    return isinstance(size, int | float) and 0 < size < 1e6


def _picture(kind: str, data: str, alt: str, name: str, size: str = "") -> str:
    return f'<p class="{name}"><img src="data:{kind};base64,{escape(data)}" alt="{escape(alt)}"{size}></p>\n'


def _drawing(svg: str) -> str:
    """Without ids, which a second drawing would have too, unless something in it refers to one."""
    svg = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>", "", svg, flags=re.DOTALL).strip()
    if "#" not in re.sub(r"#[0-9a-fA-F]{6}\b", "", svg):
        svg = re.sub(r'(<[^>]*?) id="[^"]*"', r"\1", svg)
    for role, colour in asdict(PALETTES["light"]).items():
        svg = re.sub(f'"{colour}"', f'"var(--{role.replace("_", "-")})"', svg, flags=re.IGNORECASE)
    return f'<div class="drawing wide">{svg}</div>\n'


def _text(text: str) -> str:
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text).rstrip("\n")
    return f'<pre class="out">{escape(plain)}</pre>\n' if plain else ""
