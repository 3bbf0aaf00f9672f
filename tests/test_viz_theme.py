from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path

import pytest

import minidecoder.viz
from minidecoder.errors import UsageError
from minidecoder.viz.theme import PALETTES, contrast, css_variables, palette

TEXT_ROLES = ("ink", "muted", "live", "accepting", "dead", "eos")
FOLDER = Path(minidecoder.viz.__file__).parent


@pytest.mark.parametrize("theme", sorted(PALETTES))
@pytest.mark.parametrize("ground", ["paper", "panel"])
@pytest.mark.parametrize("role", TEXT_ROLES)
def test_every_role_can_be_read_on_the_page_and_on_a_panel(theme: str, ground: str, role: str) -> None:
    colours = asdict(PALETTES[theme])
    assert contrast(colours[role], colours[ground]) >= 4.5


@pytest.mark.parametrize("theme", sorted(PALETTES))
@pytest.mark.parametrize("ground", ["strip", "strip_alt"])
@pytest.mark.parametrize("role", ["ink", "eos"])
def test_a_token_can_be_read_on_both_backgrounds_of_the_strip(theme: str, ground: str, role: str) -> None:
    colours = asdict(PALETTES[theme])
    assert contrast(colours[role], colours[ground]) >= 4.5


@pytest.mark.parametrize("theme", sorted(PALETTES))
def test_text_on_a_filled_live_state_can_be_read(theme: str) -> None:
    assert contrast(PALETTES[theme].paper, PALETTES[theme].live) >= 4.5


def test_contrast_agrees_with_the_two_values_everyone_knows() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


def test_no_colour_is_written_outside_the_theme() -> None:
    for file in FOLDER.iterdir():
        if file.suffix in (".py", ".mjs", ".css") and file.name != "theme.py":
            assert not re.findall(
                r"#[0-9a-fA-F]{6}\b|#[0-9a-fA-F]{3}\b(?!;)|rgba?\(", file.read_text("utf-8")
            ), file


def test_css_names_every_role_for_both_themes() -> None:
    css = css_variables(".mdp")
    for theme in PALETTES:
        for role, colour in asdict(PALETTES[theme]).items():
            assert f"--{role.replace('_', '-')}: {colour};" in css
    assert ".mdp[data-theme=dark] {" in css


def test_an_unknown_theme_is_an_error_that_names_the_two() -> None:
    with pytest.raises(UsageError, match="'light' or 'dark', not 'pink'"):
        palette("pink")  # type: ignore[arg-type]


# Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB.
BLIND = {
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
}
TOGETHER = [  # roles that stand side by side in one picture and mean different things
    ("live", "dead"),
    ("live", "resting"),
    ("live", "accepting"),
    ("dead", "resting"),
    ("accepting", "muted"),
    ("eos", "dead"),
    ("live", "ink"),
    ("accepting", "dead"),
]


def linear(colour: str) -> list[float]:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


def lab(rgb: list[float]) -> tuple[float, float, float]:
    """CIE L*a*b* of linear RGB under D65."""
    rows = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    white = (0.9505, 1.0, 1.089)
    xyz = [sum(a * max(b, 0.0) for a, b in zip(row, rgb, strict=True)) for row in rows]
    x, y, z = (
        (value / top) ** (1 / 3) if value / top > 0.008856 else 7.787 * value / top + 16 / 116
        for value, top in zip(xyz, white, strict=True)
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(first: str, second: str, matrix: tuple[tuple[float, ...], ...]) -> float:
    """How different two colours look (CIE76) to an eye that sees `matrix`."""
    seen = [
        lab([sum(a * b for a, b in zip(row, linear(colour), strict=True)) for row in matrix])
        for colour in (first, second)
    ]
    return sum((a - b) ** 2 for a, b in zip(*seen, strict=True)) ** 0.5


def test_the_simulation_makes_red_and_green_alike_and_leaves_blue_and_yellow_apart() -> None:
    for matrix in BLIND.values():
        assert distance("#8a8a00", "#a07000", matrix) < 12
        assert distance("#0000ff", "#ffff00", matrix) > 100


@pytest.mark.parametrize("theme", sorted(PALETTES))
@pytest.mark.parametrize("eye", sorted(BLIND))
@pytest.mark.parametrize("pair", TOGETHER, ids="-".join)
def test_roles_that_stand_together_differ_for_a_colour_blind_eye(
    theme: str, eye: str, pair: tuple[str, str]
) -> None:
    first, second = (asdict(PALETTES[theme])[role] for role in pair)
    assert distance(first, second, BLIND[eye]) >= 15, "a difference of 2 is just seen"
