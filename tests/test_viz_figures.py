"""The figures of whole machines, of sampling orders, of spellings and of costs, against counts made here."""

from __future__ import annotations

import itertools
import math
import sys
from typing import Any

import numpy as np
import pytest

import minidecoder as md
from minidecoder.decoding.constraint import Constraint
from minidecoder.decoding.sampling import Sampling
from minidecoder.errors import MissingDependencyError, ModelError, UsageError
from minidecoder.grammar.compiler import compile_pushdown
from minidecoder.viz import plots
from minidecoder.viz.cost_plot import duration
from minidecoder.viz.sampling_plot import STEPS, order_outcomes
from minidecoder.viz.segmentation_plot import count_segmentations, segmentations
from minidecoder.viz.theme import PALETTES
from minidecoder.viz.token_table import token_table
from tests import recorded_runs as runs
from tests.optional import need

VOCABULARY = md.Vocabulary.from_tokens(runs.PRICE_TOKENS, eos="</s>")
PRICE = md.compile_regex(runs.PRICE, VOCABULARY)
AGE = md.compile_regex(runs.AGE, md.Vocabulary.from_tokens(runs.AGE_TOKENS, eos="</s>"))
NASTY_TOKENS = [*runs.HOSTILE_TOKENS, "שלום", "😀", "y" * 300, "\n"]
NASTY = md.compile_regex("(?s:.){1,40}", md.Vocabulary.from_tokens(NASTY_TOKENS, eos=0))
LOGITS, ALLOWED = np.log([0.5, 0.3, 0.15, 0.05]), [3]
NUCLEUS = Sampling(temperature=0.8, top_k=3, top_p=0.9, min_p=0.2)

FIGURES = {
    "density": lambda theme: plots.mask_density(NASTY, theme=theme),
    "map": lambda theme: plots.token_state_map(NASTY, theme=theme),
    "orders": lambda theme: plots.sampling_orders(LOGITS, ALLOWED, NUCLEUS, theme=theme),
    "tree": lambda theme: plots.segmentation_tree("x" + runs.HOSTILE, NASTY.vocabulary, NASTY, theme=theme),
    "cost": lambda theme: plots.cost_ladder({runs.HOSTILE: 0.4, "$x$": 0.002}, theme=theme),
}


@pytest.fixture(autouse=True)
def _plotly() -> None:
    need("plotly", "notebooks")


