"""The reading of grammars: each construct, each error at its place, and rewriting that keeps the language.

Three judges that share no code with the package: an Earley recogniser with a reader of its own, XGrammar where
its dialect has the construct, and the errors' places counted by hand.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minidecoder as md
from minidecoder.errors import GrammarSyntaxError
from minidecoder.grammar.ebnf import parse_grammar
from minidecoder.grammar.fixpoint import nullable, productive
from minidecoder.grammar.prepare import prepare, read_grammar
from minidecoder.grammar.printer import class_text, to_gbnf
from minidecoder.grammar.rules import CharClass, Grammar, Literal, Repeat, bottom_up, line_and_column
from minidecoder.regex.charset import make_ranges
from minidecoder.regex.limits import Limits
from tests.earley import Chars, Earley, begins_with_itself, read, sentence
from tests.strategies import texts_up_to
from tests.xgrammar_judge import compile_with_xgrammar


def judge(grammar: Grammar) -> Earley:
    """What the prepared rules mean, read back from their text by a reader that is not ours."""
    return Earley(read(to_gbnf(grammar)), grammar.rules[grammar.root].name)


# -- constructs: what is accepted, and what is not ---------------------------------------------------------

CONSTRUCTS = [
    ("a string", 'root ::= "ab"', ["ab"], ["", "a", "abc"]),
    ("an empty string", 'root ::= ""', [""], ["a"]),
    ("the escapes of both dialects", r'root ::= "\n\r\t\\\"\a\b\f\v\e\0\/\?" "\'"', ["\n\r\t\\\"\a\b\f\v\x1b\0/?'"], ["n"]),
    (r"\x is a character, not a byte", r'root ::= "\xe9\u20AC\U0001F600"', ["é€😀"], ["é"]),
    ("a class", "root ::= [a-cx]", ["a", "b", "c", "x"], ["d", "", "ab"]),
    ("a negated class takes line ends", "root ::= [^a]", ["b", "\n", "é", "😀"], ["a", ""]),
    ("a dash at either end", "root ::= [a-] [-a]", ["a-", "-a", "--"], ["b-"]),
    ("a dash after a range", "root ::= [a-c-e]", ["b", "-", "e"], ["d"]),
    ("an escaped dash", r"root ::= [a\-z]", ["a", "-", "z"], ["b"]),
    ("a range from the dash", "root ::= [--0]", ["-", ".", "/", "0"], ["1", ","]),
    ("brackets in a class", r"root ::= [\]\[[]", ["]", "["], ["\\"]),
    ("a caret that is not first", r"root ::= [a^] [\^]", ["a^", "^^"], ["b^"]),
    ("a quote in a class", 'root ::= ["#|] # a comment', ['"', "#", "|"], [" "]),
    ("any character", "root ::= [^]", ["a", "\n", "😀"], ["", "ab"]),
    ("the whole of Unicode but some", r"root ::= [^\x00-\uFFFF]", ["😀"], ["a", "€"]),
    ("a range of emoji", "root ::= [😀-🙏]", ["😀", "🙏"], ["🚀"]),
    ("a group", 'root ::= ("a" | "b") "c"', ["ac", "bc"], ["c", "abc"]),
    ("an empty group", 'root ::= () "a"', ["a"], [""]),
    ("signs bind to the last part alone", 'root ::= "a" "b"*', ["a", "abb"], ["aab", ""]),
    ("a sign repeats the whole string", 'root ::= "ab"+', ["ab", "abab"], ["abb", ""]),
    ("optional", 'root ::= "a"?', ["", "a"], ["aa"]),
    ("exactly", 'root ::= "a"{2}', ["aa"], ["a", "aaa"]),
    ("at least", 'root ::= "a"{2,}', ["aa", "aaaaa"], ["a"]),
    ("between", 'root ::= "a"{1,2} "b"', ["ab", "aab"], ["b", "aaab"]),
    ("none", 'root ::= "a"{0} "b"', ["b"], ["ab"]),
    ("spaces in a count", 'root ::= "a"{ 1 , 2 }', ["a", "aa"], ["", "aaa"]),
    ("a sign on its own line", 'root ::= "a"\n  *', ["", "aaa"], ["b"]),
    ("alternatives over lines, bar first", 'root ::= "a"\n  | "b"', ["a", "b"], ["ab"]),
    ("alternatives over lines, bar last", 'root ::= "a" |\n  "b"', ["a", "b"], ["ab"]),
    ("a body on the next line", 'root ::=\n  "a"', ["a"], [""]),
    ("the sign on the next line", 'root\n  ::= "a"', ["a"], [""]),
    ("a sequence over lines", 'root ::= "a"\n  "b"', ["ab"], ["a"]),
    ("a rule used before it is defined", 'root ::= x\nx ::= "a"', ["a"], ["x"]),
    ("names with digits, dashes, underscores", 'root ::= a-1 a_1\na-1 ::= "x"\na_1 ::= "y"', ["xy"], ["x"]),
    ("comments", '# one\nroot ::= "a" # "b"\n  # ::=\n  "c" #', ["ac"], ["a", "abc"]),
    ("no spaces at all", 'root::=a"b"\na::=[c]"d"', ["cdb"], ["cd"]),
    ("line ends of Windows", 'root ::= a\r\n  "b"\r\na ::= "c" # d\r\n', ["cb"], ["c"]),
    ("a rule that begins with a digit in its name's middle", 'root ::= r2d2\nr2d2 ::= "a"', ["a"], [""]),
]  # fmt: skip

# What llama.cpp has and XGrammar refuses.
LLAMA_ONLY = [
    ("any character, line ends too", "root ::= .", ["a", "\n", "\r", "\0", "é", "😀"], ["", "ab"]),
    ("a dot is no part of a name", 'root ::= a.a\na ::= "x"', ["xxx", "x\nx"], ["xx"]),
    ("an empty alternative", 'root ::= "a" | | "b"', ["", "a", "b"], ["ab"]),
    ("an empty first alternative", 'root ::= | "b"', ["", "b"], ["bb"]),
    ("an empty last alternative in a group", 'root ::= ("a" | ) "b"', ["b", "ab"], ["a"]),
    ("an empty rule", "root ::= ", [""], ["a"]),
    ("signs one after the other", 'root ::= "a"{2}{3} "b"+?', ["aaaaaa", "aaaaaabb"], ["aa", "aaaaa"]),
    ("brackets and dashes escaped in a string", r'root ::= "\[\]\-"', ["[]-"], [r"\["]),
    ("names that begin with a digit or a dash", 'root ::= 1a -b\n1a ::= "x"\n-b ::= "y"', ["xy"], ["x"]),
    ("line ends of old Macs", 'root ::= a\ra ::= "c" # d\r', ["c"], [""]),
]  # fmt: skip

cases = pytest.mark.parametrize(
    ("text", "accepted", "refused"),
    [pytest.param(*case, id=name) for name, *case in [*CONSTRUCTS, *LLAMA_ONLY]],
)


@cases
def test_a_construct_means_what_the_notation_says(text: str, accepted: list[str], refused: list[str]) -> None:
    prepared = judge(read_grammar(text))
    as_written = judge(parse_grammar(text))
    for word in (*accepted, *refused):
        assert prepared.matches(word) == (word in accepted), word
        assert as_written.matches(word) == (word in accepted), word


@pytest.mark.parametrize(
    ("text", "accepted", "refused"), [pytest.param(*case, id=name) for name, *case in CONSTRUCTS]
)
def test_xgrammar_reads_the_common_notation_alike(text: str, accepted: list[str], refused: list[str]) -> None:
    accepts = compile_with_xgrammar(text)
    for word in (*accepted, *refused):
        if "\0" not in word:  # its accept_string ends at a NUL
            assert accepts(word) == (word in accepted), word


@cases
def test_the_other_reader_agrees_on_the_text(text: str, accepted: list[str], refused: list[str]) -> None:
    """The judge's own reader, on the author's text and not on ours; it knows no class without members."""
    own = Earley(read(text.replace("[^]", ".")))
    assert [word for word in (*accepted, *refused) if own.matches(word)] == accepted


def test_a_byte_order_mark_is_skipped() -> None:
    grammar = parse_grammar('\ufeffroot ::= "a"')
    assert (grammar.rules[0].line, grammar.rules[0].column) == (1, 1)
    assert grammar.source == 'root ::= "a"'


def test_another_rule_can_be_the_root() -> None:
    grammar = read_grammar('start ::= "a"\nother ::= "b"', root="start")
    assert grammar.rules[grammar.root].name == "start"
    assert grammar.notes == ("line 2, column 1: rule 'other' is never used from 'start'",)


def test_every_part_knows_its_place() -> None:
    text = 'root ::= "a" x+\n  | [b-c] # d\nx ::= ("e" "f")'
    grammar = parse_grammar(text)
    places = {grammar.where(node.place) for rule in grammar.rules for node in bottom_up(rule.body)}
    assert places == {(1, 10), (1, 14), (2, 5), (3, 8), (3, 12)}
    assert [(rule.name, rule.line, rule.column) for rule in grammar.rules] == [("root", 1, 1), ("x", 3, 1)]
    assert [line_and_column("a\r\nb\rc\nd", place) for place in (0, 3, 5, 7)] == [
        (1, 1),
        (2, 1),
        (3, 1),
        (4, 1),
    ]


def test_rules_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        parse_grammar('root ::= "a"').root = 1  # type: ignore[misc]


# -- errors ------------------------------------------------------------------------------------------------

ERRORS = [
    ("", 1, 1, "no rule 'root'"),
    (" # nothing\n", 1, 1, "no rule 'root'"),
    ('rooot ::= "a"', 1, 1, "'rooot' meant"),
    ('start ::= "a"', 1, 1, "argument root"),
    ("root ::= foo", 1, 10, "no rule 'foo'"),
    ('root ::= "a"\n  vaule\nvalue ::= "b"', 2, 3, "'value' meant"),
    ('root ::= "a"\nb ::= "c"\nroot ::= "d"', 3, 1, "defined twice, first in line 1"),
    ('root ::= "a', 1, 10, "not closed"),
    ('root ::= "a\nb"', 1, 10, "not closed on its line"),
    ('root ::= "a\\', 1, 10, "not closed"),
    ('x ::= "b"\nroot ::= x [a', 2, 12, "not closed"),
    ('root ::= ("a" ("b"', 1, 15, "never closed"),
    ('root ::= ("a"\nb ::= "c"', 1, 10, "never closed"),
    ('root ::= "a")', 1, 13, "no ( to this )"),
    ('root ::= "a"]', 1, 13, "no [ to this ]"),
    ('root ::= "a"}', 1, 13, "no { to this }"),
    ('root ::= "a"{2', 1, 13, "not closed"),
    ('root ::= "a"{,2}', 1, 13, "{0,5}"),
    ('root ::= "a"{}', 1, 13, "a count is"),
    ('root ::= "a"{-1}', 1, 13, "a count is"),
    ('root ::= "a"{3,2}', 1, 13, "at least 3 and at most 2"),
    ('root ::= "a"{4294967295}', 1, 13, "4,294,967,294 at most"),
    ('root ::= "a"{1,' + "9" * 6000 + "}", 1, 13, "4,294,967,294 at most"),
    ("root ::= *", 1, 10, "nothing before *"),
    ('root ::= ("a" | +)', 1, 17, "nothing before +"),
    ("root ::= {3}", 1, 10, "nothing before {3}"),
    (r'root ::= "a\q"', 1, 12, r"no escape \q"),
    (r"root ::= [\d]", 1, 11, "a digit is [0-9]"),
    (r'root ::= "\x4"', 1, 11, r"\x needs 2"),
    (r'root ::= "\u{41}"', 1, 11, r"\u needs 4"),
    (r'root ::= "é\U00110000"', 1, 12, "beyond the last character"),
    (r'root ::= "\ud83d\ude00"', 1, 11, "surrogate"),
    ('root ::= "a\ud83d"', 1, 12, "surrogate"),
    (r"root ::= [a\ud800-\udfff]", 1, 12, "surrogate"),
    ("root ::= [z-a]", 1, 11, "backwards"),
    ("root ::= 'a'", 1, 10, "double quotes"),
    ("root ::= /a/", 1, 10, "regular expression"),
    ('root ::= !"a"', 1, 10, "no negation"),
    ("root ::= [0-9]\n  ! [a]", 2, 3, "[^a]"),
    ("root ::= !!<think>", 1, 10, "no negation"),
    ('root ::= "a";', 1, 13, "where the next one begins"),
    ('root ::= "a", "b"', 1, 13, "without a comma"),
    ('root = "a"', 1, 1, "name ::= body"),
    ('root : "a"', 1, 1, "name ::= body"),
    ('root ::= "a"\nb = "c"', 2, 3, "name ::= body"),
    ("root ::= a b ::= c", 1, 12, "a line of its own"),
    ('"a"', 1, 1, "name ::= body"),
    ("root ::= “a”", 1, 10, "no part of a grammar begins with '“'"),
    ('root ::=\xa0"a"', 1, 9, "U+00A0"),
    ('root ::= "a"\0', 1, 13, "NUL"),
    ('root ::= "a"\r\n\r\nb ::= ?', 3, 7, "nothing before ?"),
    ('root ::= "a"\r\rb ::= ?', 3, 7, "nothing before ?"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "column", "words"), ERRORS)
def test_an_error_names_its_line_its_column_and_a_remedy(
    text: str, line: int, column: int, words: str
) -> None:
    with pytest.raises(GrammarSyntaxError) as caught:
        read_grammar(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert words in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_the_caret_stands_under_the_character_at_fault() -> None:
    with pytest.raises(GrammarSyntaxError) as caught:
        parse_grammar('root ::= "a"\nb ::= "😀" "x\\q"\nc ::= "d"')
    _, shown, caret = str(caught.value).splitlines()
    assert shown == '  b ::= "😀" "x\\q"'
    # An emoji takes two columns of a terminal.
    assert caret.index("^") == shown.index("\\q") + 1


@pytest.mark.parametrize("text", ["root ::= <[1000]>", "root ::= <think> .*", "root ::= !</think>"])
def test_tokens_in_angle_brackets_are_named_as_unsupported(text: str) -> None:
    with pytest.raises(md.UnsupportedFeatureError, match="angle brackets") as caught:
        read_grammar(text)
    assert caught.value.position == 9
    assert caught.value.remedy


@pytest.mark.parametrize("text", [b'root ::= "a"', None, 3])
def test_what_is_no_text_is_refused(text: object) -> None:
    with pytest.raises(md.UsageError, match="text must be a str"):
        read_grammar(text)  # type: ignore[arg-type]


# -- remarks -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ('root ::= "a"', []),
        ('root ::= "a"\nb ::= "c"', ["line 2, column 1: rule 'b' is never used"]),
        ('root ::= "a" | b\nb ::= "x" b', ["line 2, column 1: rule 'b' matches no text"]),
        ('root ::= "a" | [] "b"', ["line 1, column 16: a class without members"]),
        ('root ::= "b"\n  ("a"?)*', ["line 2, column 4: what is repeated here can be empty"]),
        ('root ::= ws{2,5} "x"\nws ::= " "*', ["line 1, column 10: what is repeated here can be empty"]),
        ('root ::= ("a"*)?', []),
        ('root ::= [sign] | sign\nsign ::= "+"', ["line 1, column 10: [sign] is one of these characters; the rule is sign, optional sign?"]),
        ('root ::= root "a" | "b"', ["line 1, column 1: rule 'root' begins with itself"]),
        ('root ::= x\nx ::= y "a" | "b"\ny ::= x "c"', ["line 2, column 1: rule 'x' begins with itself, through y"]),
        ('root ::= x? root "a" | "b"\nx ::= "c"', ["line 1, column 1: rule 'root' begins with itself"]),
    ],
)  # fmt: skip
def test_the_author_is_told_what_is_useless_or_was_rewritten(text: str, notes: list[str]) -> None:
    found = read_grammar(text).notes
    assert len(found) == len(notes)
    for remark, expected in zip(found, notes, strict=True):
        assert remark.startswith(expected)


@pytest.mark.parametrize(
    "text",
    [
        'root ::= "x" root',
        "root ::= root",
        'root ::= a "b"\na ::= b\nb ::= a',
        "root ::= []",
        'root ::= ("a" [])+',
    ],
)
def test_a_root_that_matches_nothing_is_refused(text: str) -> None:
    with pytest.raises(md.UnsatisfiableConstraintError, match="line 1: rule 'root' matches no text"):
        read_grammar(text)


# -- rewriting ---------------------------------------------------------------------------------------------

REWRITTEN = [
    ('root ::= root "a" | "b"', 'root ::= "b" "a"*\n'),
    ('root ::= root "+" t | root "-" t | t\nt ::= [0-9]', 'root ::= t ("+" t | "-" t)*\nt ::= [0-9]\n'),
    ('root ::= root root | "a"', 'root ::= "a" "a"*\n'),
    ('root ::= root "+" root | "-" root | "n"', 'root ::= "-"* "n" ("+" "-"* "n")*\n'),
    ('root ::= e\ne ::= sum | "n"\nsum ::= e "+" e', 'root ::= e\ne ::= "n" ("+" "n")*\n'),
    ('root ::= x "!"\nx ::= y "a" | "b"\ny ::= x "c" | "d"', 'root ::= x "!"\nx ::= ("d" "a" | "b") ("c" "a")*\n'),
    ('root ::= x y\nx ::= y "a" | "b"\ny ::= x "c" | "d"', 'root ::= x y\nx ::= ("d" "a" | "b") ("c" "a")*\ny ::= x "c" | "d"\n'),
    ('root ::= ("" | "a")*', 'root ::= "a"*\n'),
    ('root ::= ("a"?){2,5}', 'root ::= "a"{0,5}\n'),
    ('root ::= ("a"? "b"?)+', 'root ::= ("a" "b"? | "b")*\n'),
    ('root ::= root | "a" | root', 'root ::= "a"\n'),
    ('root ::= "a" b | "c"\nb ::= b "d"', 'root ::= "c"\n'),
    ('root ::= a*\na ::= b "x"?\nb ::= "y"?', "root ::= a'*\na' ::= b' \"x\"? | \"x\"\nb' ::= \"y\"\n"),
    ('root ::= "a"{1} ("b"{0} "") | ("c")', 'root ::= "a" | "c"\n'),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), REWRITTEN)
def test_rewriting_gives_the_rules_one_would_write_by_hand(text: str, expected: str) -> None:
    assert to_gbnf(read_grammar(text)) == expected


TRICKY = [
    'root ::= root "x" root | "y"?',
    'root ::= root "x" root | "y"? root "x" | ""',
    'root ::= "x" root | root "y" root | "x"{0,2}',
    'root ::= root root | root "x" | "" | "y" root root',
    "root ::= a root | a\na ::= root | [x] | a a",
    'root ::= a? root "x" | b\na ::= "y"? b?\nb ::= root? "y"',
    "root ::= a | b\na ::= b? a | [x] | root\nb ::= a? b | [y] | root",
    'root ::= (root "x")* (root "y")? "x" | ""',
    'root ::= (root | "x"){2,3} | "y"',
    'root ::= ((root | "x")? (root | "y")?)* "x"',
    'root ::= a{2} b\na ::= b | root? "x"\nb ::= a? "y"?',
]


@pytest.mark.parametrize("text", TRICKY)
def test_rewriting_keeps_every_text_of_a_tricky_grammar(text: str) -> None:
    before, after = Earley(read(text)), judge(read_grammar(text))
    for word in texts_up_to(6, "xy"):
        assert before.matches(word) == after.matches(word), word
    assert not begins_with_itself(after.bnf, after.nullable)


def random_body(pick: random.Random, depth: int) -> str:
    kind = pick.random()
    if depth == 0 or kind < 0.3:
        return pick.choice(['"x"', '"y"', '""', "[xy]", "root", "a", "b", "c"])
    parts = [random_body(pick, depth - 1) for _ in range(pick.randint(1, 3))]
    if kind < 0.6:
        return " ".join(parts)
    if kind < 0.85:
        return f"({' | '.join(parts)})"
    return f"({parts[0]}){pick.choice(['*', '+', '?', '{2}', '{1,2}', '{0,2}', '{0}', '{2,3}'])}"


@st.composite
def grammars(draw: st.DrawFn) -> str:
    """Four rules that call each other without restraint: most are left-recursive, many through empty prefixes."""
    pick = draw(st.randoms(use_true_random=False))
    return "\n".join(
        f"{name} ::= {' | '.join(random_body(pick, pick.randint(0, 2)) for _ in range(pick.randint(1, 3)))}"
        for name in ("root", "a", "b", "c")
    )


@given(grammars())
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_preparing_keeps_the_language_and_what_it_promises(text: str) -> None:
    before = Earley(read(text))
    words = list(texts_up_to(4, "xy"))
    try:
        grammar = read_grammar(text)
    except md.UnsatisfiableConstraintError:
        assert not any(map(before.matches, words))
        return
    after = judge(grammar)
    assert [word for word in words if after.matches(word)] == [word for word in words if before.matches(word)]
    assert not begins_with_itself(after.bnf, after.nullable)
    assert_useful(grammar)


def assert_useful(grammar: Grammar) -> None:
    """Every rule is used, every node matches something, and no repetition counts empty copies."""
    empty, alive = nullable(grammar.rules), productive(grammar.rules)
    assert all(alive.rules)
    names = read(to_gbnf(grammar))
    reached, pending = {grammar.rules[grammar.root].name}, [grammar.rules[grammar.root].name]
    while pending:
        symbols = itertools.chain.from_iterable(names[pending.pop()])
        new = {symbol for symbol in symbols if not isinstance(symbol, Chars)} - reached
        reached |= new
        pending += new
    assert reached >= {rule.name for rule in grammar.rules}
    for node in itertools.chain.from_iterable(bottom_up(rule.body) for rule in grammar.rules):
        assert node in alive.nodes
        match node:
            case Literal(written, _):
                assert written
            case CharClass(ranges, _):
                assert ranges
            case Repeat(body, least, most, _):
                assert body not in empty.nodes
                assert most != 0
                assert (least, most) != (1, 1)


@given(grammars())
@settings(max_examples=50)
def test_preparing_twice_is_preparing_once(text: str) -> None:
    try:
        once = read_grammar(text)
    except md.UnsatisfiableConstraintError:
        return
    assert to_gbnf(prepare(once)) == to_gbnf(once)


# -- printing ----------------------------------------------------------------------------------------------


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.lists(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8),
)
def test_printed_characters_are_read_back(text: str, chars: list[str]) -> None:
    ranges = make_ranges(
        (ord(char), ord(char) + index) for index, char in enumerate(chars) if ord(char) + index <= 0x10FFFF
    )
    grammar = Grammar((parse_grammar('root ::= "a"').rules[0],), 0, "")
    body = Literal(text, 0)
    printed = to_gbnf(Grammar((type(grammar.rules[0])("root", body, 1, 1),), 0, ""))
    found = parse_grammar(printed).rules[0].body
    assert isinstance(found, Literal)
    assert found.text == text
    back = parse_grammar(f"root ::= {class_text(ranges)}").rules[0].body
    assert isinstance(back, CharClass)
    assert back.ranges == ranges


@given(grammars())
@settings(max_examples=50)
def test_what_is_printed_is_read_back_and_printed_alike(text: str) -> None:
    once = to_gbnf(parse_grammar(text))
    assert to_gbnf(parse_grammar(once)) == once


# -- size --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "root ::= " + "(" * 100_000 + '"a"' + ")" * 100_000,
        "root ::= " + '("a" ' * 20_000 + '"b"' + ")?" * 20_000,
        "root ::= " + '("a" | ' * 20_000 + '"b"' + ")" * 20_000,
        'root ::= "a"' + "?" * 20_000,
        'root ::= "a"' + "*" * 20_000,
        "root ::= " + "(" * 30_000 + 'root "a" | "b"' + ")" * 30_000,
        "root ::= r0\n" + "".join(f"r{i} ::= r{i + 1}\n" for i in range(20_000)) + 'r20000 ::= "a"',
        'r0 ::= "a"\n' + "".join(f"r{i + 1} ::= r{i}\n" for i in range(20_000)) + "root ::= r20000",
        "root ::= " + " ".join(["x"] * 20_000) + '\nx ::= "a"?',
        'root ::= "a"{4294967294}{4294967294}',
    ],
    ids=["groups", "optional groups", "choices", "?", "*", "left recursion in groups", "a chain", "a chain upwards", "empty parts", "counts"],
)  # fmt: skip
def test_depth_and_size_are_no_limit(text: str) -> None:
    grammar = read_grammar(text, limits=Limits(timeout_s=120))
    assert grammar.rules


def test_groups_that_never_close_are_named_at_the_innermost() -> None:
    with pytest.raises(GrammarSyntaxError, match="never closed") as caught:
        parse_grammar("root ::= " + "(" * 100_000)
    assert caught.value.column == 9 + 100_000


def test_time_is_limited() -> None:
    text = "root ::= " + '"a" ' * 200_000
    with pytest.raises(md.ConstraintTooLargeError) as caught:
        read_grammar(text, limits=Limits(timeout_s=1e-3))
    assert caught.value.limit == "timeout_s"


@pytest.mark.parametrize(
    "text",
    [
        "root ::= (" + " ".join(f'"{i}"?' for i in range(3000)) + ")*",
        "".join(f"r{i} ::= {' | '.join(f'r{j} [{chr(97 + j % 26)}]' for j in range(100))} | [x]\n" for i in range(100)) + "root ::= r0",
    ],
    ids=["a long sequence of optional parts, repeated", "a hundred rules that all begin with each other"],
)  # fmt: skip
def test_rewriting_has_a_limit(text: str) -> None:
    with pytest.raises(md.ConstraintTooLargeError) as caught:
        read_grammar(text, limits=Limits(timeout_s=120))
    assert caught.value.limit is None


def test_a_circle_of_twenty_rules_keeps_its_language() -> None:
    rules = "".join(f'r{i} ::= r{(i + 1) % 20} "{chr(97 + i)}" | "x"\n' for i in range(20))
    text = f"root ::= r0\n{rules}"
    before, after = Earley(read(text)), judge(read_grammar(text))
    pick = random.Random(0)
    for _ in range(30):
        word = sentence(before.bnf, pick.randrange, budget=50)
        assert after.matches(word)
        assert before.matches(word[1:]) == after.matches(word[1:])
        assert before.matches(word + "a") == after.matches(word + "a")
