"""The index over SmolLM2's real 49,152 tokens, against walks written here in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

import minidecoder as md
from minidecoder.automaton import DEAD, State
from minidecoder.models import CausalLM
from minidecoder.tokens.naive_index import trim_dead_ends
from minidecoder.tokens.sweep import SweepIndex
from minidecoder.tokens.token_index import AdaptiveIndex

PATTERNS = {
    "price": r"[0-9]+\.[0-9]{2}",
    "quoted string": r'"([^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"',
    "twenty characters": ".{1,20}",
    "e-mail": r"[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,6}",
    "emoji": "[😀-🙏]+",
}


@pytest.fixture(scope="module")
def vocabulary(smollm2: CausalLM) -> md.Vocabulary:
    return smollm2.vocabulary


def walked(constraint: md.Constraint) -> np.ndarray:
    """int32 (Q+1, V): the state after each token from each state, one byte and one token at a time."""
    machine, tokens = constraint.automaton, constraint.vocabulary.token_bytes
    after = np.zeros((len(machine.table), len(tokens)), dtype=np.int32)
    rows = machine.table[:, machine.byte_class].tolist()  # rows[state][byte]
    for state in range(1, len(rows)):
        for token_id, data in enumerate(tokens):
            current = state
            for byte in data:
                current = rows[current][byte]
                if current == DEAD:
                    break
            after[state, token_id] = current if data else DEAD
    return after


@pytest.mark.parametrize("name", PATTERNS)
def test_every_state_and_token_agrees_with_a_plain_walk(name: str, vocabulary: md.Vocabulary) -> None:
    constraint = md.compile_regex(PATTERNS[name], vocabulary)
    assert isinstance(constraint.index, AdaptiveIndex)
    classes = constraint.index.classes()
    assert classes is not None
    sweep = SweepIndex(constraint.automaton, vocabulary)
    expected = _trimmed(walked(constraint), constraint)
    assert (expected == classes.next_state[classes.class_of_token].T).all()
    for state in range(1, len(expected)):
        assert (sweep.allowed(State(state)) == (expected[state] != DEAD)).all()


def _trimmed(after: np.ndarray, constraint: md.Constraint) -> np.ndarray:
    """Moves into states from which no accepting one can be reached, set to DEAD, by `trim_dead_ends`."""
    states = [State(q) for q in range(1, len(after))]
    targets = {q: {i: State(int(t)) for i, t in enumerate(np.unique(after[q])) if t != DEAD} for q in states}
    accepting = {q for q in states if constraint.automaton.is_accepting(q)}
    kept = {q: set(row.values()) for q, row in trim_dead_ends(targets, accepting).items()}  # type: ignore[arg-type]
    alive = np.array([t == DEAD or any(t in row for row in kept.values()) for t in range(len(after))])
    return np.where(alive[after], after, DEAD)


def test_bytes_without_a_token_are_dead_ends(vocabulary: md.Vocabulary) -> None:
    single = {data[0] for data in vocabulary.token_bytes if len(data) == 1}
    assert 0xF1 not in single
    assert 0xF2 not in single
    with pytest.raises(md.UnsatisfiableConstraintError, match="U00040000"):
        md.compile_regex("[\U00040000-\U000bffff]", vocabulary)


def test_what_leads_only_to_bytes_without_a_token_is_not_allowed(vocabulary: md.Vocabulary) -> None:
    constraint = md.compile_regex("yes|no[\U00040000-\U000bffff]", vocabulary)
    allowed = {vocabulary.text(i) for i in constraint.matcher().allowed_token_ids()}
    assert allowed == {"y", "ye", "yes"}


def test_half_way_through_an_emoji_only_its_other_bytes_are_legal(vocabulary: md.Vocabulary) -> None:
    matcher = md.compile_regex("[😀-🙏]+", vocabulary).matcher()
    assert "😀".encode() not in vocabulary.token_bytes, "SmolLM2 has no whole 😀"
    starts = {vocabulary.token_bytes[i] for i in matcher.allowed_token_ids()}
    assert b"\xf0\x9f\x98" in starts or b"\xf0\x9f" in starts
    assert matcher.accept_string(b"\xf0\x9f\x98")
    for token_id in matcher.allowed_token_ids().tolist():
        assert 0x80 <= vocabulary.token_bytes[token_id][0] <= 0xBF


def test_special_tokens_never_match_text(vocabulary: md.Vocabulary) -> None:
    allowed = set(md.compile_regex(r"(.|\n)*", vocabulary).matcher().allowed_token_ids().tolist())
    assert allowed.isdisjoint(set(vocabulary.special_text) - set(vocabulary.eos_ids))
    assert set(vocabulary.eos_ids) <= allowed
    assert len(vocabulary) == 49_152
    assert [vocabulary.text(i) for i in vocabulary.eos_ids] == ["<|im_end|>"]


def test_tokens_that_close_a_string_and_go_on_are_found(vocabulary: md.Vocabulary) -> None:
    matcher = md.compile_regex(r'\{"a": "[^"]*", "b": "[^"]*"\}', vocabulary).matcher()
    assert matcher.accept_string('{"a": "x')
    crossing = {vocabulary.text(i) for i in matcher.allowed_token_ids()}
    assert '",' in crossing
    assert '"}' not in crossing


def test_digits_are_single_tokens_so_a_price_never_crosses_a_border(vocabulary: md.Vocabulary) -> None:
    matcher = md.compile_regex(PATTERNS["price"], vocabulary).matcher()
    assert {vocabulary.text(i) for i in matcher.allowed_token_ids()} == set("0123456789")
