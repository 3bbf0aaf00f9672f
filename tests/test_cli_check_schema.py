"""`check-schema` and `demo --schema`: what a person types, sees, and gets as an exit code."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import minidecoder as md
from minidecoder.cli.check_schema import example_names, read_schema
from minidecoder.cli.demo_schema import judge
from minidecoder.cli.main import main
from minidecoder.models import CausalLM
from minidecoder.schema.check import check_schema


@pytest.fixture
def schema_file(tmp_path: Path):  # type: ignore[no-untyped-def]
    def write(schema: Any) -> str:
        path = tmp_path / "schema.json"
        path.write_text(schema if isinstance(schema, str) else json.dumps(schema), encoding="utf-8")
        return str(path)

    return write


def test_the_table_has_every_keyword_with_its_place(schema_file, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    schema = {"title": "t", "type": "array", "items": {"type": "string", "format": "date"}, "maxItems": 3}
    assert main(["check-schema", schema_file(schema)]) == 0
    out = capsys.readouterr().out
    rows = dict(re.findall(r"^(/\S+) +(enforced|annotation|unsupported)", out, re.M))
    assert rows == {row.pointer: row.status for row in check_schema(schema).keywords}
    assert rows["/items/format"] == "annotation"
    assert "4 enforced, 2 annotation, 0 unsupported" in out
    assert "✓ the schema compiles" in out


def test_formats_can_be_enforced(schema_file, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    assert main(["check-schema", "--enforce-formats", schema_file({"format": "date"})]) == 0
    assert re.search(r"^/format +enforced", capsys.readouterr().out, re.M)


def test_what_is_unsupported_is_said_and_exits_with_1(
    schema_file, capsys: pytest.CaptureFixture[str]
) -> None:  # type: ignore[no-untyped-def]
    assert main(["check-schema", schema_file({"uniqueItems": True})]) == 1
    out = capsys.readouterr().out
    assert re.search(r"^/uniqueItems +unsupported +\S", out, re.M)
    assert "lenient=True" in out


def test_a_schema_that_nothing_satisfies_exits_with_1(
    schema_file, capsys: pytest.CaptureFixture[str]
) -> None:  # type: ignore[no-untyped-def]
    assert main(["check-schema", schema_file({"type": "string", "minLength": 2, "maxLength": 1})]) == 1
    assert "✕ no JSON value satisfies the schema" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"type": "integr"}', "type must be a type or a list of types, not 'integr' (at /type)"),
        ('{"type": ', "the schema is not JSON"),
        ('{"items": [{}]}', "(at /items)"),
        ("[1]", "a schema is an object, true or false"),
    ],
)
def test_what_is_no_schema_exits_with_2(schema_file, capsys, text: str, message: str) -> None:  # type: ignore[no-untyped-def]
    assert main(["check-schema", schema_file(text)]) == 2
    assert message in capsys.readouterr().err


def test_a_file_that_is_not_there_names_the_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-schema", "nowhere.json"]) == 2
    assert "car, comment_tree, invoice, review" in capsys.readouterr().err


def test_a_schema_comes_from_stdin(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Stdin:
        buffer = io.BytesIO(b'{"type": "null"}')

    monkeypatch.setattr("sys.stdin", Stdin)
    assert main(["check-schema", "-"]) == 0
    assert "1 enforced" in capsys.readouterr().out


# -- the shipped examples ------------------------------------------------------------------------------------

VALID = {
    "review": '{"product": "Barista 3", "good": ["taste", "size"], "summary": "Quiet.", "recommended": true, "stars": 4}',
    "invoice": '{"number": "AB-0042", "date": "2024-02-29", "customer": "Ann", "lines": [{"item": "saw", "quantity": 1, "price": 12.5}, {"item": "nail", "quantity": 100, "price": 0.05}], "currency": "EUR", "paid": null}',
    "car": '{"brand": "Zoë", "model": "E", "year": 2024, "body": "van", "fuel": "electric", "range_km": 400}',
    "comment_tree": '{"author": "ann_1", "text": "Nice!", "replies": [{"author": "bob", "text": "So is it.", "replies": []}]}',
}  # fmt: skip
INVALID = {
    "review": VALID["review"].replace('"size"', '"taste"'),
    "invoice": VALID["invoice"].replace("12.5", "12.505"),
    "car": VALID["car"].replace("electric", "diesel"),
    "comment_tree": VALID["comment_tree"].replace('"bob"', '"Bob"'),
}


@pytest.mark.parametrize("name", example_names())
def test_an_example_is_a_schema_that_is_enforced_as_a_whole(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = read_schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert main(["check-schema", "--enforce-formats", name]) == 0
    assert "0 unsupported" in capsys.readouterr().out
    vocabulary = md.Vocabulary.from_tokens([*(bytes([byte]) for byte in range(256)), "</s>"], eos=256)
    constraint = md.compile_json_schema(schema, vocabulary, enforce_formats=True)
    for text, valid in ((VALID[name], True), (INVALID[name], False)):
        assert (judge(schema, text) is None) is valid
        matcher = constraint.matcher()
        assert (matcher.accept_string(text) and matcher.is_accepting) is valid


def test_the_examples_are_the_ones_that_the_demo_names() -> None:
    assert example_names() == sorted(VALID)


# -- the demo ------------------------------------------------------------------------------------------------


@pytest.fixture
def demo(smollm2: CausalLM, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.setattr("minidecoder.models.load_smollm2", lambda progress=None: smollm2)

    def run(*args: str) -> tuple[int, str]:
        return main(["demo", *args]), capsys.readouterr().out

    return run


@pytest.mark.parametrize("name", ["review", "car"])
def test_the_model_fills_a_schema_and_the_object_is_printed(demo, name: str) -> None:  # type: ignore[no-untyped-def]
    code, out = demo("--schema", name)
    assert code == 0
    printed = json.loads(out[out.index("\n{") : out.index("\n}") + 2])
    assert judge(read_schema(name), json.dumps(printed)) is None
    assert "✓ jsonschema finds the object valid" in out
    assert "✕ no JSON" in out, "the free answer is prose"


def test_the_object_is_finished_within_its_tokens(demo, schema_file) -> None:  # type: ignore[no-untyped-def]
    path = schema_file(
        {"description": "A list of animals.", "type": "array", "items": {"type": "string"}, "minItems": 2}
    )
    code, out = demo("--schema", path, "--max-tokens", "20")
    assert code == 0
    assert len(json.loads(out[out.index("\n[") : out.index("\n]") + 2])) >= 2


def test_a_schema_without_a_description_needs_a_prompt(demo, schema_file, capsys) -> None:  # type: ignore[no-untyped-def]
    assert main(["demo", "--schema", schema_file({"type": "integer"})]) == 2
    assert "--prompt" in capsys.readouterr().err
    code, out = demo(
        "--schema",
        schema_file({"type": "integer", "maximum": 9, "minimum": 0}),
        "--prompt",
        "2 + 2 =",
        "--max-tokens",
        "8",
    )
    assert code == 0
    assert "2 + 2 =" in out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--schema", "nowhere.json"), "no schema file"),
        (("--schema", "car", "--max-tokens", "0"), "it must be 1 or more"),
        (("--schema", "car", "--pattern", "a"), "not allowed with"),
    ],
)
def test_bad_input_is_refused_before_the_model_is_loaded(args, message: str, capsys, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("minidecoder.models.load_smollm2", lambda progress=None: pytest.fail("loaded"))
    try:
        code = main(["demo", *args])
    except SystemExit as exit_:
        code = exit_.code
    assert code == 2
    assert message in capsys.readouterr().err


def test_the_judge_reads_decimals_and_says_what_is_wrong() -> None:
    money = {"type": "number", "multipleOf": 0.01}
    assert judge(read_schema("invoice")["$defs"]["money"], "1234.56") is None
    assert judge({"type": "integer"}, "1.0") is None
    assert judge({"type": "integer"}, "true") is not None
    assert "$.a: 2 is greater" in str(judge({"properties": {"a": {"maximum": 1}}}, '{"a": 2}'))
    assert str(judge(money, "{")).startswith("no JSON")
