"""The lesson in JupyterLab, in a real browser, as a student meets it: opened, run, stepped by mouse and keys.

One server and one browser for all of it. Nothing outside 127.0.0.1 may be asked for, and nothing may go
wrong on the page. MINIDECODER_SCREENSHOTS=folder keeps the pictures. Left out: whether the numbers are
right (`test_notebooks`) and the player in a plain page (its own test).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from minidecoder.models.smollm2_files import where
from tests import notebook_runner as runner
from tests.jupyter_server import WAIT_MS, jupyterlab, needed, opened, wait_for_kernel
from tests.notebook_runner import FOLDER, PNG, code_cells

LESSON = "03_tokens_are_not_characters.ipynb"
pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """The open lesson after Run All: its `page`, what it asked for `outside`, and the page's `faults`."""
    with jupyterlab(tmp_path_factory.mktemp("lab"), LESSON) as address, opened(address) as window:
        window.stored = as_stored(window.page)
        run_all(window.page)
        yield window


def as_stored(page: Any) -> SimpleNamespace:
    """What the reader sees before anything is run."""
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    resize(page, tall=True)
    page.wait_for_function(
        "count => document.querySelectorAll('.jp-OutputArea img').length >= count", arg=stored_pictures()
    )
    picture(page, "stored")
    images = page.locator(".jp-OutputArea img").count()
    return SimpleNamespace(text=page.inner_text(".jp-Notebook"), images=images)


def stored_pictures() -> int:
    cells = code_cells(runner.read(FOLDER / LESSON))
    return sum(PNG in output.get("data", {}) for cell in cells for output in cell.outputs)


def resize(page: Any, *, tall: bool) -> None:
    """A window of a projector's size; or one so tall that every cell is in the page."""
    page.set_viewport_size({"width": 1280, "height": 16_000 if tall else 720})


def run_all(page: Any) -> None:
    wait_for_kernel(page)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()
    count = len(code_cells(runner.read(FOLDER / LESSON)))
    page.wait_for_function(
        """count => document.body.innerText.includes("Traceback (most recent call last)") ||
            [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')]
            .filter(prompt => /^\\[\\d+\\]:$/.test(prompt.textContent.trim())).length === count""",
        arg=count,
        timeout=2 * WAIT_MS,  # the model too, on a machine that may be busy
    )
    seen = page.inner_text(".jp-Notebook")
    assert "Traceback (most recent call last)" not in seen, seen[-3000:]
    page.wait_for_selector(".mdp")
    page.wait_for_selector(".js-plotly-plot .main-svg")


