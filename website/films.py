"""The films that were rendered (`make videos`): the file, its captions and a still, for a `<video>` element.

Captions stand in the page as data: a browser reads none from another file without a server. The still needs
PyAV and Pillow, which come with manim; without them the film has none.
"""

from __future__ import annotations

import base64
import io
import re
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

__all__ = ["Film", "find_film", "video", "vtt"]


@dataclass(frozen=True)
class Film:
    file: Path
    captions: str  # WebVTT, or ""
    poster: str  # a data address, or ""


def find_film(root: Path, stem: str) -> Film | None:
    """The film of `animations/<stem>.py` in the best quality that lies in media/; None if not rendered."""
    found = list((root / "media" / "videos" / stem).glob("*p*/*.mp4"))
    if not found:
        return None
    best = max(found, key=lambda file: (_lines(file.parent.name), file.stat().st_mtime, file.name))
    srt = best.with_suffix(".srt")
    return Film(best, vtt(srt.read_text(encoding="utf-8")) if srt.is_file() else "", _poster(best))


def _lines(quality: str) -> int:
    number = re.match(r"\d+", quality)
    return int(number[0]) if number else 0


def vtt(srt: str) -> str:
    """SubRip as WebVTT: another first line, and points for the commas in its times."""
    stamp = r"(\d\d:\d\d:\d\d),(\d{3})"
    lines = (re.sub(stamp, r"\1.\2", line) if "-->" in line else line for line in srt.strip().splitlines())
    return "WEBVTT\n\n" + "\n".join(lines) + "\n"


def video(film: Film, title: str, href: str) -> str:
    """The element that plays a film from `href`."""
    poster = f' poster="{film.poster}"' if film.poster else ""
    data = base64.b64encode(film.captions.encode()).decode()
    source = f"data:text/vtt;charset=utf-8;base64,{data}"
    track = f'<track kind="captions" srclang="en" label="English" default src="{source}">'
    opening = f'<video controls preload="none" aria-label="{escape(f"Film: {title}")}"{poster}'
    return f'{opening} src="{escape(href)}">{track if film.captions else ""}</video>'


def _poster(file: Path) -> str:
    """A frame from a third of the way, as JPEG."""
    try:
        import av
    except ImportError:
        return ""
    with av.open(str(file)) as container:
        if container.duration:
            container.seek(container.duration // 3)
        frame = next(container.decode(video=0), None)
        picture = io.BytesIO()
        if frame is None:
            return ""
        still: Any = frame.to_image()  # type: ignore[no-untyped-call]
        still.resize((960, 540)).save(picture, "jpeg", quality=80)
    return "data:image/jpeg;base64," + base64.b64encode(picture.getvalue()).decode()
