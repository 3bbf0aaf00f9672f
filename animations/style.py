"""The look of every film: colours by role, type sizes, and the grid of the frame.

Colours are the dark palette of `minidecoder.viz.theme`; a scene names a role, never a colour.
Sizes are manim font sizes: 18 is 24 pt on a frame 1080 pixels high, and nothing is smaller.

Left out: shapes (`mobjects`) and motion (`film`).
"""

from __future__ import annotations

import re
from typing import Final

from manim import DOWN, Text, VGroup, tempconfig

from minidecoder.viz.theme import palette

__all__ = [
    "ACCEPT",
    "BACKGROUND",
    "BAND",
    "CAPTION_BASE",
    "CAPTION_SIZE",
    "DEAD",
    "EOS",
    "INK",
    "LEFT_EDGE",
    "LIVE",
    "MIN_SIZE",
    "MUTED",
    "PANELS",
    "RESTING",
    "RIGHT_EDGE",
    "TITLE_Y",
    "mono",
    "prose",
    "sans",
]

# Roles. Where a token ends is shown without colour, by two neutral backgrounds in turn.
_DARK: Final = palette("dark")
BACKGROUND, INK, MUTED, RESTING = _DARK.paper, _DARK.ink, _DARK.muted, _DARK.resting
LIVE, ACCEPT, DEAD, EOS = _DARK.live, _DARK.accepting, _DARK.dead, _DARK.eos
PANELS: Final = (_DARK.strip, _DARK.strip_alt)

# Type. A manim font size of 1 is 1.85 pixels of em height on a 1080p frame.
MIN_SIZE: Final = 18.0
CAPTION_SIZE: Final = 26.0
SANS, MONO = "DejaVu Sans", "DejaVu Sans Mono"
DOT: Final = 0.46  # the least side of a dot, seen from the height of a digit
_SHARP: Final = 4  # subtle: Pango spaces small glyphs unevenly, so text is set large and scaled down

# The frame is 14.22 x 8 units with the origin in its middle.
LEFT_EDGE, RIGHT_EDGE = -6.5, 6.5
TITLE_Y: Final = 4 - 0.08 * 8
BAND: Final = (-4.0, -2.88)  # the lowest 14 %, for the caption alone
CAPTION_BASE: Final = -3.56


def sans(text: str, size: float, color: str = INK) -> Text:
    """A sentence or a title."""
    return _text(text, SANS, size, color)


def mono(text: str, size: float, color: str = INK) -> Text:
    """A pattern, a token or a character. Its box is at least as high as a digit, so that `.` stays low;
    a dot is drawn larger than the font has it: on a projector it would be a speck."""
    if any(char.isalnum() for char in text):
        return _text(text, MONO, size, color)
    both = _text("0" + text, MONO, size, color)
    strut, letters = both[0], both[1:]
    strut.set_opacity(0).set_x(letters.get_x())
    for glyph in letters:
        size = max(glyph.width, glyph.height)
        if size < DOT * strut.height:
            glyph.scale(DOT * strut.height / size, about_edge=DOWN)
    return both.center()


def prose(text: str, size: float) -> Text:
    """A sentence in which what stands in backticks is a token or a character."""
    plain, spans, at = "", [], 0
    for k, part in enumerate(re.split(r"`([^`]+)`", text)):  # sentence, token, sentence, token, …
        plain, at = plain + part, at + len(part)
        if k % 2:
            spans.append(f"[{at - len(part)}:{at}]")
    return _text(plain, SANS, size, INK, t2f=dict.fromkeys(spans, MONO), t2c=dict.fromkeys(spans, LIVE))


def _text(text: str, font: str, size: float, color: str, **spans: dict[str, str]) -> Text:
    # subtle: Pango breaks lines at the width of the frame in pixels, so a film would differ by quality.
    with tempconfig({"pixel_width": 10_000}):
        letters = Text(text, font=font, font_size=size * _SHARP, color=color, **spans)
    # subtle: every animation copies what it moves, and glyphs drag along the SVG they were read from.
    letters.chars, letters.id_to_vgroup_dict = VGroup(), {}
    for glyph in letters:
        glyph.path_obj = None
    return letters.scale(1 / _SHARP)
