"""The roles that colours play in every picture, as data: the only place where a colour is written.

A role is never told by its colour alone: a live state is also filled, an accepting one has a double
ring, a blocked token a cross, a hatched bar and a struck-through label, EOS its sign.

`PALETTES["light"]` and `["dark"]` hold hex colours; text on `paper` has a WCAG contrast of 4.5 or more.
Left out: shapes and motion, which belong to the picture. Cost: none, these are constants.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final, Literal

from minidecoder.errors import UsageError

__all__ = ["MONO", "PALETTES", "SANS", "Palette", "ThemeName", "contrast", "css_variables", "palette"]

ThemeName = Literal["light", "dark"]

SANS: Final = "system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"
MONO: Final = "ui-monospace, 'SF Mono', Consolas, 'DejaVu Sans Mono', 'Courier New', monospace"


@dataclass(frozen=True)
class Palette:
    """One colour for each role. `strip`, `strip_alt`: the backgrounds that tokens take in turn."""

    paper: str
    panel: str
    ink: str
    muted: str
    live: str
    accepting: str
    dead: str
    eos: str
    resting: str
    strip: str
    strip_alt: str


PALETTES: Final[dict[ThemeName, Palette]] = {
    "light": Palette(
        paper="#ffffff",
        panel="#f5f7fb",
        ink="#1d2330",
        muted="#5b6475",
        live="#0064b0",
        accepting="#1b7a3d",
        dead="#b23a00",
        eos="#8a3f94",
        resting="#c9d3e3",
        strip="#e4e9f2",
        strip_alt="#cfd8e6",
    ),
    "dark": Palette(
        paper="#12151c",
        panel="#1a1f29",
        ink="#e8ebf2",
        muted="#a3adbf",
        live="#5db8ff",
        accepting="#5fd68f",
        dead="#ff8a5c",
        eos="#d9a0e8",
        resting="#394459",
        strip="#252c3a",
        strip_alt="#343e50",
    ),
}


def palette(theme: ThemeName) -> Palette:
    """The palette of a theme. Raises `UsageError` for a name other than "light" and "dark"."""
    if theme not in PALETTES:
        raise UsageError(f"theme must be 'light' or 'dark', not {theme!r}")
    return PALETTES[theme]


def css_variables(selector: str) -> str:
    """CSS that gives `selector` the roles as variables (`--live`), and again under `[data-theme=dark]`."""
    dark = ", ".join(f"{part.strip()}[data-theme=dark]" for part in selector.split(","))
    fonts = f"--sans: {SANS}; --mono: {MONO};"
    return (
        f"{selector} {{ color-scheme: light; {fonts} {_declarations('light')} }}\n"
        f"{dark} {{ color-scheme: dark; {_declarations('dark')} }}\n"
    )


def _declarations(theme: ThemeName) -> str:
    roles = asdict(PALETTES[theme])
    return " ".join(f"--{name.replace('_', '-')}: {colour};" for name, colour in roles.items())


def contrast(first: str, second: str) -> float:
    """The contrast ratio of two hex colours (WCAG 2, 1 to 21).

    >>> round(contrast("#000000", "#ffffff"), 1)
    21.0
    """
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
