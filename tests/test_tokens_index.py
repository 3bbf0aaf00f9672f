"""The three forms of the index are one table: held against its definition and against brute force."""

from __future__ import annotations

import itertools
import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minidecoder as md
from minidecoder.automaton import DEAD, State, TokenId
from minidecoder.errors import UnsatisfiableConstraintError
from minidecoder.regex.compiler import compile_dfa
from minidecoder.regex.limits import Limits
from minidecoder.regex.utf8 import ByteDFA, lower_to_bytes
from minidecoder.tokens import sweep
from minidecoder.tokens.cache import ByteLimitedCache
from minidecoder.tokens.naive_index import naive_index, reachable_states
from minidecoder.tokens.sweep import SweepIndex
from minidecoder.tokens.token_classes import TokenClasses, build_token_classes
from minidecoder.tokens.token_index import TokenIndex, build_index
from minidecoder.tokens.trie import build_trie
from minidecoder.tokens.vocabulary import Vocabulary
from tests.strategies import patterns, vocabularies


def byte_machine(pattern: str) -> ByteDFA:
    return lower_to_bytes(compile_dfa(pattern))


def states_of(dfa: ByteDFA) -> list[State]:
    return [State(q) for q in range(1, len(dfa.table))]


def table_of(index: TokenIndex, dfa: ByteDFA, vocabulary: Vocabulary) -> dict[State, dict[TokenId, State]]:
    """Any index written out in the form of the naive one."""
    table = {}
    for state in states_of(dfa):
        ids = [TokenId(int(i)) for i in np.flatnonzero(index.allowed(state))]
        table[state] = {i: index.after(state, i) for i in ids}
        blocked = set(range(len(vocabulary))) - set(ids)
        assert all(index.after(state, i) == DEAD for i in blocked)
    return table


@settings(max_examples=200)
@given(patterns(), vocabularies())
def test_token_classes_and_sweep_equal_the_naive_index(pattern: str, vocabulary: Vocabulary) -> None:
    dfa = byte_machine(pattern)
    expected = naive_index(dfa, states_of(dfa), vocabulary)
    classes = build_token_classes(dfa, vocabulary)
    assert classes is not None
    assert table_of(classes, dfa, vocabulary) == expected
    assert table_of(SweepIndex(dfa, vocabulary), dfa, vocabulary) == expected


@settings(max_examples=100)
@given(patterns(), vocabularies())
def test_a_sweep_of_whole_levels_equals_the_naive_index(pattern: str, vocabulary: Vocabulary) -> None:
    dfa = byte_machine(pattern)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep, "_FEW_NODES", 0)
        table = table_of(SweepIndex(dfa, vocabulary), dfa, vocabulary)
    assert table == naive_index(dfa, states_of(dfa), vocabulary)


@settings(max_examples=100)
@given(patterns("ab"), st.lists(st.text("ab1", min_size=1, max_size=3), min_size=1, max_size=5, unique=True))
def test_a_token_is_allowed_exactly_if_some_sequence_of_tokens_finishes_a_match(
    pattern: str, tokens: list[str]
) -> None:
    """Brute force over token sequences, with `re.fullmatch` as the only judge of a match."""
    vocabulary = Vocabulary.from_tokens(["</s>", *tokens], eos=0)
    dfa, compiled = byte_machine(pattern), re.compile(pattern)
    reached = {""}
    for _ in range(4):  # every text of at most four tokens
        reached |= {text + token for text in reached for token in tokens}
    matches = {text for text in reached if compiled.fullmatch(text)}
    index = build_token_classes(dfa, vocabulary)
    assert index is not None
    for token_id, token in enumerate(tokens, start=1):
        if any(text.startswith(token) and _splits(text[len(token) :], tokens) for text in matches):
            assert index.after(dfa.start, token_id) != DEAD, "blocked, although a match goes on so"
        elif index.after(dfa.start, token_id) != DEAD:
            assert _finishes_later(dfa, vocabulary, index.after(dfa.start, token_id))


