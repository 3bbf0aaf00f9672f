"""The comparison of two runs sees what a reader would see, and a kernel is kept on a short lead."""

from __future__ import annotations

import nbformat
import pytest
from nbformat import NotebookNode

from tests import notebook_runner as runner
from tests.notebook_runner import PLOTLY, SVG


def one_cell(*outputs: NotebookNode, tag: str = "") -> NotebookNode:
    cell = nbformat.v4.new_code_cell("show()", outputs=list(outputs))
    cell.id = "a"
    cell.metadata.tags = [tag] if tag else []
    return nbformat.v4.new_notebook(cells=[cell])


def printed(text: str) -> NotebookNode:
    return nbformat.v4.new_output("stream", name="stdout", text=text)


def drawn(mime: str, data: object) -> NotebookNode:
    return nbformat.v4.new_output("display_data", data={mime: data})


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (printed("0.85 of 9"), printed("0.85 of 9"), True),
        (printed("0.85"), printed("0.86"), True),
        (printed("0.85"), printed("0.87"), False),
        (printed("9 tokens"), printed("8 tokens"), False),
        (printed("12.50"), printed("12.00"), False),
        (printed("s0 → s1"), printed("s0 → s2"), False),
        (printed("a"), drawn("text/plain", "a"), False),
    ],
)
def test_text_is_compared_word_by_word_and_figures_to_a_hundredth(
    left: NotebookNode, right: NotebookNode, same: bool
) -> None:
    assert (not runner.differences(one_cell(left), one_cell(right))) is same


def test_a_drawing_may_move_but_not_say_something_else() -> None:
    def circle(x: int, name: str) -> NotebookNode:
        svg = (
            f'<svg xmlns="http://www.w3.org/2000/svg"><g id="state-s0"><text x="{x}">{name}</text></g></svg>'
        )
        return one_cell(drawn(SVG, svg))

    assert not runner.differences(circle(1, "s0"), circle(2, "s0"))
    assert runner.differences(circle(1, "s0"), circle(1, "s1"))


def test_a_chart_is_compared_by_its_marks() -> None:
    def bars(share: float, colour: str, title: str = "kept") -> NotebookNode:
        data = [{"type": "bar", "x": [share], "y": ["50"], "marker": {"color": colour}}]
        return one_cell(drawn(PLOTLY, {"data": data, "layout": {"title": {"text": title}}}))

    assert not runner.differences(bars(0.311, "red"), bars(0.312, "blue"))
    assert runner.differences(bars(0.31, "red"), bars(0.41, "red"))
    assert runner.differences(bars(0.31, "red"), bars(0.31, "red", title="lost"))


def test_cells_tagged_timing_are_not_compared() -> None:
    left, right = one_cell(printed("3 ms"), tag="timing"), one_cell(printed("4 ms"), tag="timing")
    assert not runner.differences(left, right)


def test_an_error_in_a_cell_fails_the_run() -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")])
    with pytest.raises(Exception, match="ZeroDivisionError"):
        runner.execute(notebook)


def test_a_cell_that_hangs_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "CELL_SECONDS", 1)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("while True: pass")])
    with pytest.raises(Exception, match="timed out"):
        runner.execute(notebook)


def test_a_kernel_has_no_network() -> None:
    source = "import socket\nsocket.create_connection(('192.0.2.1', 80), timeout=1)"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    with pytest.raises(Exception, match="may not use the network"):
        runner.execute(notebook)
