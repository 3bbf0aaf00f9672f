"""The public JSON parsing suite (nst/JSONTestSuite), put to `compile_json` and to the shipped JSON grammar.

`y_` files must be accepted and `n_` files refused; for `i_` files the choice is the table in
`grammar.json_text`. Each file is fed byte by byte, and once more as tokens of several bytes.
"""

from __future__ import annotations

import os
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest

import minidecoder as md
from minidecoder.compiling import compile_grammar, compile_json, compile_json_schema
from minidecoder.decoding.constraint import Constraint

DEEP = {"n_structure_100000_opening_arrays.json", "n_structure_open_array_object.json"}
PAIRS = [bytes(pair) for pair in zip(b'[[{{"":,]]}}tru-0', b'["{"":" ,]]}}ru-.0', strict=False)]
VOCABULARY = md.Vocabulary.from_tokens(
    [*(bytes([byte]) for byte in range(256)), *dict.fromkeys(PAIRS), b"true", b"null", b"</s>"],
    eos=b"</s>",
)

# What the standard leaves open, as `grammar.json_text` decides it: accepted are large numbers, escapes of
# half a pair, deep nesting; refused is what is no UTF-8, and a byte order mark.
ACCEPTED = {
    *(
        f"i_number_{name}"
        for name in (
            "double_huge_neg_exp", "huge_exp", "neg_int_huge_exp", "pos_double_huge_exp", "real_neg_overflow",
            "real_pos_overflow", "real_underflow", "too_big_neg_int", "too_big_pos_int",
            "very_big_negative_int",
        )
    ),
    *(
        f"i_string_{name}"
        for name in (
            "1st_surrogate_but_2nd_missing", "1st_valid_surrogate_2nd_invalid",
            "incomplete_surrogate_and_escape_valid", "incomplete_surrogate_pair",
            "incomplete_surrogates_escape_valid", "invalid_lonely_surrogate", "invalid_surrogate",
            "inverted_surrogates_U+1D11E", "lone_second_surrogate",
        )
    ),
    "i_object_key_lone_2nd_surrogate",
    "i_structure_500_nested_arrays",
}  # fmt: skip
REFUSED = {
    *(
        f"i_string_{name}"
        for name in (
            "UTF-8_invalid_sequence", "UTF8_surrogate_U+D800", "invalid_utf-8", "iso_latin_1", "lone_utf8_continuation_byte",
            "not_in_unicode_range", "overlong_sequence_2_bytes", "overlong_sequence_6_bytes",
            "overlong_sequence_6_bytes_null", "truncated-utf-8", "utf16BE_no_BOM", "utf16LE_no_BOM", "UTF-16LE_with_BOM",
        )
    ),
    "i_structure_UTF-8_BOM_empty_object",
}  # fmt: skip


def suite() -> Path:
    folder = Path(os.environ.get("MINIDECODER_SUITES", "")) / "json-parsing-suite" / "test_parsing"
    if not os.environ.get("MINIDECODER_SUITES") or not folder.is_dir():
        pytest.skip("MINIDECODER_SUITES does not name a folder with json-parsing-suite")
    return folder


@cache
def constraint(kind: str) -> Constraint:
    match kind:
        case "compile_json":
            return compile_json(VOCABULARY)
        case "json.gbnf":
            text = files("minidecoder").joinpath("grammar", "examples", "json.gbnf").read_text("utf-8")
            return compile_grammar(text, VOCABULARY)
    return compile_json_schema(True, VOCABULARY, whitespace="any", escapes="any")


def longest_tokens(data: bytes) -> list[int]:
    """Cut as a greedy tokenizer would: the longest token that fits."""
    ids = {token: index for index, token in enumerate(VOCABULARY.token_bytes[:-1])}
    found, at = [], 0
    while at < len(data):
        size = next(size for size in (4, 3, 2, 1) if data[at : at + size] in ids)
        found.append(ids[data[at : at + size]])
        at += size
    return found


def accepts(kind: str, data: bytes) -> bool:
    """Byte by byte and as longer tokens, which must agree; EOS decides."""
    verdicts = set()
    for tokens in (list(data), longest_tokens(data)):
        matcher = constraint(kind).matcher()
        taken = all(map(matcher.accept_token, tokens))
        verdicts.add(taken and matcher.accept_token(VOCABULARY.eos_ids[0]))
    assert len(verdicts) == 1, "bytes and tokens disagree"
    return verdicts.pop()


every_road = pytest.mark.parametrize("kind", ["compile_json", "json.gbnf"])


@every_road
def test_what_must_be_accepted_is_and_what_must_be_refused_is(kind: str) -> None:
    wrong, too_deep, names = [], set(), sorted(suite().glob("[yn]_*.json"))
    assert len(names) == 95 + 188
    for file in names:
        try:
            if accepts(kind, file.read_bytes()) != file.name.startswith("y_"):
                wrong.append(file.name)
        except md.ConstraintTooLargeError as fault:
            too_deep.add((file.name, fault.limit))
    assert wrong == []
    assert too_deep == {(name, "max_depth") for name in DEEP}, "100,000 open brackets: the limit is named"


@every_road
def test_what_the_standard_leaves_open_is_decided_as_the_table_says(kind: str) -> None:
    found = {file.stem: accepts(kind, file.read_bytes()) for file in suite().glob("i_*.json")}
    assert {name for name, accepted in found.items() if accepted} == ACCEPTED
    assert {name for name, accepted in found.items() if not accepted} == REFUSED
    assert len(ACCEPTED | REFUSED) == 35


def test_the_schema_true_is_json_but_for_what_readers_do_not_agree_about() -> None:
    """A schema speaks of values: half a surrogate pair is none, nor is an object with a name twice."""
    narrower = []
    for file in sorted(suite().glob("[yni]_*.json")):
        if file.name in DEEP:
            continue
        as_json, as_schema = accepts("compile_json", file.read_bytes()), accepts("schema", file.read_bytes())
        assert as_json or not as_schema, file.name
        if as_json and not as_schema:
            narrower.append(file.stem)
    assert narrower
    for name in narrower:
        assert "surrogate" in name or "key" in name, name