def _splits(text: str, tokens: list[str]) -> bool:
    return not text or any(_splits(text[len(t) :], tokens) for t in tokens if text.startswith(t))


def _finishes_later(dfa: ByteDFA, vocabulary: Vocabulary, state: State) -> bool:
    table = naive_index(dfa, states_of(dfa), vocabulary)
    return any(dfa.is_accepting(target) for target in reachable_states(table, state))


def test_a_token_into_a_dead_end_is_trimmed_in_every_form() -> None:
    # "b" could only go on with "c", which no token holds.
    vocabulary = Vocabulary.from_tokens(["</s>", "a", "b", "bd"], eos=0)
    dfa = byte_machine("a|bc|bd")
    for index in (build_token_classes(dfa, vocabulary), SweepIndex(dfa, vocabulary)):
        assert index is not None
        assert np.flatnonzero(index.allowed(dfa.start)).tolist() == [1, 3]
        assert index.after(dfa.start, 2) == DEAD


def test_a_dead_end_behind_several_tokens_is_trimmed() -> None:
    vocabulary = Vocabulary.from_tokens(["</s>", "a", "b", "xy"], eos=0)
    dfa = byte_machine("aaaz|b|axy")
    index = build_index(dfa, vocabulary)
    assert np.flatnonzero(index.allowed(dfa.start)).tolist() == [1, 2]
    after_a = index.after(dfa.start, 1)
    assert np.flatnonzero(index.allowed(after_a)).tolist() == [3], "a second a leads to z, which has no token"


def test_a_vocabulary_that_cannot_spell_a_match_is_named() -> None:
    vocabulary = Vocabulary.from_tokens(["</s>", "a", "bb"], eos=0)
    with pytest.raises(UnsatisfiableConstraintError, match="'c'"):
        build_index(byte_machine("ac"), vocabulary)
    with pytest.raises(UnsatisfiableConstraintError, match="never join"):
        build_index(byte_machine("ab"), vocabulary)
    with pytest.raises(UnsatisfiableConstraintError, match="no text at all"):
        build_index(byte_machine(r"[^\x00-\U0010ffff]"), vocabulary)


def test_ids_that_share_bytes_are_all_kept_and_ids_without_bytes_never_match() -> None:
    vocabulary = Vocabulary.from_tokens(["a", "</s>", "a", "", "<pad>"], eos=1, special=[4], width=7)
    index = build_index(byte_machine("a*|</s>|<pad>"), vocabulary)
    assert np.flatnonzero(index.allowed(State(1))).tolist() == [0, 2]


def test_a_long_literal_is_served_by_the_sweep_and_says_so() -> None:
    vocabulary = Vocabulary.from_tokens(["</s>", "ab", "a", "b", "ba"], eos=0)
    dfa = byte_machine("ab" * 300)
    free, narrow = build_index(dfa, vocabulary), build_index(dfa, vocabulary, max_bytes=10_000)
    assert (free.form, narrow.form) == ("sweep", "sweep"), "nothing is built before it pays"
    assert table_of(free, dfa, vocabulary) == table_of(narrow, dfa, vocabulary)
    assert (free.form, narrow.form) == ("token classes", "sweep")
    assert table_of(free, dfa, vocabulary) == table_of(narrow, dfa, vocabulary)


@given(st.lists(st.binary(max_size=4), min_size=1, max_size=30).filter(any))
def test_every_token_ends_at_the_node_that_spells_it(tokens: list[bytes]) -> None:
    trie = build_trie(tokens)
    for token, node in zip(tokens, trie.node_of_token.tolist(), strict=True):
        spelled = b""
        while node:
            spelled = bytes([trie.byte[node]]) + spelled
            node = int(trie.parent[node])
        assert spelled == token
    assert len(trie) == 1 + len({token[:end] for token in tokens for end in range(1, len(token) + 1)})
    for node in range(len(trie)):
        children = range(trie.first_child[node], trie.first_child[node + 1])
        assert list(children) == [n for n in range(1, len(trie)) if trie.parent[n] == node]


