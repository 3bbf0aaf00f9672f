"""Languages of strings: patterns, lengths, sets and formats under and/or/not, counted and not unrolled, and escaped."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Hashable, Iterator
from functools import cache

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minidecoder.automaton import DEAD, State
from minidecoder.errors import (
    ConstraintTooLargeError,
    RegexSyntaxError,
    UnsatisfiableConstraintError,
    UsageError,
)
from minidecoder.regex.compiler import compile_dfa
from minidecoder.regex.dfa import DFA
from minidecoder.regex.limits import Limits
from minidecoder.regex.members import random_member
from minidecoder.regex.operations import equivalent
from minidecoder.regex.utf8 import lower_to_bytes
from minidecoder.schema import lengths
from minidecoder.schema.atoms import Format, IsInteger, Length, Pattern, StringIn
from minidecoder.schema.escapes import Escapes, escaped, one_character
from minidecoder.schema.formula import FALSE, TRUE, Formula, Formulas, Literal, Truth, fold
from minidecoder.schema.string_machine import StringMachine, string_machine
from minidecoder.schema.strings import StringLanguage, string_language
from minidecoder.schema.word_dfa import word_dfa
from tests.strategies import texts_up_to

ALPHABET = 'ab"é😀'
TEXTS = list(texts_up_to(4, ALPHABET))
PATTERNS = (
    "a",
    "^a",
    "b$",
    "^(ab)*$",
    "^.{2}$",
    "^(aa|bbb)*$",
    '"',
    "é|😀",
    "^a*b",
    "^[^a]*$",
    "a{2}",
    "^(a|ab)+$",
    "^$",
)


def holds(atom: Hashable, text: str) -> bool:
    match atom:
        case Pattern(regex):
            return re.search(regex, text) is not None
        case Length(low, high):
            return low <= len(text) <= (len(text) if high is None else high)
        case StringIn(values):
            return text in values
    raise AssertionError(atom)


def satisfies(formula: Formula, text: str) -> bool:
    def leaf(part: Truth | Literal) -> bool:
        return part.value if isinstance(part, Truth) else holds(part.atom, text) == part.positive

    return fold(formula, leaf, all, any)


def atoms() -> st.SearchStrategy[Hashable]:
    pairs = st.tuples(st.integers(0, 6), st.integers(0, 5) | st.none()).filter(lambda pair: pair != (0, None))
    bounds = pairs.map(lambda pair: Length(pair[0], None if pair[1] is None else pair[0] + pair[1]))
    words = st.frozensets(st.sampled_from(TEXTS[:200]), min_size=1, max_size=5).map(StringIn)
    return st.one_of(st.sampled_from(PATTERNS).map(Pattern), bounds, words)


@st.composite
def formulas(draw: st.DrawFn) -> Formula:
    arena = Formulas()

    def grow(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
        pairs = st.tuples(inner, inner)
        return st.one_of(pairs.map(arena.and_), pairs.map(arena.or_), inner.map(arena.not_))

    return draw(st.recursive(atoms().map(arena.atom), grow, max_leaves=5))


def every(*parts: Hashable) -> Formula:
    arena = Formulas()
    return arena.and_(arena.atom(part) for part in parts)


def language(*parts: Hashable) -> StringLanguage:
    return string_language(every(*parts))


def canonical(text: str) -> str:
    """RFC 8259 with as few escapes as can be: what `json.dumps` writes when it may write all of Unicode."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


# -- which strings ------------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(formulas())
def test_every_short_text_is_accepted_exactly_if_it_satisfies_the_formula(formula: Formula) -> None:
    found = string_language(formula)
    for text in TEXTS:
        assert found.accepts(text) == satisfies(formula, text), text


@settings(max_examples=40, deadline=None)
@given(formulas())
def test_a_state_and_a_count_are_live_exactly_if_some_continuation_ends_well(formula: Formula) -> None:
    found = string_language(formula)
    far = 14 + 2 * len(found.dfa)  # beyond every bound, and a way through all states
    rows = found.dfa.table.tolist()
    live = [set[int]() for _ in rows]
    for count in range(far, -1, -1):
        for state, row in enumerate(rows):
            if found.may_end(State(state), count) or any(count + 1 in live[target] for target in row):
                live[state].add(count)
    for state in range(len(rows)):
        counts = [count for count in range(14) if found.is_live(State(state), count)]
        assert counts == [count for count in range(14) if count in live[state]]


