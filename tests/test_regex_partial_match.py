r"""The guide without an automaton: `-?\d+(\.\d+)?` over thirteen one-character tokens and EOS."""

from __future__ import annotations

import importlib
import os
import re
import warnings
from types import ModuleType

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from minidecoder.automaton import DEAD
from minidecoder.errors import (
    EmptyMaskError,
    MissingDependencyError,
    ModelError,
    RegexSyntaxError,
    UsageError,
)
from minidecoder.regex import partial_match
from minidecoder.regex.compiler import compile_dfa
from minidecoder.regex.partial_match import (
    PARTIAL_MATCH_STRATEGY,
    Answer,
    PartialMatcher,
    RegexGuide,
    prefix_pattern,
)
from tests.strategies import patterns, texts_up_to

NUMBER = r"-?\d+(\.\d+)?"
TOKENS = [*"0123456789", "-", ".", "a", "</s>"]
EOS = 13
LOGITS = np.arange(14, dtype=np.float64)


def have_regex() -> ModuleType:
    try:
        return importlib.import_module("regex")
    except ImportError:
        reason = "the package regex is not installed: pip install regex"
        pytest.fail(reason) if os.environ.get("MINIDECODER_REQUIRE_ALL") == "1" else pytest.skip(reason)


def guide(strategy: str, text: str = "") -> RegexGuide:
    if strategy == "regex":
        have_regex()
    made = RegexGuide(NUMBER, TOKENS, EOS, strategy=strategy)
    for char in text:
        made.consume(TOKENS.index(char))
    return made


def allowed(made: RegexGuide) -> str:
    """The tokens that keep their logit, in one string."""
    row = made.next_allowed(LOGITS)
    return "".join(token for token, logit in zip(TOKENS, row.tolist(), strict=True) if logit > -np.inf)


sound = pytest.mark.parametrize("strategy", ["regex", "fallback"])

# -- the example of lesson 01 -------------------------------------------------------------------------


@sound
def test_after_3_and_a_point_a_digit_stays_and_minus_and_a_go(strategy: str) -> None:
    assert allowed(guide(strategy)) == "0123456789-"
    assert allowed(guide(strategy, "-")) == "0123456789"
    assert allowed(guide(strategy, "3")) == "0123456789.</s>"
    assert allowed(guide(strategy, "3.")) == "0123456789"
    assert allowed(guide(strategy, "-3.1")) == "0123456789</s>"


def test_fullmatch_alone_blocks_exactly_the_ways_that_lead_through_an_unfinished_number() -> None:
    naive = RegexGuide(NUMBER, TOKENS, EOS, strategy="naive")
    assert not naive.is_allowed(TOKENS.index("-")), "wrong: -3 is a number"
    naive.consume(3)
    assert not naive.is_allowed(TOKENS.index(".")), "wrong: 3.1 is a number"
    right, wrong = PartialMatcher(NUMBER, "fallback"), PartialMatcher(NUMBER, "naive")
    texts = [text for text in texts_up_to(4, "3-.a") if right.could_match(text) != wrong.could_match(text)]
    assert texts == ["", "-", "3.", "33.", "-3.", "333.", "-33."]


@sound
def test_masking_keeps_positions_and_leaves_the_row_it_was_given(strategy: str) -> None:
    row = LOGITS.copy()
    masked = guide(strategy, "3.").next_allowed(row)
    assert masked is not row
    assert row.tolist() == LOGITS.tolist()
    assert masked.tolist() == [*LOGITS[:10].tolist(), *[-np.inf] * 4]
    assert guide(strategy).next_allowed(LOGITS.astype(np.float32)).dtype == np.float32
    assert guide(strategy).next_allowed([0] * 14).tolist() == [0.0] * 11 + [-np.inf] * 3


@sound
def test_a_step_costs_one_regex_call_per_token(strategy: str) -> None:
    made = guide(strategy)
    made.next_allowed(LOGITS)
    assert made.regex_calls == 14
    made.consume(3)
    assert made.regex_calls == 15


