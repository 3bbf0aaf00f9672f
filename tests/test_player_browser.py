"""The saved player as a reader meets it: opened from a file, the network cut, by mouse and by keys.

MINIDECODER_SCREENSHOTS=folder keeps pictures. Left out: the same module in JupyterLab, which the test of
the notebook opens.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import minidecoder as md
from minidecoder.lens.trace import Trace
from minidecoder.models.toy import TableModel
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

    def open_(trace: Trace | tuple[Trace, Trace], size: tuple[int, int] = PROJECTOR, **options: Any) -> Visit:
        file = player.save(trace, tmp_path / f"{len(visits)}.html")
        visits.append(stack.enter_context(visit(browser, file, width=size[0], height=size[1], **options)))
        return visits[-1]

    with stack:
        yield open_


def position(page: Any) -> tuple[int, int, str]:
    data = page.evaluate("({ ...document.querySelector('.mdp').dataset })")
    return int(data["step"]), int(data["byte"]), data["state"]


def file_of(page: Any) -> Path:
    return Path(page.url.partition("#")[0].removeprefix("file://"))


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
    for key, step in (("PageDown", 1), ("PageUp", 0)):  # what a presenter's remote sends
        page.keyboard.press(key)
        assert position(page)[0] == step
    page.keyboard.press("t")
    assert page.get_attribute(".mdp", "data-theme") == "dark"


def test_the_help_stands_on_single_lines_and_goes_with_the_next_key(open_run: Opener) -> None:
    page = open_run(runs.price()).page
    for key, step in (("Escape", 0), ("ArrowRight", 1), ("?", 1)):
        page.keyboard.press("?")
        assert page.is_visible(".mdp .keys")
        assert page.get_attribute(".mdp .help", "aria-expanded") == "true"
        lines = page.evaluate("""() => [...document.querySelectorAll(".mdp .keys > *")]
            .map((node) => node.getClientRects()[0].height / parseFloat(getComputedStyle(node).lineHeight))""")
        assert max(lines) < 1.5
        picture(page, "help")
        page.keyboard.press(key)
        assert not page.is_visible(".mdp .keys")
        assert position(page)[0] == step


def test_f_fills_the_screen_and_gives_it_back(open_run: Opener) -> None:
    page = open_run(runs.price()).page
    page.keyboard.press("f")
    page.wait_for_selector(".mdp:fullscreen")
    page.keyboard.press("f")
    page.wait_for_selector(".mdp:not(:fullscreen)")


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
    assert page.locator(".mdp .byte.pending").count() == 0
    page.keyboard.press("b")
    assert page.is_checked(".mdp .bytes")
    for part in (".strip", ".walk"):
        assert page.locator(f".mdp {part} .byte.pending").all_inner_texts() == ["."]
    assert page.locator(".mdp .strip .byte").all_inner_texts() == [".", "5"]
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
    look = """row => { const [token, bar] = [".token", ".before"].map((part) => getComputedStyle(row.querySelector(part)));
        return [token.borderTopStyle, token.textDecorationLine, token.backgroundImage, bar.backgroundImage]; }"""
    border, line, strike, hatch = row.evaluate(look)
    assert (border, line) == ("dashed", "none"), "a line through a dash or a dot leaves nothing of it"
    assert strike.startswith("linear-gradient")
    assert hatch.startswith("repeating-linear-gradient")
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


def test_while_the_token_walks_the_table_of_the_step_before_is_dimmed(open_run: Opener) -> None:
    page = open_run(runs.age()).page
    opacity = "getComputedStyle(document.querySelector('.mdp .right')).opacity"
    assert page.evaluate(opacity) == "1"
    seen = page.evaluate("""() => { document.querySelector(".mdp .next").click();
        document.querySelector(".mdp .right").style.transition = "none";
        return [getComputedStyle(document.querySelector(".mdp .right")).opacity, document.querySelector(".mdp").dataset.moving]; }""")
    assert seen == ["0.35", "yes"]
    settle(page)
    assert page.evaluate(opacity) == "1"


def test_keys_faster_than_the_pictures_show_each_step_at_once(open_run: Opener) -> None:
    page = open_run(runs.age()).page
    seen = page.evaluate("""() => {
        const root = document.querySelector(".mdp"), press = () => root.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
        const look = () => [root.dataset.step, root.dataset.moving, root.querySelector(".row.drawn .token").innerText, root.getAnimations({ subtree: true }).filter((a) => a.animationName === "masked").length];
        press(); press();
        const second = look();
        press();
        return [second, look()];
    }""")
    assert seen == [["2", "no", '":', 0], ["3", "no", "␣", 0]]


@pytest.mark.parametrize("size", [PROJECTOR, PHONE], ids=["projector", "phone"])
@pytest.mark.parametrize("run", ["price", "age", "emoji", "hostile", "nested"])
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
    wanted = ["theme", "save", "full", "help", "range", "next", "last", "play", "speed", "bytes"]
    assert [name for name in reached if name in wanted][: len(wanted)] == wanted


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("run", ["price", "emoji", "free", "nested", "two"])
def test_axe_finds_nothing_serious(open_run: Opener, run: str, theme: str) -> None:
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        absent("axe-playwright-python is not installed: pip install axe-playwright-python")
    page = open_run(two_prices() if run == "two" else getattr(runs, run)(), color_scheme=theme).page
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
    assert file_of(page).stat().st_size < 500_000
    page.keyboard.press("End")
    assert position(page)[0] == 64
    page.keyboard.press("ArrowLeft")
    settle(page)
    assert page.locator(".mdp .row").count() == player.ROWS
    assert page.inner_text(".mdp .more") == "and 2,986 more"
    strip = "(e => e.scrollLeft + e.clientWidth >= e.scrollWidth - 2)(document.querySelector('.mdp .strip'))"
    assert page.evaluate(strip), "the end of the text is in sight"
    sign = "getComputedStyle(document.querySelector('.mdp .strip'), '::before').content"
    assert page.evaluate(sign) == '"…"', "what is cut off at the left is told"
    page.keyboard.press("Home")
    assert page.evaluate(sign) == "none"


MAIL = r"[a-z][a-z0-9._]{2,30}@([a-z]{2,12}\.){1,3}(com|org|edu|de)"
IN_SIGHT = """() => { const seen = (part) => { const node = document.querySelector(part).getBoundingClientRect();
        return node.left >= 0 && node.top >= 0 && node.right <= innerWidth && node.bottom <= innerHeight && node.height > 0; };
    return [".where", ".machine-box", ".machine .live ellipse", ".strip", ".rows", ".why", ".controls", ".next"].filter((part) => !seen(`.mdp ${part}`)); }"""


@pytest.mark.parametrize("size", [PROJECTOR, (1920, 1080), PHONE], ids=["projector", "full-hd", "phone"])
def test_of_a_large_machine_the_live_state_the_sentence_and_the_buttons_are_in_the_window(
    open_run: Opener, size: tuple[int, int]
) -> None:
    tokens = ["</s>", "ab", "c", "@", "mail", ".", "com", "9_", "edu"]
    page = open_run(runs.scripted(MAIL, tokens, [1, 2, 7, 1, 1, 3, 4, 5, 4, 5, 6, 0]), size).page
    assert page.evaluate("document.querySelector('.mdp .machine').viewBox.baseVal.width") > 3000
    for step in range(13):
        assert position(page)[0] == step
        assert page.evaluate(IN_SIGHT) == [], f"out of sight at step {step}"
        frame = page.locator(".mdp .machine-box").bounding_box()
        here = page.locator(".mdp .live ellipse").first.bounding_box()
        for side, length in (("x", "width"), ("y", "height")):
            assert frame[side] <= here[side], step
            assert here[side] + here[length] <= frame[side] + frame[length] + 1, step
        assert page.evaluate("document.querySelector('.mdp .machine').getScreenCTM().a * 14") >= 12
        assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
        picture(page, f"mail-{size[0]}")
        page.keyboard.press("ArrowRight")
        settle(page)


def test_the_camera_goes_along_while_the_marker_glides(open_run: Opener) -> None:
    page = open_run(runs.scripted("x{1,40}", ["</s>", "xxxxxxxx"], [1] * 4 + [0])).page
    inside = page.evaluate("""() => {
        const [root, marker, box] = [".mdp", ".mdp .marker", ".mdp .machine-box"].map((part) => document.querySelector(part));
        const seen = [];
        document.querySelector(".mdp .next").click();
        return new Promise((done) => requestAnimationFrame(function look() {
            const here = marker.getBoundingClientRect(), frame = box.getBoundingClientRect();
            if (root.dataset.moving === "no") return done(seen);
            if (marker.classList.contains("visible")) seen.push(frame.left <= here.left && here.right <= frame.right);
            requestAnimationFrame(look);
        }));
    }""")
    assert inside
    assert all(inside)


def test_every_state_of_a_long_run_can_be_shown(open_run: Opener) -> None:
    page = open_run(runs.scripted("[a-z]{1,300}", ["</s>", "abcdefgh"], [1] * 30)).page
    for step in (0, 15, 30):
        page.locator(".mdp input[type=range]").fill(str(step))
        assert page.inner_text(".mdp .where").startswith(f"state s{8 * step}")
        assert "not drawn" not in page.inner_text(".mdp .where")
        assert page.evaluate(IN_SIGHT) == []


def test_type_grows_with_the_window_and_a_small_machine_fills_its_pane(open_run: Opener) -> None:
    sizes, fills = [], []
    for size in (PROJECTOR, (1920, 1080)):
        page = open_run(runs.price(), size).page
        sizes.append(page.evaluate("parseFloat(getComputedStyle(document.querySelector('.mdp')).fontSize)"))
        box, svg = (page.locator(f".mdp .{part}").bounding_box() for part in ("machine-box", "machine"))
        fills.append(svg["width"] / box["width"])
    assert sizes == pytest.approx([16, 23.76], abs=0.1)
    assert min(fills) > 0.95


def test_at_the_end_the_whole_text_stands_where_the_table_was(open_run: Opener) -> None:
    page = open_run(runs.scripted("(hello ){1,30}", ["</s>", "hello "], [1] * 30 + [0])).page
    assert not page.is_visible(".mdp .result")
    page.keyboard.press("End")
    assert page.inner_text(".mdp .outcome") == "✓ a whole match"
    assert page.text_content(".mdp .said") == "hello " * 30
    assert page.locator(".mdp .pieces .block").count() == 31
    assert page.evaluate(
        "document.querySelector('.mdp .said').scrollWidth <= document.querySelector('.mdp .right').clientWidth"
    )
    assert not page.is_visible(".mdp .columns")
    assert page.locator(".mdp .track > *").count() == 0, "no bar is left behind"
    picture(page, "end")
    page.keyboard.press("ArrowLeft")
    assert not page.is_visible(".mdp .result")


def test_a_run_that_was_cut_says_so_at_the_end(open_run: Opener) -> None:
    page = open_run(runs.scripted(runs.PRICE, runs.PRICE_TOKENS, [2, 3])).page
    page.keyboard.press("End")
    assert page.inner_text(".mdp .outcome") == "✕ not a whole match"


def test_two_lines_are_kept_for_every_sentence_and_the_facts_stay_on_one(open_run: Opener) -> None:
    page = open_run(runs.price()).page
    heights = set()
    for step in range(5):
        page.locator(".mdp input[type=range]").fill(str(step))
        heights.add(
            tuple(
                page.locator(f".mdp {part}").bounding_box()["height"]
                for part in (".why", ".facts", ".controls")
            )
        )
        assert page.evaluate("(e => e.scrollWidth <= e.clientWidth)(document.querySelector('.mdp .facts'))")
    assert len(heights) == 1
    assert heights.pop()[0] >= 2 * 17 * 1.4


def test_bars_have_one_scale_for_all_steps_and_a_legend(open_run: Opener) -> None:
    page = open_run(runs.price()).page
    page.locator(".mdp input[type=range]").fill("2")
    shares = page.evaluate("""() => [...document.querySelectorAll(".mdp .track")].filter((track) => track.children.length)
        .map((track) => track.firstChild.getBoundingClientRect().width / track.clientWidth)""")
    assert shares[:2] == pytest.approx([c.before for c in runs.price().steps[2].candidates[:2]], abs=0.01)
    assert page.inner_text(".mdp .axis").split() == ["0", "50", "100", "%"]
    legend = page.inner_text(".mdp .legend")
    assert [word in legend for word in ("drawn next", "before the mask", "after", "✕ blocked")] == [True] * 4


def test_a_dot_is_larger_than_a_letter_in_the_machine_the_table_and_the_text(open_run: Opener) -> None:
    page = open_run(runs.scripted(runs.PRICE, runs.PRICE_TOKENS, [2, 3, 6, 6, 0])).page
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    settle(page)
    size = "(node) => [parseFloat(getComputedStyle(node).fontSize), Number(getComputedStyle(node).fontWeight) >= 700]"
    edges = [page.locator(f"[id=edge-{name}] text").evaluate(size) for name in ("s1-s2", "s0-s1")]
    blocks = [page.locator(".mdp .strip .block").nth(i).evaluate(size) for i in (1, 0)]
    tokens = {row.inner_text(): row.evaluate(size) for row in page.locator(".mdp .row .token").all()}
    for dot, other in (edges, blocks, (tokens["."], tokens["1."])):
        assert dot[0] >= 1.3 * other[0]
        assert dot[1]


@pytest.mark.parametrize("size", [PROJECTOR, PHONE], ids=["projector", "phone"])
def test_a_long_pattern_can_be_read_whole(open_run: Opener, size: tuple[int, int]) -> None:
    pattern = r'\{"product": "[a-z]+", "stars": [1-5], "summary": "[a-z ]+"\}' + "x?" * 40
    page = open_run(replace(runs.price(), pattern=pattern), size).page
    code = page.locator(".mdp header code")
    assert code.get_attribute("title") == pattern
    assert code.evaluate("(e) => e.scrollWidth <= e.clientWidth")
    assert code.evaluate("(e) => e.scrollHeight <= e.clientHeight + 1 || e.tabIndex === 0")


# ---------------------------------------------------------------- the stack, the search, the address, the exports


def test_of_a_grammar_the_stack_is_drawn_with_the_innermost_rule_on_top_and_live(open_run: Opener) -> None:
    trace = runs.nested()
    page = open_run(trace).page
    for step in trace.steps:
        frames = page.evaluate(
            "[...document.querySelectorAll('.mdp .frame:not(.empty)')].map((f) => f.innerText.split(/\\s+/).join(':'))"
        )
        assert frames == list(reversed(step.stack))
        assert page.locator(".mdp .frame.live").count() == (1 if step.stack else 0)
        if step.stack:
            assert page.locator(".mdp .frame:not(.empty)").first.get_attribute("class").split()[1] == "live"
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".mdp .where").endswith("3 rules open · 2 opened · 1 closed")


def test_of_a_deep_stack_the_innermost_rules_are_in_sight_and_all_are_counted(open_run: Opener) -> None:
    depth, tokens = 15, ["</s>", "[", "]", "1"]
    constraint = md.compile_grammar(runs.JSON_GRAMMAR, md.Vocabulary.from_tokens(tokens, eos="</s>"))
    wanted = [1] * depth + [3] + [2] * depth + [0]
    rows = {tuple(wanted[:k]): [3.0 * (i == t) for i in range(4)] for k, t in enumerate(wanted)}
    trace = md.generate(TableModel(4, rows), [], constraint=constraint, max_tokens=len(wanted)).trace
    page = open_run(trace, PHONE).page
    page.locator(".mdp input[type=range]").fill(str(depth))
    assert page.inner_text(".mdp .where").endswith(f"{depth + 2} rules open")
    seen = page.evaluate("""() => { const [list, live] = [".frames", ".frame.live"].map((part) => document.querySelector(`.mdp ${part}`).getBoundingClientRect());
        return list.top <= live.top + 1 && live.bottom <= list.bottom + 1; }""")
    assert seen
    picture(page, "deep")


def test_where_a_run_was_cut_its_last_stack_is_said_to_be_unknown(open_run: Opener) -> None:
    trace = runs.nested()
    page = open_run(replace(trace, steps=trace.steps[:4], finish_reason="length", is_complete=False)).page
    page.keyboard.press("End")
    assert page.inner_text(".mdp .where").endswith("its stack is not recorded")


def test_a_typed_token_says_why_and_one_that_was_not_recorded_says_so(open_run: Opener) -> None:
    page = open_run(runs.price()).page
    page.locator(".mdp input[type=range]").fill("2")
    page.focus(".mdp")
    page.keyboard.press("/")
    page.keyboard.type("50")
    assert page.inner_text(".mdp .why").startswith("50 dies at byte 2 of 2: 5 moves s3 → s4")
    assert page.locator(".mdp .row:enabled").all_inner_texts()[0].split()[0] == "50"
    assert position(page)[0] == 2, "letters and arrows stay in the field"
    page.keyboard.press("Escape")
    assert (
        page.input_value(".mdp input[type=search]"),
        page.evaluate("document.activeElement.className"),
    ) == ("", "mdp")
    page.fill(".mdp input[type=search]", "#0")
    assert "</s> comes too early" in page.inner_text(".mdp .why")
    page.fill(".mdp input[type=search]", "<img onerror=1>")
    assert page.inner_text(".mdp .why") == "<img␣onerror=1> is no token of this vocabulary."
    trace = runs.nested()
    assert len(trace.steps[0].candidates) < trace.vocabulary_size
    page = open_run(trace).page
    page.fill(".mdp input[type=search]", "xyz")
    assert page.inner_text(".mdp .why") == "xyz is not recorded at this step: open in the lab."


def test_the_address_says_where_we_are_and_leads_there(open_run: Opener) -> None:
    page = open_run(runs.price()).page
    file = page.url
    assert "#" not in file
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.wait_for_url(f"{file}#step=2")
    page.click(".mdp .row.blocked >> nth=0")
    page.wait_for_url(f"{file}#step=2&token=5")
    page.reload()
    assert position(page)[0] == 2
    assert page.inner_text(".mdp .why").startswith("50 dies at byte 2 of 2")
    page.evaluate("location.hash = '#step=1&byte=1'")
    page.wait_for_selector(".mdp[data-byte='1']")
    for fragment, step in (("#step=999", 4), ("#step=-1&byte=x", 0), ("#step=1&byte=99", 1)):
        page.goto(f"{file}{fragment}")
        page.reload()
        assert position(page)[0] == step


def test_the_speed_goes_round_and_plays_faster(open_run: Opener) -> None:
    page = open_run(runs.price()).page
    seen = []
    for _ in range(4):
        page.keyboard.press("s")
        seen.append(page.inner_text(".mdp .speed"))
    assert seen == ["2×", "4×", "½×", "1×"]
    assert page.get_attribute(".mdp .speed", "aria-label") == "speed 1×"


@pytest.mark.parametrize("run", ["price", "hostile", "two"])
def test_the_page_gives_back_svg_png_and_the_trace(open_run: Opener, tmp_path: Path, run: str) -> None:
    shown = two_prices() if run == "two" else getattr(runs, run)()
    page = open_run(shown, color_scheme="dark").page
    page.keyboard.press("ArrowRight")
    settle(page)
    files = {}
    for kind in ("svg", "png", "json"):
        page.keyboard.press("e")
        with page.expect_download() as download:
            page.click(f".mdp .saves .{kind}")
        assert download.value.suggested_filename == {"json": "run.json"}.get(kind, f"run-step-1.{kind}")
        files[kind] = tmp_path / f"saved.{kind}"
        download.value.save_as(files[kind])
    picture_ = ElementTree.parse(files["svg"])
    assert not {node.tag.rpartition("}")[2] for node in picture_.iter()} & {
        "script",
        "img",
        "foreignObject",
        "image",
    }
    text = "".join(picture_.getroot().itertext())
    assert {
        "price": runs.PRICE,
        "hostile": runs.HOSTILE.replace(" ", "␣"),
        "two": "The runs part at token 2",
    }[run] in text
    assert files["png"].read_bytes().startswith(b"\x89PNG")
    assert int.from_bytes(files["png"].read_bytes()[16:20], "big") == 2 * PROJECTOR[0]
    data = json.loads(files["json"].read_text())
    traces = [Trace.from_json(json.dumps(one)) for one in (data if run == "two" else [data])]
    assert tuple(traces) == (shown if run == "two" else (shown,))


def test_the_help_and_the_exports_are_never_open_together(open_run: Opener) -> None:
    page = open_run(runs.price()).page
    page.keyboard.press("?")
    page.keyboard.press("e")
    assert (page.is_visible(".mdp .keys"), page.is_visible(".mdp .saves")) == (False, True)
    page.keyboard.press("Escape")
    assert not page.is_visible(".mdp .saves")
    assert page.evaluate("document.activeElement.className") == "save", "the keys are not lost"


# ---------------------------------------------------------------- two runs


def two_prices() -> tuple[Trace, Trace]:
    return runs.price(), runs.scripted(runs.PRICE, runs.PRICE_TOKENS, [2, 3, 6, 6, 0])


def halves(page: Any) -> list[tuple[str, str]]:
    found = page.evaluate(
        "[...document.querySelectorAll('.mdp .side')].map((half) => [half.dataset.step, half.dataset.byte])"
    )
    return [(step, byte) for step, byte in found]


def test_two_runs_step_together_and_show_where_they_part(open_run: Opener) -> None:
    page = open_run(two_prices()).page
    assert page.inner_text(".mdp .parting") == "≠ The runs part at token 2: A draws .5, B draws .."
    for step in range(1, 6):
        page.keyboard.press("ArrowRight")
        assert halves(page) == [(str(min(step, 4)), "0"), (str(step), "0")], (
            "the shorter one waits at its end"
        )
        settle(page)
    assert page.inner_text(".mdp .count") == "step 5 / 5"
    assert page.locator(".mdp .parts-here").all_inner_texts() == [".5", "."]
    assert page.is_disabled(".mdp .next")
    page.keyboard.press("ArrowLeft")
    assert halves(page) == [("4", "0"), ("4", "0")]
    page.keyboard.press("d")
    assert halves(page) == [("1", "0"), ("1", "0")]
    page.locator(".mdp input[type=range]").fill("3")
    assert halves(page) == [("3", "0"), ("3", "0")]
    assert page.text_content(".mdp [aria-live]").startswith("A: Step 3 of 4")


def test_in_byte_view_the_shorter_token_waits_for_the_longer(open_run: Opener) -> None:
    page = open_run(two_prices()).page
    page.keyboard.press("b")
    page.keyboard.press("d")
    seen = []
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        settle(page)
        seen.append(halves(page))
    assert seen == [[("1", "1"), ("2", "0")], [("2", "0"), ("2", "0")], [("3", "0"), ("3", "0")]]


@pytest.mark.parametrize("size", [PROJECTOR, (1920, 1080), PHONE], ids=["projector", "full-hd", "phone"])
def test_two_runs_fit_a_projector_and_stand_one_above_the_other_on_a_phone(
    open_run: Opener, size: tuple[int, int]
) -> None:
    page = open_run((runs.nested(), runs.price()), size).page
    for _ in range(2):
        page.keyboard.press("ArrowRight")
        settle(page)
    boxes = [half.bounding_box() for half in page.locator(".mdp .side").all()]
    assert overlaps(boxes) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    parts = [
        box
        for part in ("header", ".sofar", ".left", ".right", "footer")
        for box in [page.locator(f".mdp .side >> nth=0 >> css={part}").bounding_box()]
    ]
    assert overlaps(parts) == []
    if size == PHONE:
        assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"]
    else:
        assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    picture(page, f"two-{size[0]}")


# ---------------------------------------------------------------- large


def test_a_thousand_states_and_five_hundred_steps_stay_usable(
    open_run: Opener, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = sorted({"".join(chance.choice(letters) for _ in range(6)) for _ in range(380)})
    text = "".join(chance.choice(words[:40]) + " " for _ in range(71))
    tokens = ["</s>", *letters, " ", *(a + b for a in letters for b in "aeiou")]
    wanted = [tokens.index(char) for char in text]
    trace = runs.scripted("((" + "|".join(words) + ") )+", tokens, wanted)
    assert trace.machine is not None
    assert len(trace.machine.states) + trace.machine.left_out > 1_000
    assert len(trace.steps) > 490
    page = open_run(trace).page
    size = file_of(page).stat().st_size
    assert size < 2_000_000
    times = page.evaluate("""() => { const slider = document.querySelector(".mdp input[type=range]");
        return [...Array(40).keys()].map((i) => { const start = performance.now(); slider.value = 440 + i;
            slider.dispatchEvent(new Event("input")); document.body.getBoundingClientRect(); return performance.now() - start; }); }""")
    page.keyboard.press("ArrowLeft")
    settle(page)
    assert page.evaluate(IN_SIGHT) == []
    assert 0 < page.locator(".mdp .node.near").count() < page.locator(".mdp .node").count() / 2
    picture(page, "thousand")
    with capsys.disabled():
        print(
            f"\n{len(trace.steps)} steps, {len(trace.machine.states) + trace.machine.left_out} states: page {size / 1e6:.2f} MB, "
            f"a step {sorted(times)[20]:.0f} ms (median), {max(times):.0f} ms (slowest of 40)"
        )
