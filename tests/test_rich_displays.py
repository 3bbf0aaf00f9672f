"""Every rich display has a static form: as text and as SVG from the object, as a PNG in a committed notebook.

And the exported page of a lesson, as `jupyter nbconvert --to html` makes it, shows every picture offline.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import minidecoder as md
from minidecoder.lens.trace import Trace
from minidecoder.viz import graph, player
from tests import notebook_runner as runner
from tests import recorded_runs as runs
from tests.browser import chromium
from tests.notebook_runner import PLOTLY, PNG, RECORDING, ROOT, SVG, WIDGET, code_cells

VOCABULARY = md.Vocabulary.from_tokens(runs.PRICE_TOKENS, eos="</s>")
PRICE = md.compile_regex(runs.PRICE, VOCABULARY)
LETTERS = md.Vocabulary.from_tokens(["</s>", *map(chr, range(32, 127))], eos="</s>")
NESTED = md.compile_grammar(runs.JSON_GRAMMAR, LETTERS)


def in_a_list() -> md.Matcher:
    matcher = NESTED.matcher()
    assert matcher.accept_string("[[1")
    return matcher


def rule_of_a_list() -> Any:
    in_a_list()  # a rule is made when a stack enters it
    automaton: Any = NESTED.automaton
    return graph.rule_machine(automaton, "array")


SHOWN: dict[str, Callable[[], Any]] = {
    "machine": lambda: graph.draw(PRICE.characters),
    "path": lambda: graph.draw(PRICE.characters, live="s3", path=["s4", "dead"], token="50"),
    "trace-machine": lambda: graph.draw(runs.emoji().machine),
    "tokens": lambda: graph.draw(graph.token_machine(PRICE)),
    "rule": lambda: graph.draw(rule_of_a_list()),
    "stack": lambda: graph.draw_stack(in_a_list()),
    "empty-stack": lambda: graph.draw_stack(()),
    "hostile-stack": lambda: graph.draw_stack((runs.HOSTILE, "a\x00b")),
    "player": lambda: player.show(runs.price()),
    "player-of-bytes": lambda: player.show(runs.emoji()),
    "player-with-a-stack": lambda: player.show(runs.nested()),
    "player-of-a-free-run": lambda: player.show(runs.free()),
    "player-of-a-hostile-run": lambda: player.show(runs.hostile()),
    "player-of-nothing": lambda: player.show(Trace.from_json(json.dumps(without_steps()))),
    "two-runs": lambda: player.show(runs.price(), runs.age()),
    "lab": lambda: md.lab(),
    "free-and-held": lambda: player.show(runs.free(), runs.price()),
}


def without_steps() -> dict[str, Any]:
    trace: dict[str, Any] = json.loads(runs.price().to_json())
    return {**trace, "steps": [], "finish_reason": "length", "is_complete": False}


def bundle(shown: Any) -> dict[str, Any]:
    made = shown._repr_mimebundle_()
    return made[0] if isinstance(made, tuple) else made


@pytest.mark.parametrize("name", SHOWN)
def test_a_display_says_itself_in_text_and_as_one_well_formed_drawing(name: str) -> None:
    data = bundle(SHOWN[name]())
    assert data["text/plain"].strip()
    assert "object at 0x" not in data["text/plain"]
    picture = ElementTree.fromstring(data[SVG])
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    assert picture.get("aria-label")
    assert float(picture.get("width", "0").removesuffix("pt")) > 0
    tags = {node.tag.rpartition("}")[2] for node in picture.iter()}
    assert not tags & {"script", "image", "foreignObject", "use", "img"}
    assert not [key for node in picture.iter() for key in node.attrib if key.lower().startswith("on")]
    links = [value for node in picture.iter() for key, value in node.attrib.items() if key.endswith("href")]
    assert links == []


def test_every_class_with_a_rich_display_is_looked_at_here() -> None:
    """Whoever adds a display adds it to SHOWN."""
    found = set()
    for file in sorted((ROOT / "minidecoder").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                methods = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
                if any(re.fullmatch(r"_repr_\w+_|_ipython_display_", method) for method in methods):
                    found.add(node.name)
    assert {type(make()).__name__ for make in SHOWN.values()} >= found


@pytest.mark.parametrize("name", SHOWN)
def test_what_a_plain_terminal_prints_is_short_of_markup(name: str) -> None:
    assert "<svg" not in bundle(SHOWN[name]())["text/plain"]


@pytest.mark.parametrize("path", runner.notebooks(), ids=lambda path: path.stem)
def test_a_committed_notebook_has_beside_each_moving_picture_what_stands_still(path: Path) -> None:
    """Plotly's figures: their own form for JupyterLab, a PNG for everybody, and alternative text."""
    kinds = []
    for cell in code_cells(runner.read(path)):
        for output in cell.outputs:
            data = output.get("data", {})
            assert WIDGET not in data
            if {PLOTLY, RECORDING, SVG} & set(data):
                kinds.append(next(kind for kind in (PLOTLY, RECORDING, SVG) if kind in data))
                assert data[PNG]
                assert output.metadata[PNG]["alt"]
            if {RECORDING, SVG} & set(data):
                assert data["text/plain"]
    assert RECORDING in kinds, "the player that can be moved is lost"


def test_a_stored_recording_is_a_trace_as_the_package_writes_it() -> None:
    (recording,) = recordings(runner.notebooks(["03"])[0])
    trace = Trace.from_json(json.dumps(recording["trace"]))
    assert trace.pattern == runs.PRICE
    assert [step.label for step in trace.steps][:3] == ["12", ".5", "0"]


def recordings(path: Path) -> Iterator[dict[str, Any]]:
    for cell in code_cells(runner.read(path)):
        yield from (output.data[RECORDING] for output in cell.outputs if RECORDING in output.get("data", {}))


@pytest.mark.parametrize("path", runner.notebooks(), ids=lambda path: path.stem)
def test_the_stock_export_shows_every_picture_offline(path: Path, tmp_path: Path) -> None:
    exporter = pytest.importorskip("nbconvert", reason="nbconvert comes with jupyterlab").HTMLExporter()
    page_file = tmp_path / "lesson.html"
    page_file.write_text(exporter.from_notebook_node(runner.read(path))[0], encoding="utf-8")
    outputs = [output for cell in code_cells(runner.read(path)) for output in cell.outputs]
    pictures = [output.data for output in outputs if {PNG, SVG} & set(output.get("data", {}))]
    with chromium() as browser:
        context = browser.new_context()
        # This template asks the network for MathJax and require.js; a reader without one must lose nothing.
        context.route(re.compile("^(?!file:)"), lambda route: route.abort())
        page = context.new_page()
        page.goto(page_file.as_uri(), wait_until="domcontentloaded")
        widths = page.evaluate(
            "[...document.querySelectorAll('.jp-OutputArea :is(img, svg)')]"
            ".map((picture) => picture.naturalWidth ?? picture.getBoundingClientRect().width)"
        )
        context.close()
    assert len(widths) == len(pictures) > 0
    assert all(width > 50 for width in widths)
