"""Bugs that users of other decoders reported about grammars, none of which may happen here.

Each case names the report it was distilled from. A grammar means what it says, byte by byte, or it is a typed
error at its line and column; nothing runs unconstrained, crashes or loops.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import minidecoder as md
from minidecoder.decoding.constraint import Constraint
from minidecoder.errors import GrammarSyntaxError
from minidecoder.grammar.compiler import compile_pushdown
from minidecoder.grammar.prepare import read_grammar
from tests.earley import Earley, read

BYTES = md.Vocabulary.from_tokens([*(bytes([byte]) for byte in range(256)), "</s>"], eos=256)


@dataclass(frozen=True)
class Report:
    """A grammar, and whole texts that are and are not members of its language."""

    source: str
    why: str
    grammar: str
    accepts: tuple[str, ...]
    rejects: tuple[str, ...]


LANGUAGES = [
    Report("guidance-ai/guidance#1092", "ambiguity made the number of items explode", 'root ::= root root | "a"', ("a", "aa", "a" * 25, "a" * 60), ("", "b", "ab")),
    Report("guidance-ai/guidance#1396", "[sign] is a class of four letters", "root ::= [sign] [0-9]+", ("s1", "n42"), ("1", "+1", "sign1", "")),
    Report("vllm-project/vllm#48115", "a choice with a line break", r'root ::= "yes" | "no\nplease"', ("yes", "no\nplease"), (r"no\nplease", "no please", "no")),
    Report("mlc-ai/xgrammar#125", "a comment inside a group", 'root ::= ( "a" # first\n  "b" )  # end', ("ab",), ("a", "b", "a # first")),
    Report("ggml-org/llama.cpp#2501", "a range of emoji", "root ::= [😀-🙏]+", ("😀", "😨🙏"), ("a", "", "🚀")),
    Report("ggml-org/llama.cpp#7572", "an empty alternative under a star", 'root ::= ("" | "a")*', ("", "a", "aaa"), ("b", "ab")),
    Report("mlc-ai/xgrammar#156", "'anything but <|' written by hand lets '<<|' through", 'root ::= ([^<] | "<" [^|])*', ("a", "", "<b", "<<|", "x<<|y"), ("<|", "a<|b", "<")),
    Report("ggml-org/llama.cpp#6492", "direct left recursion", 'root ::= root "a" | "b"', ("b", "ba", "baaa", "b" + "a" * 500), ("a", "ab", "", "bb")),
    Report("ggml-org/llama.cpp#13762", "a star over rules that can be empty", 'root ::= ws "x" ws\nws ::= (sp | nl)*\nsp ::= [ \\t]*\nnl ::= "\\r"? "\\n"', ("x", " x", "\n x \n", "\r\nx"), ("", " ", "xx", "\rx")),
    Report("ggml-org/llama.cpp#27859", "a bound of exactly 2,000", "root ::= [a-z]{0,2000}", ("", "a", "a" * 1999, "a" * 2000), ("a" * 2001, "A")),
    Report("mlc-ai/xgrammar#873", "masks grew slower with the text", "root ::= [0-9a-z]+ ([ \\n] [0-9a-z]+)*", ("a", "a b", "a\nb1"), ("", " a", "a ")),
]  # fmt: skip


@pytest.mark.parametrize("report", LANGUAGES, ids=lambda report: report.source)
def test_the_language_is_exact(report: Report) -> None:
    index = compile_pushdown(report.grammar, BYTES)
    constraint = Constraint(report.grammar, BYTES, index.automaton, index)
    judge = Earley(read(report.grammar))
    for text in (*report.accepts, *report.rejects):
        expected = text in report.accepts
        matcher = constraint.matcher()
        assert (matcher.accept_string(text) and matcher.is_accepting) == expected, text
        if len(text) <= 100:
            assert judge.matches(text) == expected, "the case itself"


@pytest.mark.parametrize(
    ("source", "grammar", "line", "column", "words"),
    [
        ("ggml-org/llama.cpp, llama-grammar.cpp: no root rule", 'start ::= "a"', 1, 1, "no rule 'root'"),
        ("ggml-org/llama.cpp#26596: a rule that is missing", 'root ::= foo "a"', 1, 10, "no rule 'foo'"),
        ("ggml-org/llama.cpp#19051: logged, and then unconstrained", 'root ::= "a', 1, 10, "not closed"),
    ],
)
def test_a_broken_grammar_is_an_error_at_its_place(
    source: str, grammar: str, line: int, column: int, words: str
) -> None:
    with pytest.raises(GrammarSyntaxError, match=words) as caught:
        compile_pushdown(grammar, BYTES)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_the_start_rule_can_be_named() -> None:
    """ggml-org/llama.cpp, llama-grammar.cpp: a grammar without `root` is no dead end."""
    assert read_grammar('start ::= "a"', root="start").rules[0].name == "start"


def test_a_class_that_spells_a_rule_is_remarked_upon() -> None:
    """guidance-ai/guidance#1396: for an optional sign, the rule with ? was meant."""
    (note, unused) = read_grammar('root ::= [sign] [0-9]+\nsign ::= "+" | "-"').notes
    assert note == "line 1, column 10: [sign] is one of these characters; the rule is sign, optional sign?"
    assert unused == "line 2, column 1: rule 'sign' is never used from 'root'"


def test_a_mask_after_a_long_text_is_the_mask_after_a_short_one() -> None:
    """mlc-ai/xgrammar#873, guidance-ai/guidance#1092: what was read does not pile up in the state."""
    for grammar, text in [
        ("root ::= [0-9a-z]+ ([ \\n] [0-9a-z]+)*", "a b1\n"),
        ('root ::= root root | "a"', "a"),
        ('root ::= root "a" | "b" | root2\nroot2 ::= root "c" | "a"', "aac"),
        ('root ::= "a" | "a" root', "a"),
    ]:
        index = compile_pushdown(grammar, BYTES)
        matcher = Constraint(grammar, BYTES, index.automaton, index).matcher()
        keys = []
        for _ in range(1000):
            assert matcher.accept_string(text)
            keys.append(index.automaton.mask_key(matcher.state))
        assert len(set(keys[3:])) == 1, grammar
