"""The lessons keep the contract of a lesson, and still print what is committed.

What a reader meets comes first: the order of the parts, their length, pictures that are there without a
kernel. Then each notebook is run again. Looks are judged in a browser (`test_notebook_in_jupyterlab`).
"""

from __future__ import annotations

import json
import os
import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from minidecoder.models.smollm2_files import where
from tests import notebook_runner as runner
from tests.notebook_runner import PLOTLY, PNG, ROOT, SVG, WIDGET, code_cells, tags

LESSONS = runner.notebooks()
each_lesson = pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)


@pytest.fixture
def lesson(path: Path) -> NotebookNode:
    return runner.read(path)


def prose(notebook: NotebookNode) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]


def outputs(notebook: NotebookNode) -> Iterator[NotebookNode]:
    for cell in code_cells(notebook):
        yield from cell.outputs


def tagged(notebook: NotebookNode, tag: str) -> list[int]:
    return [number for number, cell in enumerate(notebook.cells) if tag in tags(cell)]


def test_there_are_lessons() -> None:
    assert LESSONS
    assert all(re.fullmatch(r"\d\d_[a-z0-9_]+", path.stem) for path in LESSONS)


# -- the parts of a lesson ------------------------------------------------------------------------------


@each_lesson
def test_the_title_is_a_claim(lesson: NotebookNode) -> None:
    first = lesson.cells[0]
    assert first.cell_type == "markdown"
    title = re.match(r"# (.+)", first.source)
    assert title, "the first cell begins with '# '"
    assert len(title[1].split()) >= 4, "a claim is a sentence, not a topic"


@each_lesson
def test_the_sections_stand_in_the_order_of_every_lesson(lesson: NotebookNode) -> None:
    headings = [line[3:] for text in prose(lesson) for line in text.splitlines() if line.startswith("## ")]
    fixed = ["What you will be able to do", "What this leaves out", "Exercise", "Sources"]
    assert [heading for heading in headings if heading in fixed] == fixed
    assert headings[-3:] == fixed[1:]


@each_lesson
def test_a_failure_is_on_screen_before_the_goals_are(lesson: NotebookNode) -> None:
    cold_open = tagged(lesson, "cold-open")
    goals = next(i for i, cell in enumerate(lesson.cells) if "## What you will be able to do" in cell.source)
    assert cold_open
    assert max(cold_open) < goals
    assert any(lesson.cells[i].get("outputs") for i in cold_open)


