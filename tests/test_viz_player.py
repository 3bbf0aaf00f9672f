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
    assert set(sent) == {"trace", "svg", "shown"}
    assert 'id="state-s4"' in sent["svg"]
    assert len(sent["trace"]["steps"]) == 4
    assert sent["trace"]["text"] == "12.50"
    assert sent["trace"]["steps"][1]["path"] == [[ord("."), "s2"], [ord("5"), "s3"]]
    assert "font-family" not in sent["svg"], "the style sheet says it once for all"


def test_the_trace_is_sent_as_it_is_so_that_the_page_can_give_it_back() -> None:
    sent = player.recording_of(runs.age())["trace"]
    assert Trace.from_json(json.dumps(sent)) == runs.age()


def test_a_step_names_the_tokens_that_get_a_row_and_the_drawn_one_is_among_them() -> None:
    trace = runs.scripted("[ w0-9]+", ["</s>", *(f" w{i}" for i in range(300))], [5, 6, 7])
    for step, places in zip(trace.steps, player.recording_of(trace)["shown"], strict=True):
        assert len(places) == player.ROWS < len(step.candidates)
        assert step.token_id in {step.candidates[place].token_id for place in places}


def other_price(wanted: list[int]) -> Trace:
    return runs.scripted(runs.PRICE, runs.PRICE_TOKENS, wanted)


@pytest.mark.parametrize(
    ("a", "b", "place"),
    [
        ([2, 4, 6, 0], [2, 4, 6, 0], None),
        ([2, 4, 6, 0], [2, 3, 6, 6, 0], 1),
        ([2, 4, 6, 0], [2, 4, 6], 3),
        ([1, 4], [2, 4], 0),
    ],
    ids=["the same", "another token", "one is shorter", "at once"],
)
def test_two_runs_part_at_the_first_token_that_is_not_the_same(
    a: list[int], b: list[int], place: int | None
) -> None:
    one, two = other_price(a), other_price(b)
    assert player.first_divergence(one, two) == player.first_divergence(two, one) == place


def test_runs_of_two_vocabularies_are_compared_by_what_the_tokens_say() -> None:
    one = runs.scripted("a+", ["</s>", "a"], [1, 1])
    two = runs.scripted("a+", ["</s>", "b", "a"], [2, 2])
    assert player.first_divergence(one, two) is None


def test_two_runs_are_sent_together_with_where_they_part(tmp_path: Path) -> None:
    pytest.importorskip("anywidget")
    sent = player.show(runs.price(), other_price([2, 3, 6, 6, 0])).get_state()["recording"]
    assert set(sent) == {"trace", "svg", "shown", "other", "divergence"}
    assert (sent["other"]["trace"]["text"], sent["divergence"]) == ("12.00", 1)
    page = player.save((runs.price(), runs.price()), tmp_path / "two.html").read_text()
    assert '"divergence":null' in page


def test_without_a_widget_two_runs_are_two_tables_and_one_picture() -> None:
    pytest.importorskip("anywidget")
    data, _ = player.show(runs.price(), runs.nested())._repr_mimebundle_()
    assert data["text/plain"] == f"{still_text(runs.price())}\n\n{still_text(runs.nested())}"
    picture = ElementTree.fromstring(data["image/svg+xml"])
    first, second = (child for child in picture if child.tag.endswith("}svg"))
    assert second.attrib["y"] == first.attrib["height"]
    assert int(picture.attrib["height"]) == int(first.attrib["height"]) + int(second.attrib["height"])


def test_three_runs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="one run, or two side by side, not 3"):
        player.save((runs.price(),) * 3, tmp_path / "three.html")  # type: ignore[arg-type]


def test_of_a_large_machine_the_edges_that_the_run_took_are_drawn_all() -> None:
    whole = runs.scripted("[a-z]{400,999}", ["</s>", "a", "é"], [1] * 450)
    trace = replace(whole, machine=replace(whole.machine, edges=whole.machine.edges[:300]))
    kept = {(edge.source, edge.target) for edge in trace.machine.edges}
    assert ("s440", "s441") not in kept, "as of a machine with too many edges"
    svg = player.machine_picture(trace)
    assert 'id="edge-s440-s441"' in svg
    assert "a …" in svg
    assert player._with_its_way(runs.emoji().machine, runs.emoji().steps) == runs.emoji().machine


def test_no_edge_is_made_up_where_a_long_path_was_cut() -> None:
    trace = runs.scripted("x{500}", ["</s>", "x" * 100], [1] * 5)
    edges = player._with_its_way(trace.machine, trace.steps).edges
    assert all(int(edge.target[1:]) == int(edge.source[1:]) + 1 for edge in edges)


def test_every_module_beside_the_player_is_part_of_it() -> None:
    own = {file.name for file in FOLDER.glob("*.mjs") if not file.name.startswith("lab")}
    assert {f"{name}.mjs" for name in player._MODULES} == own
    assert player._MODULES[-1] == "player"


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
    drawn = still_svg(trace, player.machine_picture(trace))
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
    module = player.player_module()
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|fetch\(", module
    )


def test_without_anywidget_only_the_call_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    player._player_class.cache_clear()
    with pytest.raises(MissingDependencyError, match="anywidget is not installed: pip install"):
        player.show(runs.price())


def test_a_run_without_a_constraint_has_no_machine_to_send() -> None:
    assert player.recording_of(runs.free())["svg"] == ""
    assert "no constraint" in still_text(runs.free())


def test_a_large_machine_is_drawn_around_the_states_the_run_went_through() -> None:
    trace = runs.scripted("x{1,200}", ["</s>", "x"], [1, 1, 1])
    svg = player.machine_picture(trace)
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
    sent = player.recording_of(replace(trace, machine=replace(trace.machine, edges=edges)))["svg"]
    assert 'x fill="y"' in "".join(ElementTree.fromstring(sent).itertext())