@pytest.mark.parametrize("theme", sorted(PALETTES))
@pytest.mark.parametrize("name", sorted(FIGURES))
def test_every_figure_has_both_themes_a_sentence_and_escapes_what_it_shows(name: str, theme: str) -> None:
    made = FIGURES[name](theme)
    assert made.layout.paper_bgcolor == PALETTES[theme].paper  # type: ignore[index]
    assert len(made.layout.title.text) > 15
    assert made.layout.showlegend is False
    assert made.layout.width <= 1000
    assert made.layout.height <= 720
    written = made.to_json().replace("\\u003c", "<").replace("\\u003e", ">")
    assert "<img" not in written
    assert "</script" not in written
    assert "$" not in written


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_without_plotly_the_error_names_the_command(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(MissingDependencyError, match="plotly is not installed: pip install"):
        FIGURES[name]("light")


# -- masks ----------------------------------------------------------------------------------------------


def test_the_density_of_each_state_is_the_number_of_tokens_that_its_mask_allows() -> None:
    made = plots.mask_density(PRICE)
    allowed = []
    for text in ("", "1", "1.", "1.5", "1.50"):
        matcher = PRICE.matcher()
        assert matcher.accept_string(text)
        allowed.append(len(matcher.allowed_token_ids()))
    assert list(made.data[1].x) == allowed
    assert list(made.layout.yaxis.ticktext) == ["s0", "s1", "s2", "s3", "s4"]
    assert made.layout.title.text == "From 1 token in s4 to 8 in s1, of 9"


def test_a_large_vocabulary_is_shown_on_a_logarithmic_axis_that_says_so() -> None:
    tokens = ["</s>", *(f"{n}" for n in range(999))]
    made = plots.mask_density(md.compile_regex("[0-9]{2}a?", md.Vocabulary.from_tokens(tokens, eos=0)))
    counts = [100, 10, 1, 1]
    assert [round(10**x) for x in made.data[1].x] == counts
    assert "logarithmic" in made.layout.title.subtitle.text
    assert list(made.layout.xaxis.ticktext) == ["1", "10", "100", "1,000"]


def test_tokens_are_of_one_class_where_they_lead_alike_from_every_state() -> None:
    for constraint in (PRICE, AGE, NASTY):
        table, automaton = token_table(constraint), constraint.automaton
        dfa = constraint.characters
        assert dfa is not None
        by_hand: dict[tuple[str, ...], list[int]] = {}
        for token_id, data in enumerate(constraint.vocabulary.token_bytes):
            ends = []
            for number in range(1, len(dfa) + 1):
                state: Any = number
                for byte in data:
                    state = automaton.step(state, byte)
                ends.append(automaton.name(state) if state else "")
            if data:
                by_hand.setdefault(tuple(ends), []).append(token_id)
        lives, sizes = [any(row) for row in table.targets], [len(m) for m in table.members]
        assert lives == sorted(lives, reverse=True), "what is blocked everywhere comes last"
        assert sizes[: sum(lives)] == sorted(sizes[: sum(lives)], reverse=True)
        assert {row: list(m) for row, m in zip(table.targets, table.members, strict=True)} == by_hand


def test_the_map_shows_where_each_class_leads_and_a_cross_where_it_is_blocked() -> None:
    made = plots.token_state_map(PRICE)
    bars, words = made.data
    shown = {(x, y): text for x, y, text in zip(words.x, words.y, words.text, strict=True)}
    labels = list(made.layout.yaxis.ticktext)
    half = labels.index(".5")
    assert [shown[column, half] for column in range(5)] == [
        "<b>✕</b>",
        "s3",
        "<b>✕</b>",
        "<b>✕</b>",
        "<b>✕</b>",
    ]
    assert [c == PALETTES["light"].paper for c in bars.marker.color] == ["✕" in text for text in words.text]
    assert made.layout.title.text == "8 tokens behave in 5 ways on 5 states"
    assert made.layout.annotations == ()


def test_at_most_fifteen_rows_and_twelve_columns_are_shown_and_the_rest_is_counted() -> None:
    words = [a + b for a in "abcdefghijklmnop" for b in "xyz"]
    vocabulary = md.Vocabulary.from_tokens(["</s>", *words, *"abcdefghijklmnopxyz"], eos=0)
    made = plots.token_state_map(md.compile_regex("|".join(f"{w}{w[::-1]}{w}" for w in words), vocabulary))
    assert len(made.layout.yaxis.ticktext) == 15
    assert len(made.layout.xaxis.ticktext) == 12
    assert "more classes and" in made.layout.annotations[0].text
    density = plots.mask_density(md.compile_regex("a{1,40}", vocabulary), rows=4)
    assert density.layout.annotations[0].text == "and 37 more states"


def test_what_has_no_table_of_states_says_so() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "a", "("], eos=0)
    grammar = compile_pushdown('root ::= "a" | "(" root ")"? ', vocabulary)
    constraint = Constraint("g", vocabulary, grammar.automaton, grammar)
    for figure in (plots.mask_density, plots.token_state_map):
        with pytest.raises(UsageError, match="no table of states"):
            figure(constraint)
        with pytest.raises(UsageError, match="compiled constraint, not a str"):
            figure("[0-9]+")  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="rows=0"):
            figure(PRICE, rows=0)


# -- orders ---------------------------------------------------------------------------------------------


