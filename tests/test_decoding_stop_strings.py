"""Stop strings: found wherever tokens cut them, and the text ends before them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minidecoder as md
from minidecoder.decoding.stop_strings import StopStrings

VOCABULARY = md.Vocabulary.from_tokens(
    ["</s>", "a", "b", "ab", "\n", "END", "EN", "D", "aEND", b"\xc3", b"\xa9", "<x>"], eos=0, special="<x>"
)


class Says:
    """Wants to write these ids, one after the other."""

    def __init__(self, *ids: int) -> None:
        self.ids = ids

    def next_logits(self, token_ids: Sequence[int]) -> np.ndarray:
        row = np.zeros(len(VOCABULARY))
        row[self.ids[len(token_ids)]] = 9
        return row


def run(*ids: int, stop: Any, **options: Any) -> md.Run:
    return md.generate(Says(*ids), [], vocabulary=VOCABULARY, stop=stop, **options)


def test_the_text_is_cut_before_the_stop_string_and_the_ids_are_all_there() -> None:
    done = run(1, 2, 5, 1, stop="END")
    assert (done.text, done.token_ids) == ("ab", [1, 2, 5])
    assert (done.finish_reason, done.stop_string, done.is_complete) == ("stop", "END", True)
    assert (done.trace.text, done.trace.finish_reason) == ("ab", "stop")
    assert [step.stop for step in done.steps] == ["", "", "END"]


@pytest.mark.parametrize("ids", [(1, 2, 6, 7), (3, 6, 7), (1, 2, 5)])
def test_a_stop_string_may_lie_across_tokens(ids: tuple[int, ...]) -> None:
    assert run(*ids, 1, stop=["END"]).text == "ab"


def test_a_stop_string_may_begin_and_end_inside_a_token() -> None:
    assert run(2, 8, 1, stop="EN").text == "ba"
    assert run(2, 8, 1, stop=["D", "EN", "aEND"]).stop_string == "aEND", "the one that begins first"
    assert run(2, 8, 1, stop=["E", "END"]).stop_string == "END"


def test_half_a_character_is_no_match_for_a_whole_one() -> None:
    assert run(1, 9, 10, 2, stop="é").text == "a"
    assert run(1, 9, 10, 2, 0, stop="Ã").text == "aéb"


def test_eos_and_the_limit_end_a_run_as_ever() -> None:
    assert (run(1, 0, stop="END").finish_reason, run(1, 0, stop="END").stop_string) == ("stop", None)
    cut = run(1, 6, 1, stop="END", max_tokens=2)
    assert (cut.text, cut.finish_reason, cut.stop_string) == ("aEN", "length", None)


def test_special_tokens_are_no_text() -> None:
    assert run(1, 11, 2, 0, stop=["<x>", "</s>"]).text == "ab"


def test_with_a_constraint_the_cut_text_may_be_no_whole_match_and_the_run_says_so() -> None:
    constraint = md.compile_regex("(ab)+(\nab)?", VOCABULARY)
    cut = md.generate(Says(3, 1, 2, 0), [], constraint=constraint, stop="ba")
    assert (cut.text, cut.finish_reason, cut.is_complete) == ("a", "stop", False)
    whole = md.generate(Says(3, 4, 3, 0), [], constraint=constraint, stop="\n")
    assert (whole.text, whole.finish_reason, whole.is_complete) == ("ab", "stop", True)


def test_forced_text_can_hold_a_stop_string_too() -> None:
    constraint = md.compile_regex("abEND(a|b)", VOCABULARY)
    done = md.generate(Says(), [], constraint=constraint, stop="END", jump_forward=True)
    assert (done.text, done.model_calls, done.is_complete) == ("ab", 0, False)


@given(st.lists(st.integers(1, 8), min_size=1, max_size=8), st.lists(st.sampled_from(["E", "ab", "ND", "ENDa", "ba"]), min_size=1, max_size=3))  # fmt: skip
def test_the_cut_is_that_of_the_whole_text(ids: list[int], stops: list[str]) -> None:
    done = run(*ids, 0, stop=stops)
    whole = VOCABULARY.decode(ids).decode()
    places = [whole.find(stop) for stop in stops if stop in whole]
    if not places:
        assert (done.text, done.token_ids[-1]) == (whole, 0)
        return
    first_end = next(
        n for n in range(1, len(ids) + 1) if any(s in VOCABULARY.decode(ids[:n]).decode() for s in stops)
    )
    assert done.token_ids == ids[:first_end], "no token is drawn after the stop string"
    so_far = VOCABULARY.decode(ids[:first_end]).decode()
    assert done.text == so_far[: min(so_far.find(stop) for stop in stops if stop in so_far)]


@pytest.mark.parametrize("stop", ["", [""], ["a", ""], [5], None, 5, {"a"}, [b"a"], ["\ud800"]])
def test_what_is_no_stop_string_is_refused(stop: Any) -> None:
    with pytest.raises(md.UsageError, match="stop"):
        StopStrings(stop)
