"""The grammars that come with the package, judged by what was not written here.

Random sentences come from the Earley reader of the tests. `json`, `ast` and SQLite say whether they are JSON,
arithmetic and SQL; the stack machine must take them byte by byte and token by token, and must agree with Earley on
sentences of which one character was changed.
"""

from __future__ import annotations

import ast
import importlib.resources
import json
import os
import random
import re
import sqlite3
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minidecoder as md
from minidecoder.decoding.constraint import Constraint
from minidecoder.grammar.compiler import compile_pushdown
from minidecoder.grammar.prepare import read_grammar
from tests.earley import Earley, read, sentence
from tests.xgrammar_judge import compile_with_xgrammar

NAMES = ["json", "arithmetic", "sql_select", "chess"]
END = 256
BYTES = md.Vocabulary.from_tokens([*(bytes([byte]) for byte in range(END)), "</s>"], eos=END)
PIECES = [
    '": ',
    '"}',
    '", "',
    "true",
    " AND ",
    "SELECT ",
    "'s",
    " 1",
    "e4 ",
    ". ",
    "\n ",
    "((",
    " * ",
    "12",
    "é",
    b"\xf0\x9f",
]
LONGER = md.Vocabulary.from_tokens([*(bytes([byte]) for byte in range(END)), "</s>", *PIECES], eos=END)  # fmt: skip


def text_of(name: str) -> str:
    folder = importlib.resources.files("minidecoder.grammar") / "examples"
    return (folder / f"{name}.gbnf").read_text(encoding="utf-8")


@cache
def earley(name: str) -> Earley:
    return Earley(read(text_of(name)))


@cache
def constraint(name: str, vocabulary: md.Vocabulary = BYTES) -> Constraint:
    index = compile_pushdown(text_of(name), vocabulary)
    return Constraint(name, vocabulary, index.automaton, index)


def accepts(name: str, text: str | bytes) -> bool:
    matcher = constraint(name).matcher()
    return matcher.accept_string(text) and matcher.is_accepting


def random_sentence(name: str, seed: int) -> str:
    pick = random.Random(seed)
    return sentence(earley(name).bnf, pick.randrange, budget=pick.choice([10, 40, 120]))


seeds = st.integers(0, 2**32)
every_example = pytest.mark.parametrize("name", NAMES)


@every_example
def test_an_example_is_short_and_has_nothing_useless(name: str) -> None:
    text = text_of(name)
    assert text.count("\n") <= 90
    assert max(map(len, text.splitlines())) <= 110
    assert text.startswith("# ")
    assert [note for note in read_grammar(text).notes if "begins with itself" not in note] == []


# -- sentences are what they claim to be -------------------------------------------------------------------


@given(seeds)
def test_random_json_is_json(seed: int) -> None:
    json.loads(random_sentence("json", seed))


@given(seeds)
def test_random_arithmetic_is_an_expression_of_python(seed: int) -> None:
    ast.parse(random_sentence("arithmetic", seed).strip(), mode="eval")


@given(seeds)
def test_random_sql_is_read_by_sqlite_up_to_the_missing_table(seed: int) -> None:
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        sqlite3.connect(":memory:").execute(random_sentence("sql_select", seed))


SAN = r"(?:[KQRBN][a-h]?[1-8]?x?[a-h][1-8]|(?:[a-h]x)?[a-h](?:[2-7]|[18]=[QRBN])|O-O(?:-O)?)[+#]?"
MOVES = re.compile(
    rf"(?:[1-9]\d{{0,2}}\.\s{SAN}\s{SAN}\s)*(?:[1-9]\d{{0,2}}\.\s{SAN}\s)?(?:1-0|0-1|1/2-1/2|\*)"
)


@given(seeds)
def test_random_chess_is_movetext(seed: int) -> None:
    assert MOVES.fullmatch(random_sentence("chess", seed))


WRITTEN = {
    "json": (
        ['{"a": [1, -2.5e+10, {"b": null}], "\\u00e9": "x\\n"}', " [ ] ", '"é😀"', "0"],
        ["", "{", "01", "1.", "+1", ".5", "[1,]", '{"a":1,}', "{'a':1}", '"\t"', '"\\x"', "tru", "NaN", "[1]]", "\ufeff1"],
    ),
    "arithmetic": (
        ["2 * (x + 3.5)^2 - max(a, -b)", "1", " -(-1) ", "f()", "2^3^4", "--1", "7-2-1"],
        ["", "1 +", "(1", "1)", "* 2", "f(,)", "1 2", "2^", "01", ".5", "1\n"],
    ),
    "sql_select": (
        [
            "SELECT name, count(*) AS n FROM users AS u LEFT JOIN orders ON u.id = user_id\n"
            "WHERE age >= 18 AND city IN ('Oslo', 'Bern') GROUP BY name ORDER BY n DESC LIMIT 10;",
            "select * from t",
            "SELECT DISTINCT t.* FROM t WHERE NOT (a = 1 OR b IS NOT NULL) AND c BETWEEN 1 AND 2",
            "SELECT a FROM (SELECT b AS a FROM t) AS u WHERE EXISTS (SELECT * FROM v) AND d LIKE 'it''s%'",
            'SELECT "odd name" + 1 FROM t',
            "SELECT a - -1 FROM t ORDER BY a ASC, b LIMIT 5 OFFSET 10",
        ],
        ["", "SELECT", "SELECT FROM t", "SELECT a FROM", "SELECT a, FROM t", "Select a From t", "SELECT a FROM t WHERE",
         "SELECT a FROM t LIMIT -1", "SELECT a--1 FROM t", "SELECT 'it's' FROM t", "SELECT a FROM t; SELECT b FROM t",
         "SELECT count(* FROM t", "SELECT a FROM t GROUP a", "DROP TABLE t", "SELECT a FROM t HAVING a > 1"],
    ),
    "chess": (
        ["1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. O-O Nxe4 1/2-1/2", "1. f3 e5 2. g4 Qh4# 0-1", "1. e4 *", "*",
         "40. exd8=Q+ R1xd8 41. O-O-O\n1-0"],
        ["", "1. e4 e5", "1. e9 *", "1. e8 *", "1. exd8 *", "0. e4 *", "1.e4 *", "1. e4 e5 2. *", "1. O-O-O-O *", "1. Pe4 *", "1. e4=Q *"],
    ),
}  # fmt: skip


