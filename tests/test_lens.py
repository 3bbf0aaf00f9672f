"""Traces and verdicts: exact through JSON, and true for every token in every state."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings

import minidecoder as md
from minidecoder.automaton import DEAD, State
from minidecoder.errors import UnsatisfiableConstraintError
from minidecoder.lens.explain import Kind, Verdict, explain, explain_at, shortest_completion
from minidecoder.lens.labels import show_bytes, show_ranges, show_text, show_token
from minidecoder.models.toy import TableModel, UniformModel
from minidecoder.regex.charset import ANY, NOT_NEWLINE, category, negate
from tests.strategies import patterns, vocabularies

LESSON = ["</s>", "1", "12", ".", ".5", "50", "0", "5", "1."]


@pytest.fixture
def price() -> md.Constraint:
    return md.compile_regex(r"[0-9]+\.[0-9]{2}", md.Vocabulary.from_tokens(LESSON, eos="</s>"))


@pytest.fixture
def trace(price: md.Constraint) -> md.Trace:
    def likes(token_id: int) -> list[float]:
        return [3.0 if i == token_id else i / 10 for i in range(9)]

    rows = {(): likes(2), (2,): likes(4), (2, 4): likes(5), (2, 4, 5): likes(0)}
    return md.generate(TableModel(9, rows), [], constraint=price).trace


def test_json_and_back_is_exact(trace: md.Trace) -> None:
    text = trace.to_json()
    assert md.Trace.from_json(text) == trace
    assert md.Trace.from_json(text).to_json() == text
    assert text.isascii()


def test_json_holds_no_infinity_even_where_a_logit_is_one(price: md.Constraint) -> None:
    row = [float("-inf")] * 8 + [1.0]
    trace = md.generate(TableModel(9, {(): row}), [], constraint=price, max_tokens=1).trace
    json.loads(trace.to_json(), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert {c.logit for c in trace.steps[0].candidates} == {None, 1.0}


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: d.update(schema_version=99), "schema_version is 99"),
        (lambda d: d.pop("prompt"), "Trace must have exactly"),
        (lambda d: d.update(extra=1), "Trace must have exactly"),
        (lambda d: d["steps"][1].update(token_id="4"), r"Trace.steps\[1\].token_id must be int"),
        (lambda d: d["steps"][0].update(is_eos=1), r"is_eos must be bool"),
        (lambda d: d.update(steps={}), "Trace.steps must be a list"),
        (lambda d: d.update(machine=[]), "Trace.machine must have"),
    ],
)
def test_a_damaged_trace_is_refused_with_the_place(trace: md.Trace, damage: object, message: str) -> None:
    data = json.loads(trace.to_json())
    damage(data)  # type: ignore[operator]
    with pytest.raises(md.UsageError, match=message):
        md.Trace.from_json(json.dumps(data))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", "NaN", b"\xff", None, 5])
def test_what_is_no_trace_is_refused(text: str) -> None:
    with pytest.raises(md.UsageError):
        md.Trace.from_json(text)


@pytest.mark.parametrize("start", ["", '{"schema_version":', '{"schema_version":1,"steps":'])
@pytest.mark.parametrize("depth", [900, 100_000])
def test_lists_in_lists_in_lists_are_refused(start: str, depth: int) -> None:
    with pytest.raises(md.UsageError):
        md.Trace.from_json(start + "[" * depth + "]" * depth + "}" * bool(start))


@pytest.mark.parametrize(
    ("field", "number"),
    [
        (field, number)
        for field in ("probability", "logit")
        for number in ("NaN", "-Infinity", "1e999", "1e5000")
    ]
    + [("token_id", "NaN"), ("token_id", "1e5")],
)
def test_a_number_that_is_none_is_refused(trace: md.Trace, field: str, number: str) -> None:
    damaged = re.sub(rf'("{field}":\[?)[0-9.]+', rf"\g<1>{number}", trace.to_json())
    assert damaged != trace.to_json()
    with pytest.raises(md.UsageError):
        md.Trace.from_json(damaged)


@pytest.mark.parametrize(("field", "digits"), [("probability", 400), ("logit", 400), ("token_id", 5000)])
def test_a_number_of_too_many_digits_is_refused(trace: md.Trace, field: str, digits: int) -> None:
    damaged = re.sub(rf'("{field}":\[?)[0-9.]+', rf"\g<1>{'9' * digits}", trace.to_json())
    assert damaged != trace.to_json()
    with pytest.raises(md.UsageError):
        md.Trace.from_json(damaged)


def test_a_trace_tells_the_run_in_names(trace: md.Trace) -> None:
    assert [(s.state, s.label, s.state_after) for s in trace.steps] == [
        ("s0", "12", "s1"), ("s1", ".5", "s3"), ("s3", "5", "s4") if trace.text == "12.55" else ("s3", "0", "s4"),
        ("s4", "■ </s>", "s4"),
    ]  # fmt: skip
    assert [(m.byte, m.state) for m in trace.steps[1].path] == [(0x2E, "s2"), (0x35, "s3")]
    assert trace.machine is not None
    assert [state.name for state in trace.machine.states] == ["s0", "s1", "s2", "s3", "s4"]
    assert [(e.source, e.label, e.target) for e in trace.machine.edges][:2] == [
        ("s0", "0–9", "s1"),
        ("s1", ".", "s2"),
    ]


def test_candidates_show_the_probabilities_before_and_after_the_mask(trace: md.Trace) -> None:
    step = trace.steps[2]
    assert step.favourite == 5
    assert step.favourite_blocked
    assert sum(c.before for c in step.candidates) == pytest.approx(1, rel=1e-3)
    assert sum(c.after for c in step.candidates) == pytest.approx(1, rel=1e-3)
    assert step.feasible_mass == pytest.approx(sum(c.before for c in step.candidates if c.allowed), rel=1e-3)
    for candidate in step.candidates:
        expected = candidate.before / step.feasible_mass if candidate.allowed else 0.0
        assert candidate.after == pytest.approx(expected, rel=1e-3)
    fifty = next(c for c in step.candidates if c.label == "50")
    assert [move.state for move in fifty.path] == ["s4", "dead"]
    assert fifty.why == "`50` dies at byte 2 of 2: `5` moves s3 → s4, where only the end may follow."


def test_a_long_run_on_a_wide_vocabulary_stays_small() -> None:
    tokens = ["</s>", *(f"{n:04d}" for n in range(10_000)), *"abcdefgh"]
    vocabulary = md.Vocabulary.from_tokens(tokens, eos=0)
    constraint = md.compile_regex("[a-h0-9]*", vocabulary)
    model = UniformModel(len(vocabulary))
    run = md.generate(model, [], constraint=constraint, sampling=md.Sampling(seed=1), max_tokens=24)
    assert len(run.trace.to_json()) < 200_000


@settings(max_examples=150)
@given(patterns(), vocabularies())
def test_each_verdict_is_true_and_agrees_with_the_mask(pattern: str, vocabulary: md.Vocabulary) -> None:
    try:
        constraint = md.compile_regex(pattern, vocabulary)
    except UnsatisfiableConstraintError:
        return
    machine = constraint.automaton
    for state in range(1, len(machine.table)):
        if not constraint.index.is_alive(State(state)):
            continue
        allowed = set(
            np.flatnonzero(np.unpackbits(constraint.bitmask(State(state)).view(np.uint8), bitorder="little"))
        )
        for token_id in range(len(vocabulary)):
            verdict = explain_at(constraint, State(state), token_id)
            assert verdict.is_allowed == (token_id in allowed)
            _check_evidence(constraint, State(state), token_id, verdict)


def _check_evidence(constraint: md.Constraint, state: State, token_id: int, verdict: Verdict) -> None:
    machine, vocabulary = constraint.automaton, constraint.vocabulary
    data = vocabulary.token_bytes[token_id]
    match verdict.kind:
        case Kind.DEAD_AT_BYTE:
            before = [state, *verdict.path][-2]
            died = data[len(verdict.path) - 1]
            assert machine.step(before, died) == DEAD
            assert list(verdict.live_bytes) == machine.live_bytes(before)
        case Kind.ONLY_EOS_LEFT:
            assert machine.live_bytes(state) == []
            assert machine.is_accepting(state)
        case Kind.DEAD_END:
            assert verdict.path[-1] != DEAD
            assert not constraint.index.is_alive(verdict.path[-1])
        case Kind.EOS_TOO_EARLY:
            end = state
            for byte in verdict.completion:
                end = machine.step(end, byte)
            assert machine.is_accepting(end)
            assert not machine.is_accepting(state)
        case Kind.SPECIAL_TOKEN | Kind.NOT_A_TOKEN:
            assert data == b""
        case _:
            assert verdict.kind is Kind.ALLOWED


def test_the_sentences_of_the_price_machine(price: md.Constraint) -> None:
    matcher = price.matcher()
    matcher.accept_string("12.5")
    assert (
        explain(matcher, 5).sentence
        == "`50` dies at byte 2 of 2: `5` moves s3 → s4, where only the end may follow."
    )
    assert explain(matcher, 3).sentence == "`.` dies at byte 1 of 1: in s3 only 0–9 may follow."
    assert explain(matcher, 6).sentence == "`0` is allowed: s3 → s4."
    assert (
        explain(matcher, 0).sentence == "`■ </s>` comes too early: s3 does not accept; `0` would complete it."
    )
    matcher.accept_token(6)
    assert explain(matcher, 1).kind is Kind.ONLY_EOS_LEFT
    matcher.accept_token(0)
    assert explain(matcher, 1).kind is Kind.TERMINATED
    assert explain(price.matcher(), 99).kind is Kind.NOT_A_TOKEN


def test_a_completion_is_as_short_as_can_be_and_readable() -> None:
    vocabulary = md.Vocabulary.from_tokens([*map(chr, range(1, 127)), "</s>"], eos="</s>")
    constraint = md.compile_regex(r'"[^"]{3,}"(x|longer)', vocabulary)
    assert shortest_completion(constraint, constraint.automaton.start) == b'"000"x'


def test_labels_make_everything_visible() -> None:
    assert show_text("a b\n\tc\x00\u00ad") == r"a␣b⏎⇥c\x00\xad"
    assert show_bytes("é".encode() + b" \xf0\x9f") == "é␣⟨F0⟩⟨9F⟩"
    assert show_bytes(b"\x98\x80a") == "⟨98⟩⟨80⟩a"
    assert show_ranges(((48, 57),)) == "0–9"
    assert show_ranges(((48, 49), (97, 97))) == "0 1 a"
    assert show_ranges(ANY) == "any"
    assert show_ranges(NOT_NEWLINE) == "any but ⏎"
    assert show_ranges(negate(((34, 34),))) == 'any but "'
    assert show_ranges(category("w")).endswith("…")
    vocabulary = md.Vocabulary.from_tokens([" a", "</s>", "<pad>"], eos=1, special=[2], width=4)
    assert [show_token(vocabulary, i) for i in range(3)] == ["␣a", "■ </s>", "<pad>"]
    assert "3" in show_token(vocabulary, 3)


def test_the_end_is_named_among_what_may_follow() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "1", "x", "1x"], eos=0)
    matcher = md.compile_regex("[0-9]+", vocabulary).matcher()
    matcher.accept_token(1)
    assert explain(matcher, 2).sentence == "`x` dies at byte 1 of 1: in s1 only 0–9 or the end may follow."
    assert "where only 0–9 or the end may follow" in explain(matcher, 3).sentence


def test_bytes_that_may_follow_are_folded_into_true_ranges_only() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "é", "😀", "€"], eos=0)
    sentence = explain(md.compile_regex("[é😀]", vocabulary).matcher(), 3).sentence
    assert sentence.endswith("in s0 only ⟨C3⟩ ⟨F0⟩ may follow.")


def test_only_what_the_vocabulary_can_write_is_offered() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "a", "b", "c", "ab"], eos=0)
    matcher = md.compile_regex("a(0|bc)", vocabulary).matcher()
    matcher.accept_token(1)
    assert explain(matcher, 0).completion == b"bc"
    ending = md.compile_regex("a|ax", vocabulary).matcher()
    ending.accept_token(1)
    assert explain(ending, 1).sentence == "`a` dies at byte 1 of 1: in s1 only the end may follow."


def test_a_caret_stands_under_its_character_where_others_are_wide() -> None:
    with pytest.raises(md.RegexSyntaxError) as caught:
        md.compile_regex("😀漢(", md.Vocabulary.from_tokens(["a", "</s>"], eos=1))
    assert str(caught.value).splitlines()[-1] == " " * (2 + 4) + "^"
