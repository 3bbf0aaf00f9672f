"""The saved player as a reader meets it: opened from a file, the network cut, by mouse and by keys.

MINIDECODER_SCREENSHOTS=folder keeps pictures. Left out: the same module in JupyterLab, which the test of
the notebook opens.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minidecoder.lens.trace import Trace
from minidecoder.viz import player
from tests import recorded_runs as runs
from tests.browser import Visit, absent, chromium, visit

PROJECTOR, PHONE = (1280, 720), (390, 844)
PARTS = (".mdp header", ".mdp .sofar", ".mdp .left", ".mdp .right", ".mdp .why", ".mdp .controls")
Opener = Callable[..., Visit]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@pytest.fixture
def open_run(browser: Any, tmp_path: Path) -> Iterator[Opener]:
    """Saves a trace and opens the page; closing it checks that nothing was asked for and nothing failed."""
    stack, visits = ExitStack(), []

    def open_(trace: Trace, size: tuple[int, int] = PROJECTOR, **options: Any) -> Visit:
        file = player.save(trace, tmp_path / f"{len(visits)}.html")
        visits.append(stack.enter_context(visit(browser, file, width=size[0], height=size[1], **options)))
        return visits[-1]

    with stack:
        yield open_


def position(page: Any) -> tuple[int, int, str]:
    data = page.evaluate("({ ...document.querySelector('.mdp').dataset })")
    return int(data["step"]), int(data["byte"]), data["state"]


def settle(page: Any) -> None:
    """Wait until nothing glides."""
    page.wait_for_selector(".mdp[data-moving=no]")  # the page forbids eval, which wait_for_function needs
    page.wait_for_timeout(250)  # the bars


def picture(page: Any, name: str) -> None:
    if folder := os.environ.get("MINIDECODER_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder, f"{name}.png"))


def states_of(page: Any, kind: str) -> list[str]:
    script = "kind => [...document.querySelectorAll(`.mdp .machine .${kind}`)].map((node) => node.id)"
    found: list[str] = page.evaluate(script, kind)
    return found


def test_the_page_opens_at_the_start_with_its_live_state(open_run: Opener) -> None:
    page = open_run(runs.price()).page
    assert position(page) == (0, 0, "s0")
    assert states_of(page, "live") == ["state-s0"]
    assert page.inner_text(".mdp header code") == runs.PRICE
    assert page.inner_text(".mdp .count") == "step 0 / 4"
    assert page.inner_text(".mdp .facts") == "allowed 6 of 9 · mass kept 90 %"
    assert page.evaluate("document.activeElement.className") == "mdp"


def test_clicks_step_through_the_run_and_back(open_run: Opener) -> None:
    page = open_run(runs.price()).page
    seen = []
    for _ in range(4):
        page.click(".mdp .next")
        settle(page)
        seen.append((position(page), states_of(page, "live"), page.inner_text(".mdp .strip").split()))
    assert [at for at, _, _ in seen] == [(1, 0, "s1"), (2, 0, "s3"), (3, 0, "s4"), (4, 0, "s4")]
    assert [live for _, live, _ in seen] == [["state-s1"], ["state-s3"], ["state-s4"], ["state-s4"]]
    assert "".join(seen[-1][2]) == "12.50</s>"
    assert page.is_disabled(".mdp .next")
    assert "ended with EOS" in page.inner_text(".mdp .why")
    page.click(".mdp .back")
    assert position(page)[0] == 3
    page.click(".mdp .first")
    assert position(page)[0] == 0
    page.click(".mdp .last")
    assert position(page)[0] == 4


def test_keys_step_jump_and_show_their_help(open_run: Opener) -> None:
    page = open_run(runs.price()).page
    steps = []
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "End", "Home"):
        page.keyboard.press(key)
        steps.append(position(page)[0])
    assert steps == [1, 2, 1, 4, 0]
    assert not page.is_visible(".mdp .keys")
    page.keyboard.press("?")
    assert page.is_visible(".mdp .keys")
    picture(page, "help")


def test_space_plays_to_the_end_and_pauses(open_run: Opener) -> None:
    page = open_run(runs.price()).page
    page.keyboard.press("Space")
    assert page.inner_text(".mdp .play").strip() == "pause"
    page.wait_for_selector(".mdp[data-step='4']")
    page.wait_for_selector(".mdp .play[aria-label=play]")
    page.keyboard.press("Space")
    page.wait_for_selector(".mdp[data-step='1']")
    page.keyboard.press("Space")
    assert page.inner_text(".mdp .play").strip() == "play"


def test_keys_with_ctrl_and_keys_elsewhere_are_left_alone(open_run: Opener) -> None:
    page = open_run(runs.price()).page
    page.evaluate("""() => { window.heard = [];
        document.addEventListener("keydown", (event) => window.heard.push(event.key)); }""")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("d")
    page.keyboard.press("Control+b")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ArrowRight")
    assert position(page)[0] == 1
    assert page.evaluate("window.heard") == ["Control", "b", "ArrowRight"]


def test_space_on_a_button_presses_that_button(open_run: Opener) -> None:
    page = open_run(runs.price()).page
    page.focus(".mdp .next")
    page.keyboard.press("Space")
    assert position(page)[0] == 1
    assert page.inner_text(".mdp .play").strip() == "play"


def test_the_slider_scrubs_by_mouse_and_by_key(open_run: Opener) -> None:
    page = open_run(runs.age()).page
    box = page.locator(".mdp input[type=range]").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 3, box["y"] + box["height"] / 2)
    assert position(page) == (7, 0, "s11")
    page.keyboard.press("ArrowLeft")
    assert position(page)[0] == 6
    assert page.get_attribute(".mdp input[type=range]", "aria-valuetext") == "step 6 of 7"


def test_byte_view_walks_one_byte_at_a_time_and_back(open_run: Opener) -> None:
    page = open_run(runs.price()).page
    page.keyboard.press("ArrowRight")
    page.keyboard.press("b")
    assert page.is_checked(".mdp .bytes")
    page.keyboard.press("ArrowRight")
    settle(page)
    assert position(page) == (1, 1, "s2")
    assert states_of(page, "live") == ["state-s2"]
    assert page.locator(".mdp .strip .byte.done").all_inner_texts() == ["."]
    page.keyboard.press("ArrowRight")
    assert position(page) == (2, 0, "s3")
    page.keyboard.press("ArrowLeft")
    assert position(page) == (1, 1, "s2")


def test_inside_a_character_the_marker_stands_on_the_edge(open_run: Opener) -> None:
    page = open_run(runs.emoji()).page
    places = []
    for _ in range(3):
        page.click(".mdp .next")
        settle(page)
        box = page.locator(".mdp .marker").bounding_box()
        places.append((position(page)[2][0], page.is_visible(".mdp .marker"), box["x"] if box else None))
    ends = [page.locator(f"[id=state-{name}] ellipse").first.bounding_box()["x"] for name in ("s0", "s2")]
    assert [place[:2] for place in places] == [("b", True), ("b", True), ("s", False)]
    assert ends[0] < places[0][2] < places[1][2] < ends[1]
    assert page.locator(".mdp .strip .byte").all_inner_texts() == ["F0", "9F", "98", "80"]
    assert page.inner_text(".mdp .spelled") == "reads 😀"
    picture(page, "emoji")


def test_a_blocked_token_is_told_by_more_than_colour_and_says_where_it_dies(open_run: Opener) -> None:
    page = open_run(runs.price()).page
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    settle(page)
    row = page.locator(".mdp .row.blocked").first
    assert row.inner_text().split() == ["50", "52", "%", "✕", "blocked"]
    look = "row => [getComputedStyle(row.querySelector('.token')).textDecorationLine, getComputedStyle(row.querySelector('.before')).backgroundImage]"
    line, image = row.evaluate(look)
    assert line == "line-through"
    assert image.startswith("repeating-linear-gradient")
    row.click()
    assert (
        page.inner_text(".mdp .why")
        == "50 dies at byte 2 of 2: 5 moves s3 → s4, where only the end may follow."
    )
    assert states_of(page, "blocked") == ["edge-s3-s4"]
    assert page.is_visible(".mdp .cross .sign")
    assert row.get_attribute("aria-pressed") == "true"
    assert page.locator(".mdp .row.drawn .token").inner_text() == "0"
    picture(page, "blocked")


def test_each_step_is_told_to_those_who_listen(open_run: Opener) -> None:
    page = open_run(runs.price()).page
    page.keyboard.press("ArrowRight")
    settle(page)
    live = page.locator(".mdp [aria-live=polite]")
    assert live.inner_text() == "Step 1 of 4, state s1. .5 is allowed: s1 → s2 → s3."


def test_tokens_that_look_like_html_are_only_text(open_run: Opener) -> None:
    page = open_run(runs.hostile()).page
    for step in range(6):
        assert position(page)[0] == step
        assert page.locator(".mdp img, .mdp script, .mdp b > b").count() == 0
        for row in page.locator(".mdp .row:enabled").all():
            row.click()
        page.keyboard.press("ArrowRight")
        settle(page)
        if step == 0:
            assert page.inner_text(".mdp .strip") == runs.HOSTILE.replace(" ", "␣")


def test_edge_labels_that_look_like_html_are_only_text(open_run: Opener) -> None:
    trace = runs.price()
    edges = tuple(replace(edge, label=runs.HOSTILE) for edge in trace.machine.edges)
    page = open_run(replace(trace, machine=replace(trace.machine, edges=edges))).page
    assert page.locator(".mdp .machine .edge text").all_text_contents() == [runs.HOSTILE] * 5
    assert page.locator(".mdp img, .mdp script").count() == 0


def test_without_a_constraint_there_are_text_and_bars_and_no_machine(open_run: Opener) -> None:
    page = open_run(runs.free()).page
    page.keyboard.press("ArrowRight")
    assert page.locator(".mdp .machine").count() == 0
    assert page.inner_text(".mdp header code") == "no constraint"
    assert page.inner_text(".mdp .why").startswith("No constraint: every token may follow. .5 is drawn")
    page.keyboard.press("End")
    assert page.inner_text(".mdp .why") == "Stopped at the token limit."


def test_a_run_of_no_tokens_is_shown_as_what_it_is(open_run: Opener) -> None:
    page = open_run(runs.scripted(runs.PRICE, runs.PRICE_TOKENS, [])).page
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    assert page.inner_text(".mdp .count") == "step 0 / 0"
    assert page.inner_text(".mdp .why") == "Stopped at the token limit: the text is not a whole match yet."


def test_the_button_turns_the_page_dark_and_back(open_run: Opener) -> None:
    page = open_run(runs.price()).page
    paper = "getComputedStyle(document.querySelector('.mdp')).backgroundColor"
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    page.click(".mdp .theme")
    assert page.evaluate(paper) == "rgb(18, 21, 28)"
    picture(page, "dark")
    page.click(".mdp .theme")
    assert page.evaluate(paper) == "rgb(255, 255, 255)"


def test_a_reader_who_likes_it_dark_gets_it_dark(open_run: Opener) -> None:
    page = open_run(runs.price(), color_scheme="dark").page
    assert page.get_attribute(".mdp", "data-theme") == "dark"


def test_with_reduced_motion_nothing_glides(open_run: Opener) -> None:
    page = open_run(runs.age(), reduced_motion="reduce").page
    page.keyboard.press("ArrowRight")
    assert page.get_attribute(".mdp", "data-moving") == "no"
    assert states_of(page, "live") == ["state-s2"]


def test_without_it_the_marker_glides_along_the_edges_before_the_bars_change(open_run: Opener) -> None:
    page = open_run(runs.age()).page
    before = page.inner_text(".mdp .rows")
    moving, rows, visible = page.evaluate("""() => {
        document.querySelector(".mdp .next").click();
        const root = document.querySelector(".mdp");
        return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done([
            root.dataset.moving, root.querySelector(".rows").innerText,
            root.querySelector(".marker").classList.contains("visible")]))));
    }""")
    assert (moving, rows, visible) == ("yes", before, True)
    settle(page)
    assert page.inner_text(".mdp .rows") != before


@pytest.mark.parametrize("size", [PROJECTOR, PHONE], ids=["projector", "phone"])
@pytest.mark.parametrize("run", ["price", "age", "emoji", "hostile"])
def test_nothing_overlaps_is_cut_off_or_moves_while_stepping(
    open_run: Opener, run: str, size: tuple[int, int]
) -> None:
    page = open_run(getattr(runs, run)(), size).page
    layouts = set()
    for step in range(int(page.get_attribute(".mdp", "data-steps")) + 1):
        page.locator(".mdp input[type=range]").fill(str(step))
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "scrolls sideways"
        page.evaluate(
            "scrollTo(0, document.documentElement.scrollHeight)"
        )  # a phone's controls float till there
        boxes = [box for box in (page.locator(part).bounding_box() for part in PARTS) if box]
        layouts.add(str([{k: round(v) for k, v in box.items()} for box in boxes]))
        assert overlaps(boxes) == []
    picture(page, f"{run}-{size[0]}")
    assert len(layouts) == 1, "the page is laid out anew from step to step"
    if size == PROJECTOR:
        assert page.evaluate("document.documentElement.scrollHeight <= innerHeight"), (
            "taller than a projector"
        )


def overlaps(boxes: list[dict[str, float]]) -> list[tuple[int, int]]:
    def meet(a: dict[str, float], b: dict[str, float]) -> bool:
        across = min(a["x"] + a["width"], b["x"] + b["width"]) - max(a["x"], b["x"])
        down = min(a["y"] + a["height"], b["y"] + b["height"]) - max(a["y"], b["y"])
        return across > 1 and down > 1

    return [(i, j) for j in range(len(boxes)) for i in range(j) if meet(boxes[i], boxes[j])]


def test_no_text_is_smaller_than_can_be_read_on_a_projector(open_run: Opener) -> None:
    page = open_run(runs.age()).page
    sizes = page.evaluate("""() => [...document.querySelectorAll(".mdp *")]
        .filter((node) => [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim()))
        .map((node) => [node.textContent, parseFloat(getComputedStyle(node).fontSize)
            * (node.closest(".machine") ? node.closest(".machine").getScreenCTM().a : 1)])""")
    assert [entry for entry in sizes if entry[1] < 12] == []


def test_a_machine_wider_than_its_box_keeps_the_live_state_in_sight(open_run: Opener) -> None:
    page = open_run(runs.scripted("x{1,40}", ["</s>", "xxxxx"], [1] * 8 + [0]), PHONE).page
    for _ in range(8):
        page.keyboard.press("ArrowRight")
        settle(page)
        frame = page.locator(".mdp .machine-box").bounding_box()
        here = page.locator(".mdp .live ellipse").first.bounding_box()
        assert frame["x"] <= here["x"]
        assert here["x"] + here["width"] <= frame["x"] + frame["width"] + 1


def test_tab_goes_through_the_controls_in_the_order_they_are_seen(open_run: Opener) -> None:
    page = open_run(runs.price()).page
    reached = []
    for _ in range(30):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.className || document.activeElement.type"))
    wanted = ["theme", "full", "help", "range", "next", "last", "play", "bytes"]
    assert [name for name in reached if name in wanted][: len(wanted)] == wanted


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("run", ["price", "emoji", "free"])
def test_axe_finds_nothing_serious(open_run: Opener, run: str, theme: str) -> None:
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        absent("axe-playwright-python is not installed: pip install axe-playwright-python")
    page = open_run(getattr(runs, run)(), color_scheme=theme).page
    for _ in range(2):
        page.keyboard.press("ArrowRight")
        settle(page)
        found = Axe().run(page).response["violations"]
        serious = [v for v in found if v["impact"] in ("serious", "critical")]
        assert [(v["id"], [node["html"][:120] for node in v["nodes"]]) for v in serious] == []


def test_a_long_run_on_a_large_vocabulary_opens_and_steps(open_run: Opener) -> None:
    tokens = ["</s>", *(f" w{i}" for i in range(3000))]
    trace = runs.scripted("[ w0-9]+", tokens, [*range(5, 68), 0])
    page = open_run(trace).page
    assert Path(page.url.removeprefix("file://")).stat().st_size < 500_000
    page.keyboard.press("End")
    assert position(page)[0] == 64
    page.keyboard.press("ArrowLeft")
    settle(page)
    assert page.locator(".mdp .row").count() == player.ROWS
    assert page.inner_text(".mdp .more") == "▶ is drawn next · and 2,986 more"
    strip = "(e => e.scrollLeft + e.clientWidth >= e.scrollWidth - 2)(document.querySelector('.mdp .strip'))"
    assert page.evaluate(strip), "the end of the text is in sight"