@settings(max_examples=80, deadline=None)
@given(formulas())
def test_members_are_counted_and_listed_shorter_ones_first(formula: Formula) -> None:
    arena = Formulas()
    narrow = string_language(arena.and_([carried(arena, formula), arena.atom(Pattern('^[ab"]{0,4}$'))]))
    expected = [text for text in texts_up_to(4, '"ab') if satisfies(formula, text)]
    assert narrow.count(10**6) == len(expected)
    assert narrow.count(3) == min(3, len(expected))
    assert narrow.finite_members(len(expected)) == sorted(expected, key=lambda text: (len(text), text))
    assert expected == [] or narrow.finite_members(len(expected) - 1) is None
    assert narrow.is_empty == (expected == [])
    if expected:
        assert len(narrow.shortest()) == min(map(len, expected))
        assert narrow.shortest() in expected
    else:
        with pytest.raises(UnsatisfiableConstraintError):
            narrow.shortest()


def carried(arena: Formulas, formula: Formula) -> Formula:
    """The same formula in another arena."""

    def leaf(part: Truth | Literal) -> Formula:
        return part if isinstance(part, Truth) else arena.atom(part.atom, part.positive)

    return fold(formula, leaf, arena.and_, arena.or_)


@pytest.mark.parametrize(
    ("schema", "atom"),
    [
        ({"minLength": 2}, Length(2, None)),
        ({"maxLength": 2}, Length(0, 2)),
        ({"pattern": "^a*$"}, Pattern("^a*$")),
        ({"pattern": "é"}, Pattern("é")),
        ({"pattern": "\\p{Letter}b"}, Pattern("\\p{Letter}b")),
        ({"enum": ["a", "é😀", ""]}, StringIn(frozenset({"a", "é😀", ""}))),
    ],
)
def test_jsonschema_finds_the_same_strings_valid(schema: dict[str, object], atom: Hashable) -> None:
    if "p{" in str(schema):
        expected = [re.search("[abé]b", text) is not None for text in TEXTS]  # `re` knows no \p
    else:
        expected = list(map(jsonschema.Draft202012Validator(schema).is_valid, TEXTS))
    assert list(map(language(atom).accepts, TEXTS)) == expected


def test_lengths_count_code_points() -> None:
    two = language(Length(2, 2))
    assert two.accepts("😀é")
    assert not two.accepts("😀")
    assert not two.accepts("e\u0301x"), "three code points, whatever they look like"


def test_a_dollar_is_the_very_end_and_a_search_starts_anywhere() -> None:
    assert not language(Pattern("^a$")).accepts("a\n")
    assert language(Pattern("b")).accepts("\n\x00abc")


def test_a_string_with_half_a_pair_is_no_string() -> None:
    for found in (
        string_language(TRUE),
        language(StringIn(frozenset({"\ud800", "a"}))),
        language(Length(0, 5)),
    ):
        assert not found.accepts("\ud800")
        assert found.accepts("a")


def test_true_is_every_string_and_false_none() -> None:
    assert string_language(TRUE).accepts("")
    assert not string_language(TRUE).counts
    assert string_language(FALSE).is_empty
    assert string_language(FALSE).finite_members(0) == []


# -- lengths beside the automaton -----------------------------------------------------------------------


@pytest.mark.parametrize("most", [10, 10_000, 10**9])
def test_a_longest_length_costs_no_states(most: int) -> None:
    assert len(language(Length(0, most)).dfa) == 1
    assert len(language(Length(0, most), Pattern("foo")).dfa) == len(language(Pattern("foo")).dfa) == 4
    assert len(language(Length(3, most), Pattern("^[a-z]+$")).dfa) == 2


def test_a_length_that_the_pattern_decides_anyway_is_forgotten() -> None:
    day = Pattern("^[0-9]{4}-[0-9]{2}-[0-9]{2}$")
    assert not language(day, Length(0, 10)).counts
    assert not language(day, Length(3, None)).counts
    assert language(day, Length(11, None)).is_empty
    assert not language(StringIn(frozenset({"a", "abc"})), Length(2, 5)).counts


def test_a_length_that_a_pattern_cannot_have_leaves_nothing() -> None:
    assert language(Pattern("^(ab)*$"), Length(9_999, 9_999)).is_empty
    even = language(Pattern("^(ab)*$"), Length(10_000, 10_000))
    assert even.shortest() == "ab" * 5_000
    assert even.is_live(even.dfa.start, 2)
    assert not even.is_live(even.dfa.start, 3)
    assert language(Pattern("^(a{7}|b{11})*$"), Length(10**6, 10**6)).count(2) == 2
    assert language(Pattern("^(a{7}|b{11})*$"), Length(59, 59)).is_empty, "7·11 - 7 - 11: Frobenius"


