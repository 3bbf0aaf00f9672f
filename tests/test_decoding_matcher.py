"""The matcher: refusals change nothing, going back is exact, forced text is whole characters."""

from __future__ import annotations

import copy
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minidecoder as md
from minidecoder.tokens import bitmask

LESSON = ["</s>", "1", "12", ".", ".5", "50", "0", "5", "1."]


@pytest.fixture
def price() -> md.Constraint:
    return md.compile_regex(r"[0-9]+\.[0-9]{2}", md.Vocabulary.from_tokens(LESSON, eos="</s>"))


def ids(matcher: md.Matcher) -> list[int]:
    return matcher.allowed_token_ids().tolist()


def test_a_price_is_accepted_token_by_token(price: md.Constraint) -> None:
    matcher = price.matcher()
    assert ids(matcher) == [1, 2, 5, 6, 7, 8]
    assert matcher.accept_token(2)
    assert ids(matcher) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert matcher.accept_token(4)
    assert ids(matcher) == [1, 6, 7]
    assert not matcher.is_accepting
    assert matcher.accept_token(6)
    assert matcher.is_accepting
    assert ids(matcher) == [0]
    assert matcher.accept_token(0)
    assert matcher.is_terminated
    assert ids(matcher) == []


def test_a_refused_token_leaves_the_matcher_unchanged(price: md.Constraint) -> None:
    matcher = price.matcher()
    matcher.accept_token(2)
    matcher.accept_token(4)
    before = (matcher.state, matcher.steps, ids(matcher))
    for refused in (5, 0, 3, 8):  # 50 dies on its second byte only
        assert not matcher.accept_token(refused)
        assert (matcher.state, matcher.steps, ids(matcher)) == before
    assert not matcher.accept_string("50")
    assert (matcher.state, matcher.steps, ids(matcher)) == before


def test_nothing_follows_the_end(price: md.Constraint) -> None:
    matcher = price.matcher()
    assert matcher.accept_string("1.50")
    assert matcher.accept_token(0)
    assert not matcher.accept_token(0)
    assert not matcher.accept_token(1)
    assert not matcher.accept_string("")
    assert matcher.jump_forward_string() == ""


def test_rollback_counts_steps_across_the_end_and_refuses_to_go_too_far(price: md.Constraint) -> None:
    matcher = price.matcher()
    matcher.accept_token(2)
    matcher.accept_string(".50")
    matcher.accept_token(0)
    matcher.rollback(1)
    assert not matcher.is_terminated
    assert matcher.is_accepting
    matcher.rollback(1)
    assert ids(matcher) == [1, 2, 3, 4, 5, 6, 7, 8]
    matcher.rollback(0)
    for steps in (2, -1):
        with pytest.raises(md.UsageError, match="1 steps were accepted"):
            matcher.rollback(steps)
    matcher.rollback(1)
    assert matcher.state == price.automaton.start


def test_a_fork_and_its_origin_go_their_own_ways(price: md.Constraint) -> None:
    matcher = price.matcher()
    matcher.accept_token(2)
    fork = matcher.fork()
    assert fork.accept_token(4)
    assert (matcher.steps, fork.steps) == (1, 2)
    fork.rollback(2)
    assert (matcher.steps, fork.steps) == (1, 0)
    matcher.reset()
    assert matcher.steps == 0


@given(st.lists(st.integers(0, 8), max_size=12), st.integers(0, 12))
def test_going_back_and_on_again_gives_the_same_masks(token_ids: list[int], back: int) -> None:
    constraint = md.compile_regex(r"([0-9]+\.[0-9]{2} ?)+", md.Vocabulary.from_tokens([*LESSON, " "], eos=0))
    matcher = constraint.matcher()
    accepted = [token_id for token_id in token_ids if matcher.accept_token(token_id)]
    masks = matcher.bitmask().tolist()
    back = min(back, matcher.steps)
    matcher.rollback(back)
    for token_id in accepted[len(accepted) - back :]:
        assert matcher.accept_token(token_id)
    assert matcher.bitmask().tolist() == masks


def test_fill_bitmask_writes_the_whole_row_and_refuses_another_shape(price: md.Constraint) -> None:
    row = np.full(1, -1, dtype=np.int32)
    price.matcher().fill_bitmask(row)
    assert np.flatnonzero(bitmask.unpack(row, 9)).tolist() == [1, 2, 5, 6, 7, 8]
    assert row[0] >> 9 == 0, "bits beyond V are 0"
    for wrong in (np.zeros(2, np.int32), np.zeros(1, np.int64), np.zeros((1, 1), np.int32)):
        with pytest.raises(md.UsageError, match="int32"):
            price.matcher().fill_bitmask(wrong)


@pytest.mark.parametrize("row", [None, [0], np.zeros(1, ">i4")])
def test_a_mask_is_written_into_an_array_alone(price: md.Constraint, row: object) -> None:
    with pytest.raises(md.UsageError, match="row must be"):
        price.matcher().fill_bitmask(row)  # type: ignore[arg-type]


def test_a_read_only_row_is_refused(price: md.Constraint) -> None:
    with pytest.raises(md.UsageError, match="read-only"):
        price.matcher().fill_bitmask(price.matcher().bitmask())


@pytest.mark.parametrize("steps", [None, "1", 0.0, False])
def test_going_back_takes_a_whole_number(price: md.Constraint, steps: object) -> None:
    with pytest.raises(md.UsageError, match="whole number"):
        price.matcher().rollback(steps)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", [None, 5, [49], [49, 300], ["1"], "\ud800"])
