"""The suite's runner: its rules of counting, on a suite of three tests that is made here."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import minidecoder as md
from minidecoder.cli import conformance_suite
from minidecoder.cli.conformance import byte_tokens, recorded, table
from minidecoder.cli.conformance_suite import orders, read_remotes, run_suite, written
from minidecoder.cli.main import main


def group(schema: Any, *instances: tuple[Any, bool], name: str = "g") -> dict[str, Any]:
    tests = [{"description": json.dumps(data), "data": data, "valid": valid} for data, valid in instances]
    return {"description": name, "schema": schema, "tests": tests}


@pytest.fixture
def suite(tmp_path: Path):  # type: ignore[no-untyped-def]
    def write(*groups: dict[str, Any], file: str = "keyword.json") -> Path:
        folder = tmp_path / "tests"
        folder.mkdir(exist_ok=True)
        (folder / file).write_text(json.dumps(list(groups)), encoding="utf-8")
        return folder

    return write


def outcomes(folder: Path, **options: Any) -> list[str]:
    return [result.outcome for result in run_suite(folder, byte_tokens(), **options)]


def test_right_answers_pass(suite) -> None:  # type: ignore[no-untyped-def]
    assert outcomes(suite(group({"type": "integer"}, (1, True), ("a", False), (1.0, True)))) == ["pass"] * 3


def test_a_schema_that_we_refuse_is_a_compile_error_with_its_reason(suite) -> None:  # type: ignore[no-untyped-def]
    (result,) = run_suite(suite(group({"uniqueItems": True}, ([1], True))), byte_tokens())
    assert result.outcome == "compile_error"
    assert "(at /uniqueItems)" in result.reason


def test_a_schema_that_nothing_satisfies_refuses_everything(suite) -> None:  # type: ignore[no-untyped-def]
    assert outcomes(suite(group(False, (1, False), ({}, False)))) == ["pass", "pass"]
    assert outcomes(suite(group(False, (1, True)))) == ["false_negative"]


def test_wrong_answers_are_named_by_which_way_they_are_wrong(suite) -> None:  # type: ignore[no-untyped-def]
    claims = group({"type": "integer"}, (1, False), ("a", True))
    assert outcomes(suite(claims)) == ["false_positive", "false_negative"]


def test_some_order_of_keys_is_enough_for_a_valid_one_and_every_order_counts_for_an_invalid_one(
    suite,
) -> None:  # type: ignore[no-untyped-def]
    schema = {"properties": {"a": {"type": "null"}, "b": {"type": "null"}}}
    data = {"b": None, "a": None}
    assert outcomes(suite(group(schema, (data, True)))) == ["pass"]
    assert outcomes(suite(group(schema, (data, False)))) == ["false_positive"]


def test_bytes_and_tokens_must_both_accept_a_valid_one(suite, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    one_way = lambda constraint, text, tokens: iter([True, False])  # noqa: E731
    monkeypatch.setattr(conformance_suite, "_ways", one_way)
    assert outcomes(suite(group(True, (1, True), (2, False)))) == ["false_negative", "false_positive"]


def test_numbers_are_written_as_the_file_writes_them(tmp_path: Path) -> None:
    tests = '{"description": "d", "data": [1.0, 1E2, -0], "valid": true}'
    (tmp_path / "n.json").write_text(f'[{{"description": "g", "schema": true, "tests": [{tests}]}}]')
    ((_, instances),) = conformance_suite._read(tmp_path / "n.json")
    assert written(instances[0]) == "[1.0,1E2,-0]"


def test_orders_are_all_orders_of_all_objects() -> None:
    assert [written(v) for v in orders([{"a": {"c": 1, "d": 2}, "b": "é"}])] == [
        '[{"a":{"c":1,"d":2},"b":"é"}]',
        '[{"a":{"d":2,"c":1},"b":"é"}]',
        '[{"b":"é","a":{"c":1,"d":2}}]',
        '[{"b":"é","a":{"d":2,"c":1}}]',
    ]
    with pytest.raises(md.UsageError, match="40,320 orders"):
        orders(dict.fromkeys("abcdefgh"))


def test_remotes_are_handed_over_and_those_of_other_drafts_are_not(tmp_path: Path, suite) -> None:  # type: ignore[no-untyped-def]
    remotes = tmp_path / "remotes"
    for name in ("integer.json", "draft2020-12/text.json", "draft4/old.json", "v1/new.json"):
        (remotes / name).parent.mkdir(parents=True, exist_ok=True)
        (remotes / name).write_text('{"type": "integer"}')
    found = read_remotes(remotes)
    assert sorted(found) == [
        "http://localhost:1234/draft2020-12/text.json",
        "http://localhost:1234/integer.json",
    ]
    folder = suite(group({"$ref": "http://localhost:1234/integer.json"}, (1, True), ("a", False)))
    assert outcomes(folder) == ["compile_error", "compile_error"]
    assert outcomes(folder, resources=found) == ["pass", "pass"]


def test_the_command_prints_a_line_per_keyword_and_records(
    suite,  # type: ignore[no-untyped-def]
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    suite(group({"uniqueItems": True}, ([1], True)), file="uniqueItems.json")
    folder = suite(group({"type": "integer"}, (1, True), ("a", False)), file="type.json")
    record = tmp_path / "record.json"
    assert main(["conformance", str(folder), "--vocabulary", "bytes", "--record", str(record)]) == 0
    out = capsys.readouterr().out
    assert [line.split() for line in out.splitlines() if line.startswith(("type", "uniqueItems", "all"))] == [
        ["type", "2", "2", "·", "·", "·"],
        ["uniqueItems", "1", "·", "1", "·", "·"],
        ["all", "3", "2", "1", "·", "·"],
    ]
    assert "1 × uniqueItems.json: uniqueItems is not supported (at /uniqueItems)" in out
    assert json.loads(record.read_text(encoding="utf-8")) == {
        "type.json": {"g": {"pass": ["1", '"a"']}},
        "uniqueItems.json": {"g": {"compile_error": ["[1]"]}},
    }


def test_the_command_says_no_where_an_answer_is_wrong(suite, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    folder = suite(group(True, (1, False)))
    assert main(["conformance", str(folder), "--vocabulary", "bytes"]) == 1
    assert "✕ false_positive: keyword.json: g: 1" in capsys.readouterr().out


@pytest.mark.parametrize("content", ["[1]", "{", '[{"schema": true}]', '[{"schema": true, "tests": [{}]}]'])
def test_what_is_no_suite_is_a_clear_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(md.UsageError, match="no file of the JSON Schema test suite"):
        list(run_suite(tmp_path, byte_tokens()))


def test_a_folder_without_files_and_one_that_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(md.UsageError, match=r"no \.json files"):
        list(run_suite(tmp_path, byte_tokens()))
    with pytest.raises(md.UsageError, match=r"no \.json files"):
        read_remotes(tmp_path)
    assert main(["conformance", str(tmp_path / "nowhere")]) == 2
    assert "does not exist" in capsys.readouterr().err


def test_the_real_suite_by_one_file() -> None:
    folder = Path(os.environ.get("MINIDECODER_SUITES", "")) / "json-schema-test-suite/tests/draft2020-12"
    if not os.environ.get("MINIDECODER_SUITES"):
        pytest.skip("MINIDECODER_SUITES does not name the folder of the public suites")
    results = list(run_suite(folder / "type.json", byte_tokens()))
    assert len(results) == 80
    assert f"{'type':<26} {80:>6} {80:>15}" in table(results)
    assert set(json.loads(recorded(results))) == {"type.json"}
