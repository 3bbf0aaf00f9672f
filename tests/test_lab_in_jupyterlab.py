"""The lab in JupyterLab, in a real browser: opened, clicked, driven by keys, stopped, and its kernel restarted.

One server, one browser, one notebook. What the lab does on a page is looked at in `test_lab_browser`, which is
quicker; here is what only a real comm and a real kernel can break.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.jupyter_server import jupyterlab, opened, wait_for_kernel

pytestmark = pytest.mark.timeout(400)
ENDED = "The kernel was restarted or has ended, and this lab with it: run its cell again."


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    with jupyterlab(tmp_path_factory.mktemp("lab"), "lab.ipynb") as address, opened(address) as window:
        wait_for_kernel(window.page)
        run_cell(window.page)
        yield window
        assert window.outside == []
        assert window.faults == []


def run_cell(page: Any) -> None:
    page.locator(".jp-CodeCell .jp-Editor").first.click()
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".mdl .mdp")
    ready(page)


def ready(page: Any) -> None:
    page.wait_for_timeout(100)
    page.wait_for_function(
        "() => document.querySelector('.mdl').dataset.busy !== 'yes'"
        " && ![...document.querySelectorAll('.mdl .mdp')].some((p) => p.dataset.moving === 'yes')"
    )


def picture(page: Any, name: str) -> None:
    if folder := os.environ.get("MINIDECODER_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(Path(folder, f"{name}.png")))


def status(page: Any) -> str:
    return str(page.locator(".mdl .status").inner_text())


def at(page: Any) -> int:
    return int(page.locator(".mdl .mdp").first.get_attribute("data-step"))


def test_a_click_on_step_draws_a_token(window: SimpleNamespace) -> None:
    page = window.page
    page.locator(".mdl").scroll_into_view_if_needed()
    for step in (1, 2):
        page.locator(".mdl button.next").click()
        ready(page)
        assert at(page) == step
    picture(page, "lab")


def test_another_token_is_taken_by_hand_and_the_run_goes_on(window: SimpleNamespace) -> None:
    page = window.page
    page.locator(".mdl button.first").click()
    page.locator(".mdl .row").filter(has=page.locator(".token[title='5']")).click()
    assert page.locator(".mdl .take").inner_text() == "take 5"
    page.locator(".mdl .take").click()
    ready(page)
    assert at(page) == 1
    assert page.locator(".mdl .strip .block").first.inner_text() == "5"
    page.locator(".mdl button.next").click()
    ready(page)
    assert at(page) == 2


def test_a_whole_run_by_keys_alone(window: SimpleNamespace) -> None:
    page = window.page
    text = page.locator(".mdl textarea")
    text.focus()
    page.keyboard.press("Control+a")
    page.keyboard.type("[0-9]{1,2}")
    page.keyboard.press("Enter")  # opens it, and runs
    page.wait_for_selector(".mdl .mdp.ended")
    assert "a whole match" in page.locator(".mdl .outcome").inner_text()
    page.keyboard.press("Home")
    ready(page)
    assert at(page) == 0
    assert page.locator(".jp-CodeCell").count() == 1, "a key went to the notebook"


def test_an_error_in_the_pattern_is_marked_in_place_and_the_last_machine_stays(
    window: SimpleNamespace,
) -> None:
    page = window.page
    page.locator(".mdl textarea").fill("[0-9]{2}(")
    page.wait_for_selector(".mdl .fault:not([hidden])")
    assert page.locator(".mdl .behind mark").inner_text() == "("
    assert "[0-9]{1,2}" in status(page)
    assert page.locator(".mdl .machine-box svg").count() == 1
    assert "Traceback" not in page.inner_text("body")
    page.locator(".mdl textarea").fill(r"[0-9]+\.[0-9]{2}")
    page.wait_for_selector(".mdl .fault", state="hidden")
    ready(page)


def test_a_long_compile_is_stopped(window: SimpleNamespace) -> None:
    page = window.page
    page.locator(".mdl textarea").fill(r"(1|5)*1(1|5){19}")
    page.locator(".mdl .status .stop").click()
    page.wait_for_function("() => document.querySelector('.mdl .status').textContent.includes('stopped')")
    page.locator(".mdl button.next").click()
    ready(page)
    page.locator(".mdl textarea").fill(r"[0-9]+\.[0-9]{2}")
    page.wait_for_timeout(500)
    ready(page)
    assert page.locator(".mdl .fault").is_hidden()


def test_a_kernel_that_is_restarted_in_a_run_is_told_and_its_cell_run_again_mends_it(
    window: SimpleNamespace,
) -> None:
    page = window.page
    page.locator(".mdl textarea").fill("[0-9]{200}")
    page.wait_for_timeout(500)
    ready(page)
    page.locator(".mdl button.play").click()
    page.wait_for_function("() => Number(document.querySelector('.mdl .mdp').dataset.step) > 1")
    page.get_by_role("menuitem", name="Kernel", exact=True).click()
    page.get_by_text("Restart Kernel…", exact=True).click()
    page.locator(".jp-Dialog .jp-mod-accept").click()
    page.wait_for_function(f"() => document.querySelector('.mdl .status').textContent === {ENDED!r}")
    picture(page, "lab_restarted")
    page.locator(".mdl button.next").click()
    assert status(page) == ENDED
    wait_for_kernel(page)
    run_cell(page)
    page.locator(".mdl button.next").click()
    ready(page)
    assert at(page) == 1