@sound
def test_eos_is_allowed_exactly_where_the_text_is_a_full_match_and_ends_the_run(strategy: str) -> None:
    made = guide(strategy, "3")
    assert not guide(strategy, "3.").is_complete()
    made.consume(EOS)
    assert (made.text, made.token_ids, made.is_finished, made.is_complete()) == ("3", [3, EOS], True, True)
    assert not made.is_allowed(3)
    with pytest.raises(EmptyMaskError, match="ended"):
        made.next_allowed(LOGITS)


def test_the_text_of_the_eos_token_is_never_text() -> None:
    made = RegexGuide("a*", ["a", "aa"], 1)
    made.consume(0)
    made.consume(1)
    assert (made.text, made.is_finished) == ("a", True)


# -- three answers ------------------------------------------------------------------------------------


def test_the_fallback_says_yes_with_a_completion_no_with_a_proof_and_else_maybe() -> None:
    made = RegexGuide("ab{3}", ["a", "b", "c", "</s>"], 3, strategy="fallback")
    assert [made.answer(token).value for token in range(3)] == ["maybe", "no", "no"]
    assert made.answer(0, most_tokens=3) is Answer.YES
    assert made.matcher.completion("a", made.tokens[:3], 3) == "abbb"
    assert made.matcher.completion("a", made.tokens[:3], 2) is None


def test_an_exact_strategy_needs_no_completion() -> None:
    have_regex()
    made = RegexGuide("ab{30}", ["a", "b", "</s>"], 2, strategy="regex")
    assert [made.answer(token) for token in range(3)] == [Answer.YES, Answer.NO, Answer.NO]


def test_where_nothing_can_be_proved_nothing_is_blocked() -> None:
    verbose = RegexGuide("(?x) a  b # a comment", ["a", "b", "z", "</s>"], 3, strategy="fallback")
    assert [verbose.answer(token) for token in range(3)] == [Answer.YES, Answer.MAYBE, Answer.MAYBE]
    assert not verbose.is_allowed(3), "EOS needs no proof"


def test_a_pattern_that_re_can_just_compile_is_not_refused_by_the_fallback() -> None:
    for depth in range(1, 400):
        pattern = "(" * depth + "a" + ")" * depth
        try:
            re.compile(pattern)
        except (RecursionError, re.error):
            break
        assert PartialMatcher(pattern, "fallback").could_match("a")


# -- the fallback never blocks a token that a full match needs ------------------------------------------


def extended_patterns() -> st.SearchStrategy[str]:
    """Patterns of the whole of `re`: look-around, anchors, references, conditions, flags, atomic groups."""
    atoms = st.sampled_from(
        ["a", "b", "1", ".", "[ab]", "[^a]", r"\w", r"\W", "[]a]", r"[\]1-]", r"\n", r"\x61", "^", "$", r"\A",
         r"\Z", r"\b", r"\B", "(?=a)", "(?!b)", "(?<=a)", "(?<!a)", "(a)?", r"(?P<n>b)", r"\1", "(?P=n)",
         "(?(1)b|1)", "(?(1)a)", "(?#note)", "{", "a{,2}", "{,", "(?i:A)", r"\u0062", r"\061", r"\0", r"\N{DIGIT ONE}", "$a"]
    )  # fmt: skip
    quantifiers = st.sampled_from(
        ["*", "+", "?", "{2}", "{1,2}", "{,2}", "{2,}", "*?", "+?", "*+", "?+", "{1,2}+"]
    )
    wraps = st.sampled_from(
        ["({})", "(?:{}|1)", "(?>{})", "(?={})", "(?!{})", "(?<!a|{})", "(?s-i:{})", "(|{})"]
    )

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.tuples(inner, inner).map("".join),
            st.tuples(inner, quantifiers).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
            st.tuples(inner, wraps).map(lambda pair: pair[1].replace("{}", pair[0])),
        )

    return st.recursive(atoms, grow, max_leaves=8)