@each_lesson
def test_the_reader_predicts_then_runs_then_reads_why(lesson: NotebookNode) -> None:
    order = [
        (name, lesson.cells[i])
        for i in range(len(lesson.cells))
        for name in ("predict", "run", "explain")
        if name in tags(lesson.cells[i])
    ]
    assert len(order) >= 9
    assert [name for name, _ in order] == ["predict", "run", "explain"] * (len(order) // 3)
    for name, cell in order:
        if name == "predict":
            assert "**Predict.**" in cell.source
            assert "?" in cell.source, f"a prediction is a question: {cell.source[:80]}"
        elif name == "run":
            assert cell.cell_type == "code"
            assert cell.outputs
        else:
            assert cell.source.startswith("**Explain.**")


@each_lesson
def test_a_question_is_followed_by_its_run_at_once(lesson: NotebookNode) -> None:
    for number in tagged(lesson, "predict"):
        assert "run" in tags(lesson.cells[number + 1])
        assert "explain" in tags(lesson.cells[number + 2])


@each_lesson
def test_the_idea_is_built_once_and_agrees_with_the_package(lesson: NotebookNode) -> None:
    (built,) = tagged(lesson, "built-here")
    assert len(lesson.cells[built].source.splitlines()) <= 30
    later = [cell.source for cell in lesson.cells[built + 1 :] if cell.cell_type == "code"]
    assert any("from minidecoder" in source and "assert " in source for source in later)


@each_lesson
def test_one_signature_picture_can_be_moved_and_has_a_static_form(lesson: NotebookNode) -> None:
    (signature,) = tagged(lesson, "signature")
    (output,) = lesson.cells[signature].outputs
    assert PNG in output.data, "without a kernel there is nothing to see"
    assert SVG not in output.data, "a code host would show the bare machine in place of the picture"
    assert output.data.get("text/plain")


@each_lesson
def test_the_exercise_has_the_name_of_the_lesson(path: Path, lesson: NotebookNode) -> None:
    assert f"exercises/{path.stem}" in "\n".join(prose(lesson))


# -- its length -----------------------------------------------------------------------------------------


@each_lesson
def test_a_lesson_is_as_long_as_a_lesson_and_says_how_many_minutes(lesson: NotebookNode) -> None:
    assert re.search(r"\b\d\d minutes\b", lesson.cells[0].source)
    assert 40 <= len(lesson.cells) <= 80
    assert 1000 <= sum(len(text.split()) for text in prose(lesson)) <= 2000


@each_lesson
def test_code_cells_are_short(lesson: NotebookNode) -> None:
    lengths = [len(cell.source.splitlines()) for cell in code_cells(lesson)]
    assert statistics.median(lengths) <= 8
    assert max(lengths) <= 30
    widest = max((line for cell in code_cells(lesson) for line in cell.source.splitlines()), key=len)
    assert len(widest) <= 100, f"on a projector this needs scrolling: {widest}"


@each_lesson
def test_no_loop_runs_for_ever_when_a_learner_changes_the_code(lesson: NotebookNode) -> None:
    """A kernel that hangs has nothing to say: a `while` has a bound that no model or pattern can move."""
    lines = [line.strip() for cell in code_cells(lesson) for line in cell.source.splitlines()]
    assert not [line for line in lines if line.startswith("while ") and "<" not in line]


@each_lesson
def test_a_lesson_is_a_small_file(path: Path) -> None:
    assert path.stat().st_size <= 300_000


# -- the file -------------------------------------------------------------------------------------------


@each_lesson
def test_the_file_is_valid_and_tidy(path: Path, lesson: NotebookNode) -> None:
    nbformat.validate(lesson)
    assert lesson == runner.tidy(nbformat.from_dict(lesson)), "run python -m tests.notebook_runner --write"
    assert path.read_text(encoding="utf-8") == nbformat.writes(lesson) + "\n"


@each_lesson
def test_any_python_3_kernel_opens_it(lesson: NotebookNode) -> None:
    assert lesson.metadata.kernelspec.name == "python3"
    assert lesson.metadata.kernelspec.display_name == "Python 3"


@each_lesson
def test_no_state_of_a_widget_is_stored(lesson: NotebookNode) -> None:
    assert "widgets" not in lesson.metadata
    assert all(WIDGET not in output.get("data", {}) for output in outputs(lesson))


@each_lesson
def test_every_code_cell_was_run_in_order_and_none_complained(lesson: NotebookNode) -> None:
    counts = [cell.execution_count for cell in code_cells(lesson)]
    assert counts == list(range(1, len(counts) + 1))
    for output in outputs(lesson):
        assert output.output_type != "error"
        assert output.get("name") != "stderr", output.text


@each_lesson
def test_no_place_on_a_machine_is_named(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    places = [str(ROOT), sys.prefix, os.path.expanduser("~")]
    assert not [place for place in places if len(place) > 3 and json.dumps(place)[1:-1] in text]
    assert not re.findall(r'(?<![\w.])(?:/home/|/root/|/Users/|/tmp/|/usr/|[A-Z]:\\\\)[^\s"]*', text)


@each_lesson
def test_no_cell_reaches_out(lesson: NotebookNode) -> None:
    """What the kernel refuses while the notebook runs; here, what a browser might load."""
    for cell in code_cells(lesson):
        assert not re.search(r"https?://|pip install|^\s*[!%]", cell.source, re.MULTILINE)
    for output in outputs(lesson):
        page = output.get("data", {}).get("text/html", "")
        assert not re.search(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=[\"']?(?:https?:)?//", page)


@each_lesson
def test_what_only_a_running_notebook_can_draw_has_a_picture_beside_it(lesson: NotebookNode) -> None:
    """JupyterLab shows neither SVG nor plotly of a notebook that this user has not run."""
    for output in outputs(lesson):
        if {PLOTLY, SVG} & set(output.get("data", {})):
            assert PNG in output.data
        assert "application/javascript" not in output.get("data", {})


@each_lesson
def test_every_picture_says_in_words_what_it_shows(lesson: NotebookNode) -> None:
    for text in prose(lesson):
        assert not re.search(r"!\[\s*\]\(", text), "![what it shows](…)"
        assert all(re.search(r'\balt="[^"]', image) for image in re.findall(r"<img[^>]*>", text))
    for output in outputs(lesson):
        data = output.get("data", {})
        if PNG in data:
            assert output.metadata.get(PNG, {}).get("alt"), "metadata['image/png']['alt'] is empty"
        for picture in re.findall(r"<svg[^>]*>", data.get(SVG, "") + data.get("text/html", "")):
            assert re.search(r'aria-label="[^"]|aria-hidden="true"', picture), picture


@each_lesson
def test_every_picture_has_a_caption_because_exported_pages_drop_its_alternative_text(
    lesson: NotebookNode,
) -> None:
    for number, cell in enumerate(lesson.cells):
        if any(PNG in output.get("data", {}) for output in cell.get("outputs", [])):
            assert lesson.cells[number + 1].source.startswith("*The picture: "), cell.source[:80]


@each_lesson
def test_text_that_a_reader_may_copy_has_no_hidden_characters(lesson: NotebookNode) -> None:
    for cell in lesson.cells:
        assert not re.search("[\u00a0\u200b\u202a-\u202e\ufeff]", cell.source)


# -- run again --------------------------------------------------------------------------------------------


@pytest.mark.timeout(runner.TOTAL_SECONDS + 60)
@each_lesson
def test_a_fresh_run_shows_what_is_committed(lesson: NotebookNode) -> None:
    installed = where().wheel is not None
    skipped = runner.UNCOMPARED if installed else {*runner.UNCOMPARED, "model"}
    fresh = runner.tidy(runner.execute(lesson))
    assert all(output.get("name") != "stderr" for output in outputs(fresh))
    found = runner.differences(lesson, fresh, skip=skipped)
    assert not found, "\n\n".join(found)
    if not installed:
        reason = "the cells that ask SmolLM2 were not compared: python -m minidecoder model install"
        pytest.fail(reason) if os.environ.get("MINIDECODER_REQUIRE_ALL") == "1" else pytest.skip(reason)


@pytest.mark.timeout(runner.TOTAL_SECONDS + 60)
@each_lesson
def test_without_the_model_a_sentence_says_what_to_type_and_nothing_breaks(lesson: NotebookNode) -> None:
    if not tagged(lesson, "model"):
        pytest.skip("this lesson asks no model")
    fresh = runner.tidy(runner.execute(lesson, startup=[runner.WITHOUT_MODEL]))
    said = "".join(output.get("text", "") for output in outputs(fresh))
    assert said.count("python -m minidecoder model install") == 1
    assert not runner.differences(lesson, fresh, skip={*runner.UNCOMPARED, "model"})