def test_not_of_a_pattern_with_a_length_is_counted_too() -> None:
    arena = Formulas()
    name = arena.and_([arena.atom(Pattern("^a+$")), arena.atom(Length(2, 3))])
    other = string_language(arena.not_(name))
    assert [other.accepts("a" * n) for n in range(6)] == [True, True, False, False, True, True]
    assert other.accepts("ab")


def test_what_takes_too_many_counts_is_refused_and_says_which_limit() -> None:
    with pytest.raises(ConstraintTooLargeError) as caught:
        string_language(every(Pattern("^(ab)*$"), Length(10**9, 10**9)), Limits(max_states=1_000))
    assert caught.value.limit == "max_states"
    with pytest.raises(ConstraintTooLargeError):
        language(Pattern("^(a{997})*$"), Pattern("^(a{991})*$"))
    with pytest.raises(ConstraintTooLargeError):
        language(Length(10**7, None)).shortest()


def test_errors_of_patterns_and_formats_pass_through() -> None:
    with pytest.raises(RegexSyntaxError):
        language(Pattern("("))
    with pytest.raises(UsageError, match="'postcode'"):
        language(Format("postcode"))
    with pytest.raises(UsageError, match="no atom of a string"):
        language(IsInteger())
    with pytest.raises(UsageError, match="most=-1"):
        language(Pattern("a")).finite_members(-1)


def test_the_same_formula_of_another_schema_is_the_same_language() -> None:
    assert language(Pattern("x+"), Length(1, 7)) is language(Length(1, 7), Pattern("x+"))


def test_and_and_or_of_the_same_parts_are_two_languages() -> None:
    arena = Formulas()
    parts = [arena.atom(Pattern("u")), arena.atom(Pattern("v"))]
    assert not string_language(arena.and_(parts)).accepts("u")
    assert string_language(arena.or_(parts)).accepts("u")
    assert not string_language(arena.and_([parts[0], arena.not_(parts[1])])).accepts("uv")


def test_sets_of_words_meet_inside_a_formula() -> None:
    arena = Formulas()
    some, others = arena.atom(StringIn(frozenset("abc"))), arena.atom(StringIn(frozenset("bcd")))
    either = arena.or_(
        [arena.and_([others, arena.atom(Pattern("[cd]"))]), arena.atom(StringIn(frozenset("ae")))]
    )
    assert string_language(arena.and_([some, either])).finite_members(9) == ["a", "c"]


@given(
    st.lists(st.tuples(st.integers(-2, 12), st.none() | st.integers(0, 12)), max_size=4),
    st.lists(st.tuples(st.integers(0, 12), st.none() | st.integers(0, 12)), max_size=4),
)
def test_sets_of_lengths_are_sets(
    first: list[tuple[int, int | None]], second: list[tuple[int, int | None]]
) -> None:
    def members(pairs: list[tuple[int, int | None]]) -> set[int]:
        return {n for n in range(30) if any(low <= n <= (n if high is None else high) for low, high in pairs)}

    a, b = lengths.make_lengths(first), lengths.make_lengths(second)
    in_a, in_b = members(first), members(second)
    for found, expected in [
        (a, in_a),
        (lengths.either(a, b), in_a | in_b),
        (lengths.both(a, b), in_a & in_b),
        (lengths.opposite(a), set(range(30)) - in_a),
    ]:
        assert {n for n in range(30) if lengths.contains(found, n)} == expected
        edges = [edge for low, high in found for edge in (low, high if high is not None else 99)]
        assert all(high + 1 < low for high, low in zip(edges[1::2], edges[2::2], strict=False)), "they touch"
    assert {n for n in range(29) if lengths.contains(lengths.earlier(a), n)} == {n - 1 for n in in_a if n}


# -- sets of words ------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.frozensets(st.text("abé", max_size=5), max_size=12))
def test_the_machine_of_words_is_the_smallest(words: frozenset[str]) -> None:
    dfa = word_dfa(words)
    pattern = "|".join(map(re.escape, sorted(words))) if words else "[^\\x00-\\U0010ffff]"
    minimal = compile_dfa(pattern)
    assert equivalent(dfa, minimal)
    assert len(dfa) == len(minimal)


def test_an_enum_of_ten_thousand_is_a_machine_and_a_list_again() -> None:
    words = frozenset(f"item-{number * 7919 % 100_003:05}" for number in range(10_000))
    found = language(StringIn(words))
    assert len(found.dfa) < 2_000
    assert set(found.finite_members(10_000) or ()) == words
    assert found.finite_members(9_999) is None
    assert language(StringIn(words), Pattern("-0000")).count(100) == sum("-0000" in word for word in words)


# -- escapes ------------------------------------------------------------------------------------------

