"""The lab on a page, in headless Chromium: clicks, keys, errors in place, a stop, two runs, and how it looks.

The kernel's side answers in this process (`lab_page`); MINIDECODER_SCREENSHOTS=folder keeps pictures.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.browser import absent, chromium
from tests.lab_page import Lab, open_lab

PRICE = r"[0-9]+\.[0-9]{2}"
Opener = Callable[..., Lab]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Opener]:
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(open_lab(browser, tmp_path, **options))


def picture(lab: Lab, name: str) -> None:
    if folder := os.environ.get("MINIDECODER_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        lab.page.screenshot(path=str(Path(folder, f"{name}.png")), full_page=True)


def sentence(lab: Lab) -> str:
    return str(lab.page.locator(".mdp .why").first.inner_text())


def mark(lab: Lab) -> str:
    return str(lab.page.locator(".mdl .behind mark").text_content())


def left(lab: Lab) -> list[str]:
    return [text.strip() for text in lab.page.locator(".mdl .chips .left").all_inner_texts()]


def take(lab: Lab, label: str) -> None:
    lab.row(label).click()
    lab.page.locator(".mdl .take").click()
    lab.ready()


# -- running ----------------------------------------------------------------------------------------


def test_steps_one_by_one_to_the_end_are_those_of_generate(opened: Opener) -> None:
    import minidecoder as md
    from minidecoder.viz.lab_sources import SOURCES

    lab = opened()
    source = SOURCES["nine"].load(lambda note: None)
    constraint = md.compile_regex(PRICE, source.vocabulary)
    run = md.generate(source.model(), [], constraint=constraint, sampling=md.Sampling(seed=1))
    lab.step(len(run.token_ids))
    assert lab.page.locator(".mdp.ended .said").inner_text() == run.text
    assert lab.page.locator(".mdp button.next").is_disabled()


def test_run_goes_on_until_the_end_and_pauses_when_asked(opened: Opener) -> None:
    lab = opened(form={"text": "[0-9]{40}"})
    lab.page.locator(".mdp button.play").click()
    lab.page.wait_for_function("() => Number(document.querySelector('.mdp').dataset.step) >= 3")
    lab.page.locator(".mdp button.play").click()
    lab.ready()
    here = lab.page.locator(".mdp").get_attribute("data-step")
    lab.page.wait_for_timeout(500)
    assert lab.page.locator(".mdp").get_attribute("data-step") == here
    lab.page.locator(".mdp button.play").click()
    lab.page.wait_for_selector(".mdp.ended", timeout=60_000)
    assert "a whole match" in lab.page.locator(".outcome").inner_text()


def test_back_and_forth_shows_the_same_run(opened: Opener) -> None:
    lab = opened()
    lab.step(3)
    before = lab.text
    for _ in range(3):
        lab.page.locator(".mdp button.back").click()
    asked = len(lab.answers)
    lab.step(3)
    assert lab.text == before
    assert len(lab.answers) == asked, "what was drawn is not asked for again"


# -- by hand ----------------------------------------------------------------------------------------


def test_why_50_is_blocked_after_12_5(opened: Opener) -> None:
    lab = opened()
    take(lab, "12")
    take(lab, ".5")
    assert lab.text == "12.5"
    lab.row("50").click()
    assert "50 dies at byte 2 of 2: 5 moves s3 → s4, where only the end may follow" in sentence(lab)
    assert lab.page.locator(".mdl .take").is_disabled()
    picture(lab, "lab_blocked")


def test_an_earlier_token_is_edited_and_the_run_goes_on_from_there(opened: Opener) -> None:
    lab = opened()
    lab.step(3)
    lab.page.locator(".mdp button.first").click()
    take(lab, "1.")
    assert lab.text == "1."
    assert lab.page.locator(".mdp").get_attribute("data-steps") == "1", "what came after it is gone"
    lab.step(2)
    assert lab.text.startswith("1.")


def test_a_second_click_on_a_row_takes_it(opened: Opener) -> None:
    lab = opened()
    lab.row("5").click()
    lab.row("5").click()
    lab.ready()
    assert lab.text == "5"


def test_a_token_is_found_among_all_of_them_and_the_kernel_says_why(opened: Opener) -> None:
    lab = opened(form={"source": "pieces", "text": "[a-z ]{3,20}"})
    lab.page.locator(".mdp").focus()
    lab.page.keyboard.press("/")
    lab.page.keyboard.type("the")
    lab.page.wait_for_function("() => / found| of /.test(document.querySelector('.more').textContent)")
    shown = [text for text in lab.page.locator(".mdp .rows .row:enabled .token").all_inner_texts() if text]
    assert shown
    assert all("the" in text.lower() for text in shown)
    lab.page.locator(".mdp [type=search]").fill("Zq¤")
    lab.page.wait_for_timeout(400)
    assert "is no token of this vocabulary" in sentence(lab)


def test_tokens_that_are_parts_of_a_character_are_listed(opened: Opener) -> None:
    lab = opened(form={"source": "pieces", "text": ".{3}"})
    lab.choose("tokens shown", "part of a character")
    lab.page.wait_for_function("() => / of |found/.test(document.querySelector('.more').textContent)")
    assert lab.page.locator(".mdp .row:enabled .byte.hex").count() >= 10
    lab.choose("tokens shown", "any")
    lab.page.wait_for_timeout(300)
    assert "more" in lab.page.locator(".mdp .more").inner_text()


# -- the form ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "text", "at", "message"),
    [
        ("regex", "12(", "(", "missing )"),
        ("regex", "a**", "*", "repeat"),
        ("regex", "[0-9]+(?<=x)", "(?<=x)"[:1], "not supported"),
        ("grammar", "root ::= item\n", "item", "item"),
        ("schema", '{"type": "strin"}', '"strin"', "strin"),
        ("schema", '{"type": ', " ", "JSON"),
    ],
)
def test_an_error_is_marked_in_its_place_and_the_last_machine_stays(
    opened: Opener, kind: str, text: str, at: str, message: str
) -> None:
    lab = opened(form={"source": "pieces", "text": "[0-9]{3}"})
    lab.step(2)
    before = lab.text
    if kind != "regex":
        lab.choose("constraint", kind)
    lab.type_text(text)
    fault = lab.page.locator(".mdl .fault")
    assert message in fault.inner_text()
    assert "Traceback" not in lab.page.inner_text("body")
    assert mark(lab).strip().startswith(at.strip())
    assert lab.page.locator(".mdl textarea").get_attribute("aria-invalid") == "true"
    assert "[0-9]{3}" in lab.status
    assert lab.text == before
    lab.step()
    assert len(lab.text) > len(before), "the last good run still goes on"
    picture(lab, f"lab_fault_{kind}")


def test_tokens_that_were_drawn_stay_when_a_setting_changes(opened: Opener) -> None:
    lab = opened()
    take(lab, "12")
    take(lab, ".")
    lab.page.locator("input[aria-label='temperature']").fill("0.2")
    lab.page.wait_for_timeout(450)
    lab.ready()
    assert lab.text == "12."


def test_top_p_before_the_mask_leaves_nothing_and_says_so(opened: Opener) -> None:
    lab = opened(form={"text": "50?"})  # the model would rather begin with 12
    lab.page.locator("input[aria-label='top-p']").fill("0.3")
    for _ in range(2):
        lab.page.locator("button[aria-label='top-p earlier']").click()
        lab.ready()
    lab.page.locator("button[aria-label='top-p earlier']").click(force=True) if lab.page.locator(
        "button[aria-label='top-p earlier']"
    ).is_enabled() else None
    lab.page.wait_for_timeout(450)
    lab.ready()
    cards = lab.page.locator(".mdl .chips li").all_inner_texts()
    assert cards[1].split()[1] == "top-p", cards
    assert left(lab)[1] == "1", "top-p keeps the favourite alone"
    assert "0" in left(lab)
    assert "no token is left to draw" in sentence(lab)
    assert lab.page.locator(".mdp button.next").is_disabled()
    picture(lab, "lab_top_p")


def test_a_card_is_moved_by_dragging(opened: Opener) -> None:
    lab = opened()
    lab.page.locator(".chips .min_p b").drag_to(lab.page.locator(".chips .mask"))
    lab.ready()
    assert lab.page.locator(".mdl .chips li").nth(1).get_attribute("class") == "min_p"


def test_every_example_opens_on_a_model_that_can_spell_it(opened: Opener) -> None:
    lab = opened()
    names = lab.page.locator("select[aria-label=example] option").evaluate_all(
        "all => all.map((o) => o.value)"
    )
    for name in filter(None, names):
        lab.choose("example", name)
        lab.page.wait_for_timeout(50)
        lab.ready()
        assert lab.page.locator(".mdl .fault").is_hidden(), name
        lab.step()
        assert lab.page.locator(".mdp").get_attribute("data-step") == "1", name


# -- two runs ---------------------------------------------------------------------------------------


def test_a_free_run_stands_beside_and_the_first_difference_is_marked(opened: Opener) -> None:
    lab = opened(form={"text": "5[0-9]*", "temperature": 0, "beside": "free"})
    lab.step(2)
    assert lab.page.locator(".mdp .side").count() == 2
    assert "The runs part at token 1" in lab.page.locator(".parting").inner_text()
    assert lab.page.locator(".parts-here").count() == 2
    lab.page.locator(".mdp .parts").click()
    lab.ready()
    assert lab.page.locator(".mdp.pair").get_attribute("data-step") == "0"
    picture(lab, "lab_two")


def test_a_kept_run_stands_beside_the_next_and_stays(opened: Opener) -> None:
    lab = opened()
    lab.step(3)
    kept = lab.text
    lab.page.locator(".mdl .keep").click()
    lab.type_text(r"[0-9]{6}")
    lab.page.locator(".mdp button.play").click()
    lab.page.wait_for_selector(".side:nth-child(2).ended", timeout=30_000)
    first = lab.page.locator(".side").first
    assert first.get_attribute("data-fixed") == "yes"
    assert first.locator(".strip").inner_text().replace("\n", "") == kept
    assert "part at token" in lab.page.locator(".parting").inner_text()


def test_beside_a_finished_kept_run_the_new_one_moves_at_once(opened: Opener) -> None:
    lab = opened()
    lab.page.locator(".mdp button.play").click()
    lab.page.wait_for_selector(".mdp.ended", timeout=30_000)
    lab.page.locator(".mdl .keep").click()
    lab.type_text(r"[0-9]{6}")
    assert "So far" in lab.page.locator(".parting").inner_text()
    lab.step(2)
    steps = [lab.page.locator(".side").nth(i).get_attribute("data-step") for i in (0, 1)]
    assert steps == ["2", "2"]


def test_presses_faster_than_the_kernel_are_not_lost(opened: Opener) -> None:
    lab = opened(form={"text": "[0-9]{30}"})
    lab.page.evaluate("for (let i = 0; i < 3; i += 1) document.querySelector('.mdp button.next').click()")
    lab.page.wait_for_function("() => document.querySelector('.mdp').dataset.step === '3'")


def test_the_tasks_of_the_notebook_lead_where_they_say(opened: Opener) -> None:
    """Those of notebooks/lab.ipynb that need neither Tekken nor SmolLM2, one after another, as written."""
    lab = opened()
    page = lab.page

    def fill(name: str, value: str) -> None:
        page.locator(f".mdl input[aria-label='{name}']").fill(value)
        page.wait_for_timeout(450)
        lab.ready()

    fill("seed", "0")  # 1: why 50 is blocked after 12.5
    lab.step(2)
    assert lab.text == "12.5"
    lab.row("50").click()
    assert "dies at byte 2 of 2" in sentence(lab)
    fill("seed", "1")  # 2: .5 where the model drew something else
    lab.step()
    assert page.locator(".mdp .row.drawn .token").get_attribute("title") == "0"
    take(lab, ".5")
    assert lab.text == "12.5"
    for _ in range(3):  # 4: top-p before the mask
        page.locator("button[aria-label='top-p earlier']").click()
        lab.ready()
    fill("top-p", "0.4")
    assert left(lab)[1:3] == ["1", "0"]
    fill("top-p", "1")  # 5: without the constraint
    lab.choose("example", "price")
    lab.choose("beside it", "free")
    page.locator(".mdp button.play").click()
    page.wait_for_selector(".mdp .parts", timeout=30_000)
    page.wait_for_selector(".side:nth-child(2).ended", timeout=30_000)
    lab.choose("beside it", "nothing")  # 6: a wrong pattern
    lab.type_text(r"[0-9]+\.([0-9]{2}")
    assert mark(lab) == "("
    lab.choose("example", "price")  # 7: two patterns
    page.locator(".mdp button.play").click()
    page.wait_for_selector(".mdp.ended", timeout=30_000)
    page.locator(".mdl .keep").click()
    lab.type_text(r"[0-9]+\.[0-9]{1}")
    page.locator(".mdp button.play").click()
    page.wait_for_selector(".side:nth-child(2).ended", timeout=30_000)
    assert "part at token" in page.locator(".parting").inner_text()


# -- when things are slow or gone -------------------------------------------------------------------


def test_a_long_compile_shows_progress_and_is_stopped(opened: Opener) -> None:
    lab = opened()
    lab.page.locator(".mdl textarea").fill("(1|5)*1(1|5){19}")
    lab.page.wait_for_selector(".mdl .status .stop")
    assert "compiling" in lab.status
    lab.page.locator(".mdl .status .stop").click()
    lab.page.wait_for_function("() => /stopped/.test(document.querySelector('.mdl .status').textContent)")
    lab.ready()
    lab.step()
    assert lab.page.locator(".mdp").get_attribute("data-step") == "1"


def test_a_kernel_that_is_gone_is_told_at_once_and_nothing_freezes(opened: Opener) -> None:
    lab = opened()
    lab.step()
    lab.page.evaluate("restart()")
    assert lab.status.startswith("The kernel was restarted")
    lab.page.locator(".mdp button.next").click()
    lab.page.locator(".mdp button.play").click()
    lab.page.locator(".mdl textarea").fill("12")
    lab.page.wait_for_timeout(600)
    assert lab.status.startswith("The kernel was restarted")
    lab.page.locator(".mdp button.first").click()
    assert lab.page.locator(".mdp").get_attribute("data-step") == "0", "what was run can still be looked at"


def test_a_kernel_that_does_not_answer_is_told(opened: Opener) -> None:
    lab = opened()
    lab.page.evaluate("window.isBusy = true")
    lab.page.locator(".mdp button.next").click()
    lab.page.wait_for_function(
        "() => /kernel is busy/.test(document.querySelector('.mdl .status').textContent)"
    )


def test_a_kernel_that_answers_late_is_busy_no_more(opened: Opener) -> None:
    lab = opened()
    lab.page.evaluate("window.delay = 2000")
    lab.page.locator(".mdp button.next").click()
    lab.page.wait_for_function(
        "() => /kernel is busy/.test(document.querySelector('.mdl .status').textContent)"
    )
    lab.page.wait_for_function("() => document.querySelector('.mdp').dataset.step === '1'")
    assert "busy" not in lab.status


# -- keys, looks, and hostile text ------------------------------------------------------------------


def test_everything_can_be_reached_and_done_by_keys(opened: Opener) -> None:
    lab = opened()
    page = lab.page
    page.keyboard.press("Tab")
    for _ in range(6):
        if page.evaluate("document.activeElement.tagName") == "TEXTAREA":
            break
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"
    page.keyboard.press("Control+a")
    page.keyboard.type("12?[.]5")
    page.keyboard.press("Enter")
    page.wait_for_selector(".mdp.ended")
    page.keyboard.press("Home")
    lab.ready()
    page.keyboard.press("/")
    page.keyboard.type("12")
    page.wait_for_timeout(400)
    page.keyboard.press("Enter")
    page.keyboard.press("x")
    lab.ready()
    assert lab.text == "12"
    page.keyboard.press("?")
    assert "take the marked token" in page.locator(".mdp .keys").inner_text()


def test_text_that_looks_like_html_is_only_text(opened: Opener) -> None:
    hostile = "</script><img src=x onerror=alert(1)>"
    lab = opened(form={"source": "pieces"})
    lab.page.locator("input[aria-label=prompt]").fill(hostile)
    lab.type_text("<img src=x onerror=alert\\(1\\)>(")
    lab.type_text("<img src=x onerror=alert\\(1\\)>")
    lab.step(3)
    assert lab.page.locator(".mdl img").count() == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1280, 720), (390, 844)])
def test_it_fits_the_window_and_axe_finds_nothing_serious(
    opened: Opener, width: int, height: int, theme: str
) -> None:
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        absent("axe-playwright-python is not installed: pip install axe-playwright-python")
    lab = opened(width=width, height=height, color_scheme=theme)
    lab.step(2)
    for name, beside in (("one", "nothing"), ("two", "free")):
        lab.choose("beside it", beside)
        lab.page.wait_for_timeout(300)
        assert lab.page.evaluate("document.documentElement.scrollWidth") <= width
        found = Axe().run(lab.page).response["violations"]
        serious = [v for v in found if v["impact"] in ("serious", "critical")]
        assert [(v["id"], [node["html"][:120] for node in v["nodes"]]) for v in serious] == []
        picture(lab, f"lab_{name}_{width}_{theme}")
    lab.type_text("[0-9")
    found = Axe().run(lab.page).response["violations"]
    assert [v["id"] for v in found if v["impact"] in ("serious", "critical")] == []


def test_on_a_projector_the_whole_lab_fits_one_screen(opened: Opener) -> None:
    lab = opened(width=1280, height=720)
    lab.step(2)
    lab.page.keyboard.press("f")
    lab.page.wait_for_timeout(400)
    inside = lab.page.locator(".mdl").evaluate("lab => lab.scrollHeight <= lab.clientHeight + 1")
    assert inside
    for part in (".mdl textarea", ".mdp .machine-box", ".mdp .rows", ".mdp .why", ".mdp .play"):
        box = lab.page.locator(part).bounding_box()
        assert 0 <= box["y"] <= box["y"] + box["height"] <= 721, part
    lab.page.locator(".mdl .fold").click()
    assert lab.page.locator(".mdl .setup").is_hidden()