def test_a_token_of_a_hundred_thousand_bytes_is_a_token() -> None:
    vocabulary = Vocabulary.from_tokens(["</s>", "a" * 100_000, "a"], eos=0)
    assert vocabulary.trie.depth == 100_000
    assert np.flatnonzero(build_index(byte_machine("a*"), vocabulary).allowed(State(1))).tolist() == [1, 2]


def test_the_cache_forgets_the_least_recently_used_and_keeps_to_its_bytes() -> None:
    cache: ByteLimitedCache[str, bytes] = ByteLimitedCache(10, len)
    cache.get("a", lambda: b"1234")
    cache.get("b", lambda: b"1234")
    cache.get("a", lambda: b"never made again")
    cache.get("c", lambda: b"1234")  # b goes, a was used later
    assert cache.get("a", lambda: b"new") == b"1234"
    assert cache.get("b", lambda: b"new") == b"new"
    assert cache.used_bytes <= 10
    kept = len(cache)
    assert cache.get("huge", lambda: b"x" * 99) == b"x" * 99
    assert len(cache) == kept, "what is too large to keep pushes nothing out"


def triples(letters: str) -> md.Vocabulary:
    """A vocabulary without any one-byte token."""
    return md.Vocabulary.from_tokens(["</s>", *map("".join, itertools.product(letters, repeat=3))], eos=0)


def test_an_index_leaves_the_automaton_as_it_was() -> None:
    vocabulary, dfa = triples("ab"), byte_machine("(ab|ba){3,9}")
    before = (dfa.table.tolist(), dfa.accepting.tolist())
    for index in (build_index(dfa, vocabulary, max_bytes=0), build_index(dfa, vocabulary)):
        assert table_of(index, dfa, vocabulary) == naive_index(dfa, states_of(dfa), vocabulary)
        assert (dfa.table.tolist(), dfa.accepting.tolist()) == before


@settings(max_examples=60)
@given(patterns("ab"), st.lists(st.text("ab1", min_size=2, max_size=3), min_size=1, max_size=6, unique=True))
def test_the_sweep_is_right_without_any_one_byte_token(pattern: str, tokens: list[str]) -> None:
    vocabulary, dfa = Vocabulary.from_tokens(["</s>", *tokens], eos=0), byte_machine(pattern)
    expected = naive_index(dfa, states_of(dfa), vocabulary)
    assert table_of(SweepIndex(dfa, vocabulary), dfa, vocabulary) == expected


def test_a_long_literal_without_one_byte_tokens_is_swept_once_per_state() -> None:
    vocabulary = triples("abcd")
    text = "".join(random.Random(0).choices("abcd", k=3_000))
    matcher = md.compile_regex(text, vocabulary).matcher()
    assert matcher.allowed_token_ids().tolist() == [vocabulary.token_bytes.index(text[:3].encode())]


def test_the_time_limit_holds_in_the_index_too() -> None:
    vocabulary = Vocabulary.from_tokens(["</s>", *("ab" * n for n in range(1, 130))], eos=0)
    dfa = byte_machine("(?:ab){2000}")
    with pytest.raises(md.ConstraintTooLargeError) as caught:
        SweepIndex(dfa, vocabulary, Limits(timeout_s=1e-6))
    assert caught.value.limit == "timeout_s"


def test_shared_arrays_cannot_be_written() -> None:
    vocabulary, characters = Vocabulary.from_tokens(["</s>", "a", "b", "c"], eos=0), compile_dfa("ab|c")
    automaton = lower_to_bytes(characters)
    index = build_index(automaton, vocabulary)
    classes = index.classes()
    assert isinstance(classes, TokenClasses)
    arrays = (
        classes.next_state,
        classes.alive,
        index.sweep.alive,
        automaton.accepting,
        automaton.table,
        characters.table,
    )
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_a_constraint_counts_the_bytes_that_it_keeps() -> None:
    vocabulary = Vocabulary.from_tokens(["</s>", *(f"t{n}" for n in range(10_000))], eos=0)
    assert md.compile_regex("t[0-9]*", vocabulary).nbytes > 4 * 10_000