@every_example
def test_written_sentences_are_told_apart(name: str) -> None:
    accepted, refused = WRITTEN[name]
    for text in (*accepted, *refused):
        assert earley(name).matches(text) == (text in accepted), text
        assert accepts(name, text) == (text in accepted), text


# -- the machine, byte by byte and token by token ------------------------------------------------------------


@every_example
@given(seed=seeds)
@settings(max_examples=30)
def test_random_sentences_are_accepted_byte_by_byte_and_token_by_token(name: str, seed: int) -> None:
    text = random_sentence(name, seed).encode()
    assert accepts(name, text)
    matcher = constraint(name, LONGER).matcher()
    pick, at = random.Random(seed), 0
    while at < len(text):
        ids = [
            token
            for token in range(len(LONGER))
            if token != END and text.startswith(LONGER.token_bytes[token], at)
        ]
        token = pick.choice(ids)
        assert token in matcher.allowed_token_ids()
        assert matcher.accept_token(token)
        at += len(LONGER.token_bytes[token])
    assert matcher.accept_token(END)


@every_example
@given(seed=seeds)
@settings(max_examples=30)
def test_sentences_with_one_character_changed_are_judged_as_earley_judges(name: str, seed: int) -> None:
    pick = random.Random(seed)
    text = random_sentence(name, seed)
    at = pick.randrange(len(text) + 1)
    put = pick.choice(["", "", pick.choice("\"{}[],:01 xe.*+-()'\n#é😀\\"), text[at - 1 : at]])
    changed = text[:at] + put + text[at + pick.randrange(2) :]
    assert accepts(name, changed) == earley(name).matches(changed)


@every_example
@given(seed=seeds)
@settings(max_examples=30)
def test_xgrammar_judges_changed_sentences_alike(name: str, seed: int) -> None:
    judged = xgrammar_of(name)
    pick = random.Random(seed)
    text = random_sentence(name, seed)
    at = pick.randrange(len(text) + 1)
    changed = text[:at] + pick.choice(["", *'"{},0 x.*(']) + text[at + pick.randrange(2) :]
    assert judged(text)
    assert judged(changed) == accepts(name, changed)


@cache
def xgrammar_of(name: str):  # type: ignore[no-untyped-def]
    return compile_with_xgrammar(text_of(name))


# -- the JSON parsing suite ----------------------------------------------------------------------------------


def suite() -> Path:
    folder = Path(os.environ.get("MINIDECODER_SUITES", "")) / "json-parsing-suite" / "test_parsing"
    if not folder.is_dir():
        pytest.skip("MINIDECODER_SUITES does not name a folder with json-parsing-suite")
    return folder


def test_json_passes_the_json_parsing_suite() -> None:
    """95 files that must be accepted, 188 that must be refused; two open 100,000 brackets."""
    verdicts, too_deep = {}, []
    for file in sorted(suite().glob("[yn]_*.json")):
        try:
            verdicts[file.name] = accepts("json", file.read_bytes())
        except md.ConstraintTooLargeError as error:
            too_deep.append((file.name, error.limit))
    deep = ["n_structure_100000_opening_arrays.json", "n_structure_open_array_object.json"]
    assert too_deep == [(name, "max_depth") for name in deep]
    assert len(verdicts) + len(too_deep) == 95 + 188
    assert [name for name, accepted in verdicts.items() if accepted != name.startswith("y_")] == []


def test_our_choice_where_the_suite_leaves_one() -> None:
    """Numbers of any size and lone surrogates in escapes are JSON; what is not UTF-8, or has a BOM, is not."""
    accepted = {file.name for file in suite().glob("i_*.json") if accepts("json", file.read_bytes())}
    assert len(list(suite().glob("i_*.json"))) == 35
    for name in accepted:
        assert name.startswith(("i_number", "i_object_key_lone", "i_string", "i_structure_500"))
        json.loads((suite() / name).read_text(encoding="utf-8"))
    refused = {file.name for file in suite().glob("i_*.json")} - accepted
    for name in refused:
        data = (suite() / name).read_bytes()
        assert data.startswith("\ufeff".encode()) or not is_utf8(data)


def is_utf8(data: bytes) -> bool:
    try:
        return data.decode() is not None
    except UnicodeDecodeError:
        return False
