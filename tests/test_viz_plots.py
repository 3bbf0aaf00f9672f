from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from minidecoder.errors import MissingDependencyError, UsageError
from minidecoder.viz.plots import finding, logits_before_after, percent, top_candidates
from minidecoder.viz.theme import PALETTES
from tests import recorded_runs as runs

STEPS = runs.price().steps


def figure(step: int = 2, **options: Any) -> Any:
    pytest.importorskip("plotly")
    return logits_before_after(STEPS[step], **options)


def test_bars_are_the_probabilities_before_and_after_in_the_order_of_the_logits() -> None:
    before, after, _ = figure().data
    shown = STEPS[2].candidates
    assert list(before.x) == [c.before for c in shown]
    assert list(after.x) == [c.after for c in shown]
    assert sum(before.x) == pytest.approx(1, abs=1e-3), "each is rounded"
    assert sum(after.x) == pytest.approx(1, abs=1e-3)
    assert before.width > after.width, "the bar behind must show"


def test_a_blocked_token_is_told_by_hatch_cross_and_strike_and_not_by_colour_alone() -> None:
    made = figure()
    before, after, written = made.data
    for index, candidate in enumerate(STEPS[2].candidates):
        assert before.marker.pattern.shape[index] == ("" if candidate.allowed else "/")
        label = made.layout.yaxis.ticktext[index]
        assert ("✕ <s>" in label) is not candidate.allowed
        assert ("✕ blocked" in written.text[index]) is not candidate.allowed
        assert (after.x[index] == 0) is not candidate.allowed


def test_the_chosen_token_is_marked() -> None:
    marked = [label for label in figure().layout.yaxis.ticktext if "▶" in label]
    assert [label.split("▶ ")[1].split("<")[0] for label in marked] == ["0"]


def test_the_title_states_the_finding() -> None:
    assert finding(STEPS[0]).startswith("The mask keeps 90 % of the model's probability, and the favourite, ")
    assert finding(STEPS[0]).endswith("is allowed")
    assert "37 % of the model's probability and overrules the favourite, " in finding(STEPS[2])
    assert ">50<" in finding(STEPS[2])
    assert finding(STEPS[3]) == "Only the end may follow: the model is not asked"
    assert finding(runs.free().steps[0]) == "Without a constraint every token may follow"
    assert figure(title="Mine").layout.title.text == "Mine"


def test_where_the_model_was_not_asked_there_is_no_bar_of_its_own() -> None:
    before, after, written = figure(3).data
    assert list(before.x) == [0]
    assert list(after.x) == [1]
    assert "not asked" in written.text[0]


def test_at_most_rows_tokens_are_shown_and_the_chosen_one_is_always_among_them() -> None:
    step = STEPS[2]
    for rows in range(1, 9):
        shown = top_candidates(step, rows)
        assert len(shown) == rows
        assert step.token_id in {candidate.token_id for candidate in shown}
        assert [c.logit for c in shown] == sorted((c.logit for c in shown), reverse=True)
    assert "and 5 more tokens" in figure(rows=4, vocabulary_size=9).layout.annotations[0].text
    assert figure(vocabulary_size=9).layout.annotations == ()
    with pytest.raises(UsageError, match="rows=0"):
        figure(rows=0)


def test_what_is_no_step_is_told_what_to_pass() -> None:
    with pytest.raises(UsageError, match=r"run\.trace\.steps\[0\], not a Trace"):
        logits_before_after(runs.price())


def test_tokens_that_look_like_markup_or_tex_are_escaped() -> None:
    pytest.importorskip("plotly")
    made = logits_before_after(runs.hostile().steps[0])
    shown = "".join(made.layout.yaxis.ticktext)
    assert "&lt;/script&gt;" in shown
    assert "<img" not in shown
    assert "<img" not in made.to_json().replace("\\u003c", "<")
    assert "$" not in shown


def test_both_themes_come_from_the_palette() -> None:
    for theme in PALETTES:
        made = figure(theme=theme)
        assert made.layout.paper_bgcolor == PALETTES[theme].paper
        assert made.data[1].marker.color == PALETTES[theme].live


def test_without_plotly_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(MissingDependencyError, match="plotly is not installed: pip install"):
        logits_before_after(STEPS[0])


def test_importing_the_pictures_imports_none_of_their_packages() -> None:
    code = "import sys, minidecoder.viz.plots, minidecoder.viz.player; print({'plotly', 'anywidget', 'graphviz'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("probability", "text"),
    [(0, "0 %"), (1, "100 %"), (0.3149, "31 %"), (0.0094, "0.9 %"), (0.0095, "1 %"), (0.0009, "< 0.1 %")],
)
def test_a_probability_is_as_exact_as_a_bar_needs(probability: float, text: str) -> None:
    assert percent(probability) == text
