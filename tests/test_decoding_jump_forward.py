"""Jumping over forced text: the tokenizer's own tokens, what waits, what counts, and what it saves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import minidecoder as md
from minidecoder.decoding.jump_forward import JumpForward
from minidecoder.models import CausalLM
from minidecoder.models.toy import TableModel, UniformModel
from tests.strategies import patterns, vocabularies

AGE = r"\{\"age\": (0|[1-9][0-9]*)\}"
AGE_TOKENS = ["</s>", "{", '"', '{"', "a", "ge", "age", '":', ":", " ", "0", "1", "12", "01", "}", "2}"]


class Likes:
    """Prefers the given ids, the first of them that is allowed; counts how often it is asked."""

    def __init__(self, width: int, *ids: int, encode: Callable[[str], list[int]] | None = None) -> None:
        self.row = np.zeros(width)
        self.row[list(ids)] = np.arange(len(ids), 0, -1)
        self.calls = 0
        if encode is not None:
            self.encode = encode

    def next_logits(self, token_ids: Sequence[int]) -> NDArray[np.float64]:
        self.calls += 1
        return self.row.copy()


def longest_first(vocabulary: md.Vocabulary) -> Callable[[str], list[int]]:
    """A tokenizer that takes the longest token, again and again."""

    def encode(text: str) -> list[int]:
        data, ids = text.encode(), []
        while data:
            best = max(
                (i for i, t in enumerate(vocabulary.token_bytes) if t and data.startswith(t)),
                key=lambda i: len(vocabulary.token_bytes[i]),
            )
            ids.append(best)
            data = data[len(vocabulary.token_bytes[best]) :]
        return ids

    return encode


@pytest.mark.parametrize("has_tokenizer", [True, False])
def test_the_seven_steps_of_lesson_03_need_the_model_for_two(has_tokenizer: bool) -> None:
    vocabulary = md.Vocabulary.from_tokens(AGE_TOKENS, eos="</s>")
    constraint = md.compile_regex(AGE, vocabulary)
    assert len(constraint.matcher().jump_forward_string()) == 8
    encode = longest_first(vocabulary) if has_tokenizer else None
    model = Likes(16, 14, 12, encode=encode)
    run = md.generate(model, [], constraint=constraint, jump_forward=True)
    assert [vocabulary.text(i) for i in run.token_ids] == ['{"', "age", '":', " ", "12", "}", "</s>"]
    assert (run.model_calls, run.model_calls_saved, model.calls) == (2, 5, 2)
    assert [step.forced for step in run.steps] == [True, True, True, True, False, False, True]
    assert run.trace.text == run.text == '{"age": 12}'
    plain = md.generate(Likes(16, 3, 6, 7, 9, 14, 12), [], constraint=constraint)
    assert (plain.text, plain.model_calls, plain.model_calls_saved) == (run.text, 6, 1)


def test_forced_tokens_count_and_the_run_stops_at_max_tokens() -> None:
    vocabulary = md.Vocabulary.from_tokens(AGE_TOKENS, eos="</s>")
    constraint = md.compile_regex(AGE, vocabulary)
    model = Likes(16)
    run = md.generate(model, [], constraint=constraint, jump_forward=True, max_tokens=3)
    assert (run.text, run.finish_reason, run.is_complete, model.calls) == ('{"age":', "length", False, 0)


ORDER_TOKENS = ["</s>", '{"', "order", "orderId", "orderName", "Id", "Name", '":', "1", "}"]


def test_a_token_that_a_longer_one_could_reach_over_is_held_back() -> None:
    vocabulary = md.Vocabulary.from_tokens(ORDER_TOKENS, eos="</s>")
    constraint = md.compile_regex(r'\{"order(Id|Name)":1\}', vocabulary)
    jump, matcher = JumpForward(vocabulary, longest_first(vocabulary)), constraint.matcher()
    assert matcher.jump_forward_string() == '{"order'
    assert [vocabulary.text(i) for i in jump.tokens(matcher, b"")] == ['{"'], "`order` waits"
    run = md.generate(Likes(10, 3), [], constraint=constraint, jump_forward=True)
    assert [vocabulary.text(i) for i in run.token_ids] == ['{"', "orderId", '":', "1", "}", "</s>"]
    assert run.model_calls == 1


def test_a_longer_token_that_no_text_can_use_holds_nothing_back() -> None:
    vocabulary = md.Vocabulary.from_tokens([*ORDER_TOKENS, "order:", "orders"], eos="</s>")
    constraint = md.compile_regex(r'\{"order[0-9]":1\}', vocabulary)
    with pytest.raises(md.UnsatisfiableConstraintError):
        md.compile_regex(r'\{"order[2-9]":1\}', vocabulary)
    taken = JumpForward(vocabulary).tokens(constraint.matcher(), b"")
    assert [vocabulary.text(i) for i in taken] == ['{"', "order"]


def test_a_token_that_begins_inside_another_holds_that_one_back_too() -> None:
    """`a  b`: a tokenizer writes two spaces as one token, unless the second belongs to ` b`."""
    vocabulary = md.Vocabulary.from_tokens(["</s>", "a", " ", "  ", " b", "b", "c"], eos=0)
    constraint = md.compile_regex("a  (b|c)", vocabulary)
    taken = JumpForward(vocabulary, longest_first(vocabulary)).tokens(constraint.matcher(), b"")
    assert [vocabulary.text(i) for i in taken] == ["a"]


def test_the_tokenizer_sees_what_was_written_before() -> None:
    """Here `c` is written `C` behind an `x`: the id is asked of the tokenizer together with the text."""
    vocabulary = md.Vocabulary.from_tokens(["</s>", "x", "y", "c", b"c"], eos=0)
    seen = []

    def encode(text: str) -> list[int]:
        seen.append(text)
        return [
            {"x": 1, "y": 2, "c": 4 if text[max(0, i - 1)] == "x" else 3}[char] for i, char in enumerate(text)
        ]

    constraint = md.compile_regex("(x|y)c", vocabulary)
    assert md.generate(
        Likes(5, 1, encode=encode), [], constraint=constraint, jump_forward=True
    ).token_ids == [1, 4, 0]
    assert md.generate(
        Likes(5, 2, encode=encode), [], constraint=constraint, jump_forward=True
    ).token_ids == [2, 3, 0]
    assert seen == ["xc", "yc"]


def test_a_tokenizer_that_puts_bos_and_a_space_in_front_does_no_harm() -> None:
    vocabulary = md.Vocabulary.from_tokens(
        ["</s>", "<s>", " a", "a", "b", " ", "\n", "ab", " ab"], eos=0, special="<s>"
    )
    longest = longest_first(vocabulary)
    constraint = md.compile_regex("ab(a|b)", vocabulary)
    jump = JumpForward(vocabulary, lambda text: [1, *longest(" " + text)])
    assert [vocabulary.text(i) for i in jump.tokens(constraint.matcher(), b"")] == ["ab"]


def test_forced_text_that_the_tokenizer_reads_as_a_special_token_is_spelled_out() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "<", "/", "s", ">", "x"], eos=0)
    constraint = md.compile_regex("</s>x", vocabulary)
    run = md.generate(Likes(6, encode=lambda text: [0, 5] if "</s>" in text else [5]), [], constraint=constraint, jump_forward=True)  # fmt: skip
    assert (run.text, run.token_ids, run.model_calls) == ("</s>x", [1, 2, 3, 4, 5, 0], 0)


def test_a_single_legal_token_is_taken_without_asking() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", b"\xf0\x9f", b"\x98\x80", b"\x98\x81"], eos=0)
    constraint = md.compile_regex("[😀😁]", vocabulary)
    assert constraint.matcher().jump_forward_string() == "", "no whole character is forced"
    run = md.generate(Likes(4, 3), [], constraint=constraint, jump_forward=True)
    assert (run.text, run.model_calls) == ("😁", 1)


def test_a_forced_token_that_is_banned_is_not_taken() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "a", "b", "ab", "c"], eos=0)
    constraint = md.compile_regex("ab(b|c)", vocabulary)
    sampling = md.Sampling(temperature=0, banned_ids=[3])
    run = md.generate(UniformModel(5), [], constraint=constraint, sampling=sampling, jump_forward=True)
    assert run.token_ids == [1, 2, 2, 0]


def test_a_jump_never_breaks_the_budget() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "a", "b", "aaaa", "bbbb"], eos=0)
    constraint = md.compile_regex("aaaa(b|bbbb)", vocabulary)
    by_letters = lambda text: [{"a": 1, "b": 2}[char] for char in text]  # noqa: E731
    for max_tokens in range(3, 9):
        run = md.generate(
            Likes(5, 2, encode=by_letters),
            [],
            constraint=constraint,
            jump_forward=True,
            finish_within_budget=True,
            max_tokens=max_tokens,
        )
        assert (run.finish_reason, run.is_complete) == ("stop", True)
        assert len(run.steps) <= max_tokens


@given(patterns(), vocabularies(), st.integers(0, 2**32 - 1), st.booleans())
def test_whatever_is_forced_the_text_matches(
    pattern: str, vocabulary: md.Vocabulary, seed: int, within_budget: bool
) -> None:
    try:
        constraint = md.compile_regex(pattern, vocabulary)
    except md.UnsatisfiableConstraintError:
        return
    logits = np.random.default_rng(seed).normal(size=len(vocabulary))
    run = md.generate(
        TableModel(len(vocabulary), {}, default=logits.tolist()),
        [],
        constraint=constraint,
        sampling=md.Sampling(seed=seed),
        jump_forward=True,
        finish_within_budget=within_budget,
        max_tokens=60,
    )
    matcher = constraint.matcher()
    assert all(matcher.accept_token(token_id) for token_id in run.token_ids)
    assert run.is_complete is matcher.is_accepting
    if within_budget:
        assert (run.is_complete, run.finish_reason) == (True, "stop")


def test_stream_jumps_as_well_and_a_forced_step_has_no_rows() -> None:
    vocabulary = md.Vocabulary.from_tokens(AGE_TOKENS, eos="</s>")
    constraint = md.compile_regex(AGE, vocabulary)
    steps = list(md.stream(Likes(16, 14, 12), [], constraint=constraint, jump_forward=True))
    assert [step.draw is None for step in steps] == [step.forced for step in steps]
    assert (steps[0].favourite, steps[0].feasible_mass, steps[0].probability) == (None, None, 1.0)
    assert all(step.seconds > 0 for step in steps)


def test_without_a_constraint_nothing_is_forced() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "a"], eos=0)
    with pytest.raises(md.UsageError, match="jump_forward=True needs a constraint"):
        md.generate(UniformModel(2), [], vocabulary=vocabulary, jump_forward=True)


REVIEW = r'\{"product": "[A-Za-z ]{3,20}", "stars": [1-5], "would_buy_again": (true|false)\}'


def test_on_smollm2_the_tokens_are_those_that_its_tokenizer_writes(smollm2: CausalLM) -> None:
    constraint = md.compile_regex(REVIEW, smollm2.vocabulary)
    prompt = smollm2.encode_chat("Write a review of a coffee machine as JSON.")
    run = md.generate(smollm2, prompt, constraint=constraint, jump_forward=True)
    assert run.is_complete
    assert run.model_calls < len(run.steps) / 2
    written = [i for i in run.token_ids if smollm2.vocabulary.token_bytes[i]]
    assert written == smollm2.encode(run.text), "a jump must not leave tokens that the model never reads"