PIECES = [
    *'ab"\\/é😀\n\x00\x1f\x7f',
    "\\",
    "u",
    "0",
    "1f",
    "D8",
    "3d",
    "\\u",
    "\\ud83d",
    "\\uDE00",
    "\\ud83d\\ude00",
    "\\n",
    '\\"',
    "\\\\",
    "\\/",
    "\\b",
    "\\u0041",
    "\\u000A",
    "\\u000b",
    "\\u001F",
    "\\u00e9",
    "n",
    "\\x41",
    "\\U0041",
]


@cache
def spelled(pattern: str) -> tuple[DFA, DFA, DFA]:
    dfa = compile_dfa(pattern, dialect="ecma", match="search")
    return dfa, escaped(dfa), escaped(dfa, "any")


def meaning(text: str) -> str | None:
    """What the text means between quotes; None where it means nothing, or half a pair."""
    try:
        value = json.loads(f'"{text}"')
    except json.JSONDecodeError:
        return None
    return None if re.search("[\ud800-\udfff]", value) else value


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=4).map("".join),
    st.sampled_from(("", "^a*$", '["\\\\/\\n]', "^[^😀]*$", "^.{2}$", "é|\x0b")),
)
def test_json_reads_from_an_accepted_text_a_string_of_the_language(text: str, pattern: str) -> None:
    dfa, in_canonical, in_any = spelled(pattern)
    value = meaning(text)
    expected = value is not None and dfa.accepts(value)
    assert in_any.accepts(text) == expected
    assert in_canonical.accepts(text) == (expected and text == canonical(value or ""))


@pytest.mark.parametrize("escapes", ["canonical", "any"])
def test_every_character_has_its_spellings_and_no_other(escapes: Escapes) -> None:
    dfa = one_character(escapes)
    every_class = [*range(0x300), *range(0xD7F0, 0xE010), 0xFFFF, 0x10000, 0x1F600, 0x10FFFF]
    for code in every_class:
        char = chr(code)
        if 0xD800 <= code < 0xE000:
            assert not dfa.accepts(f"\\u{code:04x}"), "half a pair"
            continue
        long = "".join(f"\\u{int.from_bytes(unit, 'big'):04x}" for unit in _units(char))
        short = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", '"': '"', "\\": "\\"}.get(char)
        must = code < 0x20 or short is not None
        assert dfa.accepts(char) == (not must)
        assert dfa.accepts(f"\\{short}") == (short is not None)
        assert dfa.accepts(long) == (escapes == "any" or (must and short is None))
        upper = long.upper().replace("U", "u")
        assert dfa.accepts(upper) == (escapes == "any" or (upper == long and must and short is None))
        if not must or escapes == "any":
            assert not dfa.accepts(long[:-1])
    assert dfa.accepts("\\/") == (escapes == "any")
    assert not dfa.accepts("")
    assert not dfa.accepts("ab")
    assert not dfa.accepts("\\u0041\\u0041")


def _units(char: str) -> Iterator[bytes]:
    data = char.encode("utf-16-be")
    return (data[at : at + 2] for at in range(0, len(data), 2))


@pytest.mark.parametrize("code", [0x10000, 0x103FF, 0x10400, 0x1F600, 0x1FFFE, 0xFFFFE, 0x10FC00, 0x10FFFF])
def test_one_astral_character_is_told_from_its_neighbours_by_its_pair(code: int) -> None:
    dfa = escaped(compile_dfa(f"\\U{code:08x}"), "any")
    for other in {
        0x10000,
        max(code - 1, 0x10000),
        code,
        min(code + 1, 0x10FFFF),
        code ^ 0x400,
        code ^ 0x4000,
    }:
        pair = "".join(f"\\u{int.from_bytes(unit, 'big'):04x}" for unit in _units(chr(other)))
        assert dfa.accepts(pair) == dfa.accepts(chr(other)) == (other == code)


def test_states_between_characters_keep_their_numbers() -> None:
    dfa = compile_dfa('a"\nb?')
    for escapes in ("canonical", "any"):
        wide = escaped(dfa, escapes)
        assert wide.accepting[: len(dfa.table)].tolist() == dfa.accepting.tolist()
        assert not wide.accepting[len(dfa.table) :].any()
        states = dfa.walk('a"\nb')
        text = canonical('a"\nb')
        seen = [state for state in wide.walk(text) if state <= len(dfa)]
        assert seen == states


def test_only_what_needs_an_escape_costs_states() -> None:
    plain = compile_dfa("[a-z]{5}")
    assert len(escaped(plain)) == len(plain)
    every_char = string_language(TRUE).dfa
    assert len(escaped(every_char)) <= 1 + 6
    assert len(escaped(every_char, "any")) <= 1 + 13