def wrongly_blocked(pattern: str, texts: list[str]) -> list[str]:
    """Beginnings of full matches among `texts` that the fallback calls dead."""
    matcher, compiled = PartialMatcher(pattern, "fallback"), re.compile(pattern)
    full = [text for text in texts if compiled.fullmatch(text)]
    beginnings = {text[:end] for text in full for end in range(len(text) + 1)}
    return sorted(text for text in beginnings if not matcher.could_match(text))


SHORT = list(texts_up_to(4, "ab1\n"))


@settings(max_examples=250)
@given(extended_patterns())
def test_no_beginning_of_a_full_match_is_blocked_whatever_the_pattern(pattern: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except re.error:
        assume(False)
    assert wrongly_blocked(pattern, SHORT) == []


def test_no_beginning_of_a_full_match_in_cpythons_own_cases_is_blocked() -> None:
    cases = pytest.importorskip("test.re_tests", reason="this Python comes without its tests")
    checked = 0
    for pattern, text, *_ in cases.tests:
        try:
            matcher = PartialMatcher(pattern, "fallback")
        except RegexSyntaxError:
            continue
        assert wrongly_blocked(pattern, [text[i : i + n] for n in range(9) for i in range(len(text))]) == []
        checked += matcher.is_full_match(text)
    assert checked > 100


@pytest.mark.parametrize(
    ("pattern", "dead"),
    [
        (r"(?=a)\w+", "b"), (r"(a|b)c\1", "d"), (r"a$", "b"), (r"(?<!x)ab", "b"), (r"a++b", "ac"), (r"(?i)ab", "c"),
        (r"[]x]+", "[x"), (r"\[a\]", "a"), (r"a{2}", "aaa"), (r"a{2", "aa"), (r"(?P<q>['\"])x", "x"), (r"\x41\u0042", "AC"),
        ("", "a"), ("(?#nothing)", "a"), ("(a|)", "b"),
    ],
)  # fmt: skip
def test_the_fallback_still_proves_what_is_plainly_dead(pattern: str, dead: str) -> None:
    assert not PartialMatcher(pattern, "fallback").could_match(dead)


@settings(max_examples=150)
@given(patterns("ab1"))
def test_on_plain_patterns_the_live_states_are_what_regex_and_the_fallback_call_possible(
    pattern: str,
) -> None:
    """ASCII without look-around, anchors or empty classes: there `regex` is an oracle."""
    have_regex()
    dfa = compile_dfa(pattern)
    oracle, fallback = PartialMatcher(pattern, "regex"), PartialMatcher(pattern, "fallback")
    for text in texts_up_to(3, "ab1z\n"):
        alive = (dfa.walk(text) or [dfa.start])[-1] != DEAD
        assert oracle.could_match(text) == alive == fallback.could_match(text), text


@sound
def test_a_lazy_repeat_keeps_nothing_alive_that_a_greedy_one_would_not(strategy: str) -> None:
    if strategy == "regex":
        have_regex()
    for pattern, dead in ((r"\d+?b", "1a"), (r"a*?\?b", "a?a"), ("(x??)ab", "xb"), ("a{1,2}?b", "aaa")):
        matcher = PartialMatcher(pattern, strategy)
        assert not matcher.could_match(dead)
        assert all(matcher.could_match(dead[:end]) for end in range(len(dead)))


@given(patterns())
def test_on_plain_patterns_in_any_script_the_fallback_agrees_with_the_automaton(pattern: str) -> None:
    dfa, fallback = compile_dfa(pattern), PartialMatcher(pattern, "fallback")
    for text in texts_up_to(2, "ab1é😀z"):
        alive = (dfa.walk(text) or [dfa.start])[-1] != DEAD
        assert fallback.could_match(text) == alive, text


def test_a_prefix_pattern_reads_like_the_pattern() -> None:
    assert prefix_pattern(r"-?\d+?(\.[0-9])") == r"(?:-|\Z)?(?:\d|\Z)+((?:\.|\Z)(?:[0-9]|\Z))"
    assert prefix_pattern("(?x: a )") is None


# -- strategies and errors ------------------------------------------------------------------------------


def test_the_strategy_is_chosen_at_run_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert PARTIAL_MATCH_STRATEGY in ("stdlib", "regex", "fallback")
    assert RegexGuide("a", ["a", "</s>"], 1).matcher.strategy == PARTIAL_MATCH_STRATEGY
    monkeypatch.setattr(partial_match, "_stdlib_has_partial", lambda: False)
    monkeypatch.setattr(partial_match.importlib.util, "find_spec", lambda name: None)
    assert partial_match._choose() == "fallback"
    monkeypatch.setattr(partial_match.importlib.util, "find_spec", lambda name: name)
    assert partial_match._choose() == "regex"
    monkeypatch.setattr(partial_match, "_stdlib_has_partial", lambda: True)
    assert partial_match._choose() == "stdlib"


def test_a_strategy_that_is_not_to_be_had_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="guess"):
        PartialMatcher("a", "guess")
    monkeypatch.setattr(partial_match, "_stdlib_has_partial", lambda: False)
    with pytest.raises(UsageError, match="stdlib"):
        PartialMatcher("a", "stdlib")
    monkeypatch.setitem(__import__("sys").modules, "regex", None)
    with pytest.raises(MissingDependencyError, match="pip install"):
        PartialMatcher("a", "regex")