def plain_pipeline(order: tuple[str, ...]) -> list[float] | None:
    """The five steps on plain probabilities, written here once more; None where nothing is left."""
    chances = dict(enumerate([0.5, 0.3, 0.15, 0.05]))
    for name in order:
        total = sum(chances.values())
        chances = {i: p / total for i, p in chances.items()}
        ranked = sorted(chances, key=lambda i: (-chances[i], i))
        if name == "mask":
            chances = {i: p for i, p in chances.items() if i in ALLOWED}
        elif name == "temperature":
            chances = {i: p ** (1 / 0.8) for i, p in chances.items()}
        elif name == "top_k":
            chances = {i: chances[i] for i in ranked[:3]}
        elif name == "min_p":
            chances = {i: p for i, p in chances.items() if p >= 0.2 * max(chances.values()) - 1e-12}
        else:
            kept, mass = [], 0.0
            for i in ranked:
                if mass < 0.9 - 1e-12:
                    kept.append(i)
                mass += chances[i]
            chances = {i: chances[i] for i in kept}
        if not chances:
            return None
    total = sum(chances.values())
    return [chances.get(i, 0.0) / total for i in range(4)]


def test_all_orders_of_the_worked_row_agree_with_a_pipeline_written_by_hand() -> None:
    outcomes = order_outcomes(LOGITS, ALLOWED, NUCLEUS)
    assert {outcome.order for outcome in outcomes} == set(itertools.permutations(STEPS))
    for outcome in outcomes:
        expected = plain_pipeline(outcome.order)
        if expected is None:
            assert outcome.kind == "broken"
            assert outcome.broken_by == "mask", "only the mask can leave nothing here"
        else:
            assert outcome.kind == "same"
            assert outcome.chances == pytest.approx(expected)


def test_with_the_mask_first_no_order_breaks_and_truncation_before_it_does() -> None:
    made = plots.sampling_orders(LOGITS, ALLOWED, NUCLEUS)
    bars, words = made.data
    marks = {(x, y): text for x, y, text in zip(words.x, words.y, words.text, strict=True)}
    assert {marks[x, 0] for x in range(24)} == {"<b>✓</b>"}
    assert {marks[x, 1] for x in range(6)} == {"<b>✓</b>"}, "temperature alone commutes with the mask"
    assert {marks[x, y] for x in range(24) for y in (2, 3, 4)} == {"<b>✕</b>"}
    assert made.layout.title.text == "90 of 120 orders leave nothing to draw; with the mask first none of 24"
    broken = ["✕" in text for text in words.text]
    assert [shape == "/" for shape in bars.marker.pattern.shape] == broken, "not by colour alone"


def test_a_row_on_which_nothing_is_legal_breaks_in_every_order() -> None:
    assert {outcome.kind for outcome in order_outcomes(LOGITS, [], NUCLEUS)} == {"broken"}
    assert {outcome.kind for outcome in order_outcomes(LOGITS, range(4), Sampling())} == {"same"}
    logits, sampling = [2.1, 0.3, 1.8, -0.5, 0.9, -1.2, 0.4, -0.8], Sampling(2.0, 3, 0.9, 0.2)
    kinds = {outcome.kind for outcome in order_outcomes(logits, [2, 5], sampling)}
    assert kinds == {"same", "differs"}


@pytest.mark.parametrize(("logits", "allowed"), [([1.0, 2.0], [2]), ([1.0, 2.0], [-1]), ([1.0, 2.0], [1.5])])
def test_ids_that_the_row_has_not_are_refused(logits: list[float], allowed: list[Any]) -> None:
    with pytest.raises(UsageError, match="allowed"):
        order_outcomes(logits, allowed, NUCLEUS)
    with pytest.raises(ModelError):
        order_outcomes([float("nan"), 1.0], [0], NUCLEUS)


# -- spellings ------------------------------------------------------------------------------------------


def test_12_50_has_exactly_three_spellings_with_the_lesson_vocabulary() -> None:
    texts = [[VOCABULARY.text(t) for t in way] for way in segmentations("12.50", VOCABULARY)]
    assert sorted(texts) == [["12", ".", "5", "0"], ["12", ".", "50"], ["12", ".5", "0"]]
    assert count_segmentations("12.50", VOCABULARY) == 3
    made = plots.segmentation_tree("12.50", VOCABULARY, PRICE)
    assert "3 ways, and the mask allows each of them" in made.layout.title.text
    blocks = [(s.x0 + s.x1) / 2 for s in made.layout.shapes]
    assert len(blocks) == 7, "12 is shared by all, . by two: 1 + 2 + 1 + 1 + 2"
    assert all(shape.line.dash == "solid" for shape in made.layout.shapes)