def picture(page: Any, name: str, *, player_only: bool = False) -> bytes:
    """A screenshot; kept where MINIDECODER_SCREENSHOTS says."""
    page.evaluate(
        "document.querySelector('.jp-WindowedPanel-outer').scrollTop = 0"
    ) if not player_only else None
    page.wait_for_timeout(1000)  # cells out of sight are drawn when they come into it
    shot: bytes = page.screenshot()
    if folder := os.environ.get("MINIDECODER_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        Path(folder, f"{name}.png").write_bytes(shot)
    return shot


@pytest.fixture
def player(lab: SimpleNamespace) -> Any:
    """The player at its first step."""
    found = lab.page.locator(".mdp")
    found.scroll_into_view_if_needed()
    found.locator("button.first").click() if found.locator("button.first").is_enabled() else None
    assert at(found) == 0
    return found


def at(player: Any) -> int:
    return int(player.get_attribute("data-step"))


def test_before_anything_is_run_the_lesson_shows_its_pictures_and_no_error(lab: SimpleNamespace) -> None:
    assert "Error displaying widget" not in lab.stored.text
    assert lab.stored.images == stored_pictures()
    assert "with the filter: 12 | . | 0 | 0   =   12.00" in lab.stored.text


def test_run_all_leaves_no_traceback(lab: SimpleNamespace) -> None:
    assert "Traceback (most recent call last)" not in lab.page.inner_text("body")
    assert (
        lab.page.locator(".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.stderr']").count()
        == 0
    )
    assert lab.page.locator(".jp-OutputArea .mdp").count() == 1
    assert lab.page.locator(".jp-OutputArea .js-plotly-plot").count() == 1


def test_the_real_model_answers_in_the_lab(lab: SimpleNamespace) -> None:
    needed(where().wheel, "SmolLM2 is not installed: python -m minidecoder model install")
    assert "one part each" in lab.page.inner_text(".jp-Notebook")


def test_a_click_on_next_moves_one_token_and_its_state(player: Any) -> None:
    before = player.get_attribute("data-state")
    player.locator("button.next").click()
    assert at(player) == 1
    assert (before, player.get_attribute("data-state")) == ("s0", "s1")


def test_arrow_keys_step_and_go_back(lab: SimpleNamespace, player: Any) -> None:
    player.focus()
    for _ in range(3):
        lab.page.keyboard.press("ArrowRight")
    assert at(player) == 3
    lab.page.keyboard.press("ArrowLeft")
    assert at(player) == 2
    lab.page.keyboard.press("End")
    assert at(player) == int(player.get_attribute("data-steps"))


def test_byte_view_stops_inside_a_token(lab: SimpleNamespace, player: Any) -> None:
    player.focus()
    lab.page.keyboard.press("b")
    lab.page.keyboard.press("ArrowRight")
    assert (at(player), player.get_attribute("data-byte")) == (0, "1")
    lab.page.keyboard.press("b")


def test_the_keys_of_the_player_do_nothing_to_the_notebook(lab: SimpleNamespace, player: Any) -> None:
    """JupyterLab's own b inserts a cell, and d d deletes one."""
    cells = lab.page.locator(".jp-Notebook .jp-Cell").count()
    player.focus()
    for key in ("b", "b", "a", "d", "d", "x", "Space", "Space"):
        lab.page.keyboard.press(key)
    assert lab.page.locator(".jp-Notebook .jp-Cell").count() == cells


def test_a_blocked_token_says_why_when_it_is_clicked(lab: SimpleNamespace, player: Any) -> None:
    for _ in range(2):
        player.locator("button.next").click()
    player.locator("button.row.blocked", has_text=re.compile(r"^50")).click()
    assert "dies at byte 2 of 2" in player.locator(".why").inner_text()


def test_the_slider_scrubs(lab: SimpleNamespace, player: Any) -> None:
    slider = player.locator("input[type=range]")
    slider.fill("2")
    assert at(player) == 2
    slider.focus()
    lab.page.keyboard.press("ArrowRight")
    assert at(player) == 3
    box = slider.bounding_box()
    lab.page.mouse.move(box["x"] + box["width"] - 4, box["y"] + box["height"] / 2)
    lab.page.mouse.down()
    lab.page.mouse.move(box["x"] + 3, box["y"] + box["height"] / 2, steps=4)
    lab.page.mouse.up()
    assert at(player) == 0


def test_the_player_fits_a_projector(lab: SimpleNamespace, player: Any) -> None:
    resize(lab.page, tall=False)
    try:
        player.scroll_into_view_if_needed()
        player.locator("button.next").click()
        box = player.bounding_box()
        assert box["height"] <= 640, "taller than the notebook's window"
        assert box["x"] + box["width"] <= 1280
        assert len(picture(lab.page, "player", player_only=True)) > 10_000
    finally:
        resize(lab.page, tall=True)


def test_the_whole_lesson_can_be_looked_at_in_light_and_dark(lab: SimpleNamespace) -> None:
    light = picture(lab.page, "light")
    lab.page.emulate_media(color_scheme="dark")
    lab.page.wait_for_selector("body[data-jp-theme-light='false']", state="attached")
    dark = picture(lab.page, "dark")
    assert min(len(light), len(dark)) > 100_000
    assert light != dark


def test_nothing_outside_this_machine_was_asked_for_and_no_script_failed(lab: SimpleNamespace) -> None:
    assert lab.outside == []
    assert lab.faults == []
