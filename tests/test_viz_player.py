from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

import minidecoder.viz
from minidecoder.errors import MissingDependencyError, UsageError
from minidecoder.lens.trace import Trace
from minidecoder.viz import player
from minidecoder.viz.still import still_svg, still_text
from tests import recorded_runs as runs

FOLDER = Path(minidecoder.viz.__file__).parent


@pytest.fixture
def widget() -> object:
    pytest.importorskip("anywidget")
    return player.show(runs.price())


def test_the_widget_carries_the_whole_trace_and_the_machine_in_one_traitlet(widget: object) -> None:
    sent = widget.get_state()["recording"]
    assert set(sent) == {"trace", "svg"}
    assert 'id="state-s4"' in sent["svg"]
    assert len(sent["trace"]["steps"]) == 4
    assert sent["trace"]["text"] == "12.50"
    assert sent["trace"]["steps"][1]["path"] == [[ord("."), "s2"], [ord("5"), "s3"]]
    assert "font-family" not in sent["svg"], "the style sheet says it once for all"


def test_only_the_tokens_that_get_a_bar_are_sent() -> None:
    sent = player._recording(runs.age())["trace"]
    assert all(len(step["candidates"]) <= player.ROWS for step in sent["steps"])
    for step, whole in zip(sent["steps"], runs.age().steps, strict=True):
        assert whole.token_id in {candidate["token_id"] for candidate in step["candidates"]}


def test_the_mime_bundle_keeps_a_picture_and_a_text_beside_the_widget(widget: object) -> None:
    data, _ = widget._repr_mimebundle_()
    assert set(data) == {"application/vnd.jupyter.widget-view+json", "image/svg+xml", "text/plain"}
    assert "favourite ✕ blocked" in data["text/plain"]
    assert ElementTree.fromstring(data["image/svg+xml"]).attrib["role"] == "img"


def test_the_still_text_is_a_table_of_the_steps() -> None:
    lines = still_text(runs.price()).splitlines()
    assert lines[0] == r"[0-9]+\.[0-9]{2}  →  12.50"
    assert lines[3].split("  ")[0] == "2"
    assert re.split(r"\s{2,}", lines[4]) == [
        "3",
        "s3",
        "0",
        "s4",
        "allowed 3 of 9 · mass kept 37 % · favourite ✕ blocked",
    ]
    assert lines[5].endswith("allowed 1 of 9 · model not asked")


@pytest.mark.parametrize(
    "trace", [runs.price(), runs.age(), runs.emoji(), runs.hostile(), runs.free()], ids=str
)
def test_the_still_picture_is_well_formed_and_shows_every_token_as_text(trace: Trace) -> None:
    drawn = still_svg(trace, player._machine_svg(trace))
    shown = "".join(ElementTree.fromstring(drawn).itertext())
    assert all(step.label.removeprefix("■ ")[:15] in shown for step in trace.steps)
    assert "<script" not in drawn
    assert "<img" not in drawn


def test_a_long_run_is_cut_in_the_still_picture_and_says_so() -> None:
    trace = runs.scripted("x+", ["</s>", "x"], [1] * 20)
    assert "and 8 more steps" in still_svg(trace)


def test_the_saved_page_is_small_and_its_path_comes_back(tmp_path: Path) -> None:
    path = player.save(runs.age(), tmp_path / "age.html")
    assert path == tmp_path / "age.html"
    assert 20_000 < path.stat().st_size < 500_000


def test_the_saved_page_holds_the_widgets_own_module_and_loads_nothing(tmp_path: Path) -> None:
    page = player.save(runs.price(), tmp_path / "price.html").read_text("utf-8")
    assert player.show(runs.price())._esm in page
    assert (FOLDER / "player.mjs").read_text("utf-8") in page
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)\s*=|@import|url\(|\bimport\s*\(", page.split('id="recording"')[0])


def test_nothing_inside_the_page_can_end_its_scripts(tmp_path: Path) -> None:
    page = player.save(runs.hostile(), tmp_path / "hostile.html").read_text("utf-8")
    assert page.count("</script>") == page.count("<script ") == 2
    data = page.split('id="recording">')[1].split("</script>")[0]
    assert "<" not in data
    assert json.loads(data)["trace"]["steps"][0]["label"] == runs.HOSTILE.replace(" ", "␣")


def test_a_pattern_in_the_title_is_escaped(tmp_path: Path) -> None:
    trace = runs.scripted("<b>x", ["</s>", "<b>x"], [1, 0])
    assert "<title>&lt;b&gt;x –" in player.save(trace, tmp_path / "title.html").read_text("utf-8")


def test_the_module_writes_text_only_as_text() -> None:
    module = player._module()
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|fetch\(", module
    )


def test_without_anywidget_only_the_call_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    player._player_class.cache_clear()
    with pytest.raises(MissingDependencyError, match="anywidget is not installed: pip install"):
        player.show(runs.price())


def test_a_run_without_a_constraint_has_no_machine_to_send() -> None:
    assert player._recording(runs.free())["svg"] == ""
    assert "no constraint" in still_text(runs.free())


def test_a_large_machine_is_drawn_around_the_states_the_run_went_through() -> None:
    trace = runs.scripted("x{1,200}", ["</s>", "x"], [1, 1, 1])
    svg = player._machine_svg(trace)
    assert 'id="state-s3"' in svg
    assert 'id="state-s5"' in svg
    assert 'id="state-s6"' not in svg
    assert "more states are not drawn" in svg


def test_a_run_is_as_good_as_its_trace_and_anything_else_is_told_what_to_pass(tmp_path: Path) -> None:
    trace = runs.price()
    run = SimpleNamespace(trace=trace)
    saved = [player.save(given, tmp_path / "a.html").read_bytes() for given in (trace, run)]
    assert saved[0] == saved[1]
    for wrong in ("abc", None, trace.steps[0]):
        with pytest.raises(UsageError, match=r"generate\(\) gave back, or its \.trace, not a"):
            player.save(wrong, tmp_path / "b.html")


def test_a_label_that_looks_like_an_attribute_is_sent_as_it_is() -> None:
    trace = runs.price()
    edges = tuple(replace(edge, label='x fill="y"') for edge in trace.machine.edges)
    sent = player._recording(replace(trace, machine=replace(trace.machine, edges=edges)))["svg"]
    assert 'x fill="y"' in "".join(ElementTree.fromstring(sent).itertext())