def test_a_text_is_str_or_bytes(price: md.Constraint, text: object) -> None:
    matcher = price.matcher()
    with pytest.raises(md.UsageError, match="the text"):
        matcher.accept_string(text)  # type: ignore[arg-type]
    assert matcher.steps == 0
    assert matcher.accept_string(bytearray(b"1"))  # type: ignore[arg-type]


@pytest.mark.parametrize("constraint", [None, "[0-9]+"])
def test_a_matcher_walks_a_constraint(constraint: object) -> None:
    with pytest.raises(md.UsageError, match="compile_regex"):
        md.Matcher(constraint)  # type: ignore[arg-type]


def test_a_shared_mask_cannot_be_written(price: md.Constraint) -> None:
    with pytest.raises(ValueError, match="read-only"):
        price.matcher().bitmask()[0] = -1


@pytest.mark.parametrize("token_id", [-1, 9, 1.0, None, True, "1"])
def test_an_id_outside_the_vocabulary_is_an_error_not_a_refusal(
    price: md.Constraint, token_id: object
) -> None:
    with pytest.raises(md.UsageError):
        price.matcher().accept_token(token_id)  # type: ignore[arg-type]


def test_forced_text_ends_where_there_is_a_choice_or_an_end() -> None:
    vocabulary = md.Vocabulary.from_tokens([*map(chr, range(32, 127)), "</s>"], eos="</s>")
    matcher = md.compile_regex(r'\{"age": (0|[1-9][0-9]*)\}', vocabulary).matcher()
    assert matcher.jump_forward_string() == '{"age": '
    assert matcher.accept_string('{"age": ')
    assert matcher.jump_forward_string() == ""
    assert matcher.accept_string("0")
    assert matcher.jump_forward_string() == "}"
    assert md.compile_regex("ab?", vocabulary).matcher().jump_forward_string() == "a"


def test_forced_text_is_cut_at_a_character_border() -> None:
    tokens = [bytes([byte]) for byte in range(256)]
    vocabulary = md.Vocabulary.from_tokens([*tokens, "</s>"], eos=256)
    matcher = md.compile_regex("x[😀-🙏]", vocabulary).matcher()
    assert matcher.jump_forward_string() == "x"  # F0 9F is forced too, and is no character
    assert matcher.accept_string("x\N{GRINNING FACE}".encode()[:3])
    assert matcher.jump_forward_string() == ""


def test_a_string_may_end_inside_a_token_but_not_in_a_dead_end() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "ab", "c"], eos=0)
    matcher = md.compile_regex("(ab|c)*", vocabulary).matcher()
    assert not matcher.accept_string("a"), "no token begins with b"
    assert matcher.accept_string("abc")


def test_half_a_character_can_be_accepted() -> None:
    vocabulary = md.Vocabulary.from_tokens([b"\xc3", b"\xa9", b"\xa8", "</s>"], eos=3)
    matcher = md.compile_regex("é+", vocabulary).matcher()
    assert matcher.accept_token(0)
    assert matcher.allowed_token_ids().tolist() == [1]
    assert not matcher.is_accepting
    assert matcher.constraint.automaton.name(matcher.state) == "b0"


def test_eos_text_inside_a_pattern_is_text_not_the_end() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "<", "/s>"], eos=0)
    matcher = md.compile_regex("</s>", vocabulary).matcher()
    assert matcher.allowed_token_ids().tolist() == [1]
    assert matcher.accept_token(1)
    assert matcher.accept_token(2)
    assert matcher.allowed_token_ids().tolist() == [0]


def test_every_eos_id_ends_the_text() -> None:
    vocabulary = md.Vocabulary.from_tokens(["a", "</s>", "<eot>"], eos=[1, 2])
    for eos in (1, 2):
        matcher = md.compile_regex("a", vocabulary).matcher()
        assert not matcher.accept_token(eos)
        matcher.accept_token(0)
        assert matcher.allowed_token_ids().tolist() == [1, 2]
        assert matcher.accept_token(eos)


def test_a_constraint_is_compiled_once_per_vocabulary() -> None:
    first, second = (md.Vocabulary.from_tokens(["a", "</s>"], eos=1) for _ in range(2))
    other = md.Vocabulary.from_tokens(["a", "b", "</s>"], eos=2)
    assert md.compile_regex("a{3}", first) is md.compile_regex("a{3}", second)
    assert md.compile_regex("a{3}", other) is not md.compile_regex("a{3}", first)


def test_vocabularies_that_print_eos_differently_share_no_constraint() -> None:
    named = {text: md.Vocabulary.from_tokens(["a", text], eos=1) for text in ("</s>", "<eot>")}
    for text, vocabulary in named.items():
        assert md.explain(md.compile_regex("a{4}", vocabulary).matcher(), 1).sentence.startswith(
            f"`■ {text}`"
        )


def test_eight_threads_share_a_constraint() -> None:
    constraint = md.compile_regex(r"[0-9]{1,50}\.[0-9]{2}", md.Vocabulary.from_tokens(LESSON, eos=0))
    walks: list[list[list[int]]] = []

    def run() -> None:
        matcher, seen = constraint.matcher(), []
        for token_id in [2, 1, 5, 7] * 5 + [4, 6]:
            seen.append(matcher.bitmask().tolist())
            assert matcher.accept_token(token_id)
        walks.append(seen)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert walks == [walks[0]] * 8


def test_reprs_say_what_a_person_wants_to_know(price: md.Constraint) -> None:
    assert "5 states" in repr(price)
    assert "token classes" in repr(price)
    matcher = price.matcher()
    matcher.accept_token(2)
    assert "s1" in repr(matcher)
    assert copy.copy(price) is not None