def test_the_count_is_that_of_a_brute_force_over_all_cuts() -> None:
    tokens = ["</s>", "a", "b", "ab", "ba", "aa", "aba", "é", b"\xc3", b"\xa9", b"\xc3\xa9"]
    vocabulary = md.Vocabulary.from_tokens(tokens[:-1], eos=0)
    spelled = [data for data in vocabulary.token_bytes if data]
    for text in ("aba", "abaaba", "aébé", "bbb", "a" * 12):
        data, count = text.encode(), 0
        for cuts in itertools.product([False, True], repeat=len(data) - 1):
            ends = [i + 1 for i, cut in enumerate(cuts) if cut] + [len(data)]
            pieces = [data[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)]
            count += all(piece in spelled for piece in pieces)
        assert count_segmentations(text, vocabulary) == count == len(list(segmentations(text, vocabulary)))


def test_as_many_ways_as_there_are_atoms_are_counted_and_fifteen_drawn() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "a", "aa"], eos=0)
    fibonacci = [1, 1]
    while len(fibonacci) <= 300:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    assert count_segmentations("a" * 300, vocabulary) == fibonacci[300]
    made = plots.segmentation_tree("a" * 30, vocabulary)
    assert f"{fibonacci[30]:,} ways" in made.layout.title.text
    assert any(f"and {fibonacci[30] - 15:,} more ways" == a.text for a in made.layout.annotations)


def test_a_blocked_token_has_a_dashed_edge_and_a_cross_and_what_follows_is_faint() -> None:
    constraint = md.compile_regex(r"12\.[0-9]{2}", VOCABULARY)
    made = plots.segmentation_tree("12.5", VOCABULARY, md.compile_regex("1+", VOCABULARY))
    dashed = [s for s in made.layout.shapes if s.line.dash == "dash"]
    assert len(dashed) == 1, "12 is blocked, and drawn once"
    assert "the mask allows none of them" in made.layout.title.text
    faint = {s.line.color for s in made.layout.shapes} - {dashed[0].line.color}
    assert faint == {PALETTES["light"].resting}
    assert constraint.characters is not None


@pytest.mark.parametrize("text", ["", "z", "a" * 401, 7])
def test_a_text_that_cannot_be_drawn_is_refused(text: Any) -> None:
    with pytest.raises(UsageError):
        plots.segmentation_tree(text, VOCABULARY)


# -- costs ----------------------------------------------------------------------------------------------


def test_the_ladder_shows_what_was_measured_on_an_axis_that_says_it_is_logarithmic() -> None:
    times = {"naive": 0.41, "trie": 0.012, "token classes": 3e-5}
    made = plots.cost_ladder(times, references={"one forward pass": 0.055})
    assert [10**x for x in made.data[0].x] == pytest.approx(list(times.values()))
    assert list(made.layout.yaxis.ticktext) == list(times)
    assert "logarithmic" in made.layout.title.subtitle.text
    assert made.layout.title.text == "token classes: 14,000 × faster than naive"
    assert list(made.data[1].text) == [
        "<b>410 ms</b>",
        "<b>12 ms</b> · 34 × faster",
        "<b>30 µs</b> · 14,000 × faster",
    ]
    assert made.layout.annotations[0].text == "one forward pass: 55 ms"
    assert min(made.data[1].x) > max(made.data[0].x), "no line crosses what is said"


@pytest.mark.parametrize(
    "times", [{}, {"a": 0}, {"a": -1.0}, {"a": math.nan}, {"a": math.inf}, {"a": "fast"}, [1.0], None]
)
def test_times_that_are_none_are_refused(times: Any) -> None:
    with pytest.raises(UsageError):
        plots.cost_ladder(times)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(1.0, "1 s"), (0.9999, "1 s"), (0.0999, "100 ms"), (1e-3, "1 ms"), (5e-10, "0.5 ns"), (2e3, "2,000 s")],
)
def test_a_duration_has_the_unit_that_fits(seconds: float, text: str) -> None:
    assert duration(seconds) == text
