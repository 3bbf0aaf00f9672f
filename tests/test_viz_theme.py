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