@pytest.mark.parametrize(
    ("pattern", "position"), [("(a", 0), ("a)", 1), ("ab*+?", 4), (r"\p{L}", 0), ("a{99999999999}", 0)]
)
def test_a_bad_pattern_is_a_syntax_error_at_its_position(pattern: str, position: int) -> None:
    with pytest.raises(RegexSyntaxError) as caught:
        RegexGuide(pattern, ["a", "</s>"], 1)
    assert caught.value.position == position


def test_a_pattern_or_a_token_that_is_no_text_is_refused() -> None:
    with pytest.raises(UsageError, match="bytes"):
        RegexGuide(b"a", ["a", "</s>"], 1)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="b'a'"):
        RegexGuide("a", [b"a", "</s>"], 1)  # type: ignore[list-item]
    with pytest.raises(UsageError, match="too deeply"):
        RegexGuide("(" * 20_000 + ")" * 20_000, ["a", "</s>"], 1)


def test_unknown_ids_and_blocked_tokens_are_refused_and_change_nothing() -> None:
    made = guide("fallback", "3.")
    for token_id, reason in ((14, "0 to 13"), (-1, "0 to 13"), (12, "'a'"), (EOS, "cannot follow")):
        with pytest.raises(UsageError, match=reason):
            made.consume(token_id)
    assert (made.text, made.token_ids) == ("3.", [3, 11])
    with pytest.raises(UsageError, match="out of range"):
        RegexGuide("a", ["a"], 1)


def test_rows_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(ModelError, match="shape"):
        guide("fallback").next_allowed([1.0, 2.0])
    with pytest.raises(ModelError, match="token 2"):
        guide("fallback").next_allowed([0.0, 0.0, np.nan, *[0.0] * 11])


def test_a_row_with_nothing_left_is_an_error_that_says_where() -> None:
    made = RegexGuide("a[bc]", ["a", "x", "", "</s>"], 3, strategy="fallback")
    made.consume(0)
    with pytest.raises(EmptyMaskError, match="follow 'a'"):
        made.next_allowed(np.zeros(4))


def test_an_empty_token_is_never_allowed_for_it_goes_nowhere() -> None:
    assert RegexGuide("a*", ["a", "", "</s>"], 2).next_allowed([1.0, 2.0, 3.0]).tolist() == [
        1.0,
        -np.inf,
        3.0,
    ]


def test_a_comment_with_a_hidden_parenthesis_is_read_as_re_reads_it() -> None:
    matcher = PartialMatcher(r"(?#a\)b)c", "fallback")
    assert matcher.could_match("")
    assert matcher.is_full_match("c")
    assert not matcher.could_match("b")