def test_another_kind_of_escapes_is_named() -> None:
    with pytest.raises(UsageError, match="'some'"):
        escaped(compile_dfa("a"), "some")  # type: ignore[arg-type]


# -- bytes --------------------------------------------------------------------------------------------


def run(machine: StringMachine, data: bytes) -> tuple[State, int]:
    state, count = machine.start
    for byte in data:
        if state == DEAD:
            break
        state, count = machine.step(state, count, byte)
    return state, count


@settings(max_examples=60, deadline=None)
@given(formulas(), st.sampled_from(["canonical", "any"]))
def test_the_bytes_of_every_short_string_end_well_exactly_if_it_satisfies_the_formula(
    formula: Formula, escapes: Escapes
) -> None:
    machine = string_machine(formula, escapes)
    for text in TEXTS[:300]:
        state, count = run(machine, canonical(text).encode())
        assert (state != DEAD and machine.may_end(state, count)) == satisfies(formula, text), text


@settings(max_examples=60, deadline=None)
@given(formulas(), st.sampled_from(["canonical", "any"]))
def test_no_byte_leads_into_a_dead_end(formula: Formula, escapes: Escapes) -> None:
    """Every configuration that is reached can be finished; those inside an escape or a character too."""
    machine = string_machine(formula, escapes)
    columns = {int(machine.bytes_.byte_class[byte]): byte for byte in range(256)}
    start = machine.start
    after: dict[tuple[State, int], list[tuple[State, int]]] = {}
    pending = [start] if start[0] != DEAD else []
    while pending:
        at = pending.pop()
        if at not in after and at[1] < 14 + 2 * len(machine.language.dfa):
            targets = [machine.step(*at, byte) for byte in columns.values()]
            after[at] = [target for target in targets if target[0] != DEAD]
            pending += after[at]
    good = {at for at in after if machine.may_end(*at)}
    changed = True
    while changed:
        more = {at for at, targets in after.items() if at not in good and good.intersection(targets)}
        changed = bool(more)
        good |= more
    assert all(at in good for at in after if at[1] < 14)


@settings(max_examples=40, deadline=None)
@given(formulas(), st.integers(0, 2**32))
def test_configurations_of_one_key_allow_the_same_tokens(formula: Formula, seed: int) -> None:
    machine, chance = string_machine(formula), random.Random(seed)
    tokens = [piece.encode() for piece in ("a", "ab", "b", '\\"', "é", "😀", "aaa", "\\")] + [
        b"\xc3",
        b"\xf0\x9f",
    ]
    longest = max(map(len, tokens))
    seen: dict[Hashable, tuple[bool, ...]] = {}
    for _ in range(60):
        state, count = run(
            machine, canonical("".join(chance.choices(ALPHABET, k=chance.randrange(16)))).encode()
        )
        if state == DEAD:
            continue
        allowed = []
        for token in tokens:
            at = (state, count)
            for byte in token:
                at = machine.step(*at, byte) if at[0] != DEAD else at
            allowed.append(at[0] != DEAD)
        key = machine.key(state, count, longest)
        answer = (*allowed, machine.may_end(state, count))
        assert seen.setdefault(key, answer) == answer


def test_ten_thousand_counts_need_no_more_keys_than_ten() -> None:
    def keys(most: int) -> int:
        machine = string_machine(every(Length(0, most)))
        return len({machine.key(State(1), count, 4) for count in range(most + 1)})

    assert keys(10_000) == keys(10) == 6


def test_a_machine_without_lengths_is_its_byte_automaton() -> None:
    machine = string_machine(every(Pattern("^[a-z]+\\.$")))
    assert not machine.counts
    assert run(machine, b"abc.") == (machine.bytes_.run(machine.bytes_.start, b"abc."), 0)
    assert machine.bytes_.table.tolist() == lower_to_bytes(escaped(machine.language.dfa)).table.tolist()


def test_a_random_string_of_an_escaped_language_is_read_by_json() -> None:
    dfa, chance = language(Pattern('^["\\\\\\x00-\\x1fa😀]{1,9}$')).dfa, random.Random(1)
    for escapes in ("canonical", "any"):
        for _ in range(100):
            text = random_member(escaped(dfa, escapes), chance)
            assert dfa.accepts(json.loads(f'"{text}"'))


def test_a_formula_that_nothing_satisfies_starts_dead() -> None:
    assert string_machine(FALSE).start[0] == DEAD
    assert string_machine(every(Pattern("^(ab)*$"), Length(3, 3))).start[0] == DEAD
