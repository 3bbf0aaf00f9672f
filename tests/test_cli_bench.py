"""`python -m minidecoder bench`: the clock, the processes, the tables, and engines that misbehave."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pytest

import minidecoder as md
from minidecoder.cli import bench, bench_compare
from minidecoder.cli.bench import ALL_CASES
from minidecoder.cli.bench_cases import CASES, FAMILIES, MASKS, Case
from minidecoder.cli.bench_compare import compare
from minidecoder.cli.bench_engines import Engine, MiniDecoder
from minidecoder.cli.bench_grammars import GRAMMARS
from minidecoder.cli.bench_measure import CaseFailed, Masks, Timing, check, measure
from minidecoder.cli.bench_peers import ENGINES, LLGuidance, XGrammar
from minidecoder.cli.bench_report import format_ratio, format_seconds, render
from minidecoder.cli.bench_result import METRICS, OURS, Contestant, Outcome, Report
from minidecoder.cli.bench_schemas import SCHEMAS
from minidecoder.cli.bench_vocabulary import BenchVocabulary, load_tekken
from minidecoder.cli.bench_worker import Failed, Prepared
from minidecoder.cli.main import main
from minidecoder.tokens.bitmask import allocate
from minidecoder.tokens.vocabulary import Vocabulary

PRICE, DATE = (next(case for case in CASES if case.name == name) for name in ("price", "date"))
SMALL = Vocabulary.from_tokens([*map(chr, range(32, 127)), "12", ".5", "2024", "-0", "</s>"], eos="</s>")
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows another process's memory")


def small() -> BenchVocabulary:
    """A hundred tokens, so that a child is ready at once."""
    return BenchVocabulary(SMALL, lambda text: [ord(char) - 32 for char in text])


# -- engines that misbehave: children import them from here --------------------------------------


class Good(MiniDecoder):
    name: ClassVar[str] = "good"
    package: ClassVar[str] = "numpy"


class Hangs(Good):
    name: ClassVar[str] = "hangs"

    def compile(self, case: Case) -> Any:
        while case.name == "date":
            pass
        return super().compile(case)


class Dies(Good):
    name: ClassVar[str] = "dies"

    def compile(self, case: Case) -> Any:
        if case.name == "date":
            os.abort()
        return super().compile(case)


class Grows(Good):
    name: ClassVar[str] = "grows"

    def compile(self, case: Case) -> Any:
        held = []
        while case.name == "date":
            held.append(bytearray(b"x") * 20_000_000)
        return super().compile(case)


class Refuses(Good):
    name: ClassVar[str] = "refuses"

    def compile(self, case: Case) -> Any:
        raise ValueError("no dates here\nand a traceback")


class Panics(Good):
    name: ClassVar[str] = "panics"

    def compile(self, case: Case) -> Any:
        class PanicException(BaseException):
            """What a Rust extension raises."""

        raise PanicException("called `Option::unwrap()` on a `None` value")


class TooStrict(Good):
    name: ClassVar[str] = "too strict"

    def compile(self, case: Case) -> Any:
        return super().compile(Case(case.name, "[0-9]", "", ""))


class TooLax(Good):
    name: ClassVar[str] = "too lax"

    def compile(self, case: Case) -> Any:
        return super().compile(Case(case.name, "[ -~]*", "", ""))


class Unpreparable(Good):
    name: ClassVar[str] = "unpreparable"

    def prepare(self, vocabulary: BenchVocabulary) -> None:
        raise RuntimeError("too many tokens")


class Unimportable(Good):
    name: ClassVar[str] = "unimportable"
    module: ClassVar[str] = "there_is_no_such_module"


class Missing(Good):
    name: ClassVar[str] = "missing"
    package: ClassVar[str] = "a-package-that-nobody-made"


class KnowsNothing(Good):
    name: ClassVar[str] = "knows nothing"
    families: ClassVar[frozenset[Any]] = frozenset()


def compared(*engines: type[Engine], cases: Any = (DATE, PRICE), **settings: Any) -> Report:
    settings = {"runs": 2, "limit_s": 20.0, "memory_limit": 4_000_000_000, **settings}
    report = compare([MiniDecoder, *engines], cases, load=small, **settings)
    assert multiprocessing.active_children() == []
    return report


# -- cases -------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_sample_of_a_case_matches_and_the_other_text_does_not(case: Case) -> None:
    assert re.fullmatch(case.source, case.text)
    assert not re.fullmatch(case.source, case.refused)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_pattern_says_what_engines_understand_differently(case: Case) -> None:
    outside_classes = re.sub(r"\[\^?\]?(\\.|[^\]\\])*\]", "", re.sub(r"\\\.", "", case.source))
    assert not re.search(r"\\[dwsDWSbB]|\.", outside_classes)


def test_there_are_sixteen_cases_with_names_of_their_own() -> None:
    families = [case.family for case in ALL_CASES]
    assert {family: families.count(family) for family in FAMILIES} == {"regex": 8, "grammar": 3, "schema": 5}
    assert len({case.name for case in ALL_CASES}) == len(ALL_CASES)


@pytest.mark.parametrize("case", SCHEMAS, ids=lambda case: case.name)
def test_an_independent_validator_agrees_on_the_instances_of_a_schema(case: Case) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(json.loads(case.source))
    assert validator.is_valid(json.loads(case.text))
    assert not validator.is_valid(json.loads(case.refused))


@pytest.mark.parametrize("case", GRAMMARS, ids=lambda case: case.name)
def test_a_grammar_told_twice_is_one_language(case: Case) -> None:
    """GBNF for most and Lark for llguidance: texts changed in one character are judged alike."""
    need("llguidance")
    from llguidance import LLMatcher, LLTokenizer

    tokenizer = LLTokenizer("byte")
    lark = LLMatcher(tokenizer, LLMatcher.grammar_from_lark(case.lark))
    assert not lark.is_error(), lark.get_error()
    gbnf = md.compile_grammar(case.source, SMALL).matcher()
    text = case.text.replace("é", "e")
    random = Random(1)
    verdicts = []
    for _ in range(60):
        place = random.randrange(len(text))
        changed = text[:place] + random.choice(["", *"'\" ()[]{},.*+-01aES\\"]) + text[place + 1 :]
        gbnf.reset()
        lark.reset()
        # What is accepted is compared byte by byte, so that both stop at the same place.
        taken = next((n for n, char in enumerate(changed) if not gbnf.accept_string(char)), len(changed))
        assert lark.validate_tokens(tokenizer.tokenize_str(changed)) == taken, changed
        verdicts.append(taken == len(changed))
    assert len(set(verdicts)) == 2, "some changes do no harm, and some do"


@pytest.fixture(scope="module")
def tekken() -> BenchVocabulary:
    need("mistral_common")
    return load_tekken()


def test_the_texts_of_grammars_are_200_tokens_long(tekken: BenchVocabulary) -> None:
    assert {case.name: len(tekken.sample(case.text)) for case in GRAMMARS} == {
        "json": 200,
        "arithmetic": 200,
        "sql-select": 200,
    }


# -- the clock ---------------------------------------------------------------------------------


class Recorder:
    """An engine that writes down what it is asked."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.row = allocate(32)

    def forget(self) -> None:
        self.calls.append("forget")

    def compile(self, case: Case) -> None:
        self.calls.append("compile")

    def session(self, compiled: None) -> Recorder:
        return self

    def fill(self) -> None:
        self.calls.append("fill")

    def accept(self, token_id: int) -> bool:
        self.calls.append(token_id)
        return True

    def reset(self) -> None:
        self.calls.append("reset")


def test_a_run_is_a_compile_and_then_masks_each_followed_by_the_next_token() -> None:
    engine = Recorder()
    sample = Masks((4, 5, 2), (1, 1, 1), (8, 9, 8))
    assert sample.new == (1,), "the third state allows what the first one does"
    timing = measure(engine, PRICE, sample, masks=7)  # type: ignore[arg-type]
    calls = [call for call in engine.calls if call != "reset"]
    steps = [item for token_id in (4, 5, 2, 4, 5, 2, 4) for item in ("fill", token_id)]
    assert calls[: 2 + 14] == ["forget", "compile", *steps]
    assert engine.calls[engine.calls.index(2) + 1] == "reset"  # after EOS the sample starts again
    assert 0 < timing.compile < timing.cold == timing.compile + timing.first <= timing.total
    assert 0 < timing.warm <= timing.slowest * 100


def test_masks_of_two_engines_are_compared_along_the_sample() -> None:
    engine = MiniDecoder()
    engine.prepare(small())
    masks = check(engine, PRICE, small())
    assert [chr(token_id + 32) for token_id in masks.tokens[:-1]] == list("12.50")
    assert masks.allowed == (12, 14, 14, 11, 10, 1)  # 12 and 2024 join the digits, .5 the dot
    other = Masks(masks.tokens, masks.allowed, (0, *masks.checksum[1:]))
    assert Outcome(masks=masks).differing(Outcome(masks=other)) == 1
    assert Outcome(masks=masks).differing(Outcome()) is None


@pytest.mark.parametrize(
    ("engine", "fault"), [(TooStrict(), "blocks token 1 of the sample"), (TooLax(), "accepts '12.5'")]
)
def test_an_engine_with_another_language_has_no_time(engine: Engine, fault: str) -> None:
    engine.prepare(small())
    with pytest.raises(CaseFailed, match=fault):
        check(engine, PRICE, small())


# -- the processes -----------------------------------------------------------------------------


def test_every_engine_gets_its_runs_and_a_ratio() -> None:
    report = compared(Good)
    for case in (DATE, PRICE):
        assert len(report.outcome("good", case.name).runs) == 2
        assert report.outcome("good", case.name).differing(report.outcome(OURS, case.name)) == 0
    for metric in METRICS:
        assert len(report.ratios(metric, "good")) == 2
        assert 0.001 < report.ratios(metric, "good")[0] < 1000
    assert report.engine("good").prepared is not None


def test_an_engine_that_hangs_is_stopped_and_goes_on_with_the_next_case() -> None:
    start = time.monotonic()
    report = compared(Hangs, limit_s=1.0)
    assert time.monotonic() - start < 60
    assert report.outcome("hangs", "date").status == "timeout"
    assert report.outcome("hangs", "date").reason == "took more than 1 s"
    assert report.outcome("hangs", "price").status == "ok"
    assert report.outcome(OURS, "date").status == "ok"


def test_an_engine_that_dies_is_named_with_its_signal_and_goes_on() -> None:
    report = compared(Dies)
    assert report.outcome("dies", "date").status == "died"
    assert "the process ended with " in report.outcome("dies", "date").reason
    assert report.outcome("dies", "price").status == "ok"


@linux_only
def test_an_engine_that_eats_the_memory_is_stopped() -> None:
    report = compared(Grows, memory_limit=600_000_000)
    assert report.outcome("grows", "date").status == "memory"
    assert report.outcome("grows", "date").reason == "took more than 0.6 GB"
    assert report.outcome("grows", "price").status == "ok"
    peak, ours = report.engine("grows").peak, report.engine(OURS).peak
    assert peak is not None
    assert ours is not None
    assert peak > 600_000_000 > ours > 10_000_000


@pytest.mark.parametrize(
    ("engine", "reason"),
    [
        (Refuses, "ValueError: no dates here"),
        (Panics, "PanicException: called `Option::unwrap()` on a `None` value"),
        (TooLax, "accepts '12.5', which does not match"),
    ],
)
def test_what_an_engine_complains_of_is_told_in_one_line(engine: type[Engine], reason: str) -> None:
    report = compared(engine, cases=[PRICE])
    assert report.outcome(engine.name, "price").status == "failed"
    assert report.outcome(engine.name, "price").reason == reason
    assert report.outcome(OURS, "price").status == "ok"
    assert f"{engine.name}, price: {reason}" in render(report)


@pytest.mark.parametrize(
    ("engine", "fault"),
    [(Unpreparable, "RuntimeError: too many tokens"), (Unimportable, "ModuleNotFoundError: No module named")],
)
def test_an_engine_that_cannot_start_is_left_out_and_named(engine: type[Engine], fault: str) -> None:
    report = compared(engine, cases=[PRICE])
    assert fault in report.engine(engine.name).fault
    assert report.outcome(OURS, "price").status == "ok"
    assert f"{engine.name}: cannot be used, {fault}" in render(report)


def test_a_missing_peer_is_a_line_with_the_command_that_installs_it() -> None:
    text = render(compared(Missing, cases=[PRICE], runs=1))
    assert "missing: not installed, python -m pip install a-package-that-nobody-made" in text
    assert "missing" not in text.splitlines()[5]  # the head of the first table


def test_an_engine_is_not_asked_for_a_family_that_it_does_not_know() -> None:
    report = compared(KnowsNothing, cases=[PRICE])
    assert report.outcome("knows nothing", "price").status == "unsupported"
    assert report.outcome("knows nothing", "price").reason == ""


def test_a_vocabulary_that_cannot_be_loaded_leaves_every_engine_out() -> None:
    report = compare([MiniDecoder], [PRICE], runs=1, limit_s=9, memory_limit=10**10, load=broken_vocabulary)
    assert report.engine(OURS).fault == "ValueError: the file is cut short"
    assert "cut short" in render(report)


def broken_vocabulary() -> BenchVocabulary:
    raise ValueError("the file is cut short")


# -- the order of the runs ---------------------------------------------------------------------


class FakeWorker:
    """Answers at once, and writes down who was asked."""

    asked: ClassVar[list[tuple[str, str]]] = []
    seconds: ClassVar[dict[str, float]] = {}
    now: ClassVar[float] = 0.0

    def __init__(self, engine: type[Engine], load: Any, memory_limit: int) -> None:
        self.engine, self.peak = engine, 1

    def start(self) -> None: ...

    def close(self) -> None: ...

    def prepare(self) -> Prepared:
        return Prepared(0.1, 1, 1, 100)

    def ask(self, verb: str, *rest: Any, limit_s: float) -> Any:
        FakeWorker.asked.append((verb, self.engine.name))
        FakeWorker.now += FakeWorker.seconds.get(self.engine.name, 0.0)
        if self.engine is Refuses:
            raise Failed("failed", "no")
        return Masks((1, 2), (1, 1), (1, 1)) if verb == "check" else Timing(*[1.0] * 7)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    monkeypatch.setattr(bench_compare, "Worker", FakeWorker)
    monkeypatch.setattr(bench_compare, "monotonic", lambda: FakeWorker.now)
    monkeypatch.setattr(FakeWorker, "asked", [])
    monkeypatch.setattr(FakeWorker, "seconds", {})
    return FakeWorker.asked


def test_runs_alternate_and_the_order_rotates(asked: list[tuple[str, str]]) -> None:
    compared(Good, Hangs, cases=[PRICE], runs=3)
    names = [OURS, "good", "hangs"]
    assert asked[:3] == [("check", name) for name in names]
    assert [name for verb, name in asked if verb == "measure"] == [
        *names,
        *(names[1:] + names[:1]),
        *(names[2:] + names[:2]),
    ]


def test_an_engine_without_a_result_is_not_asked_again(asked: list[tuple[str, str]]) -> None:
    compared(Refuses, cases=[PRICE], runs=3)
    assert asked.count(("check", "refuses")) == 1
    assert ("measure", "refuses") not in asked


def test_an_engine_that_takes_long_is_asked_less_often(asked: list[tuple[str, str]]) -> None:
    FakeWorker.seconds["hangs"] = 4.0
    report = compared(Good, Hangs, cases=[PRICE], runs=5, limit_s=10.0)
    assert len(report.outcome("good", "price").runs) == 5
    assert len(report.outcome("hangs", "price").runs) == 2  # 4 s of checking and 4 of a run: one more


def test_an_engine_that_takes_long_to_check_is_still_measured_once(asked: list[tuple[str, str]]) -> None:
    FakeWorker.seconds["hangs"] = 40.0
    report = compared(Hangs, cases=[PRICE], runs=5, limit_s=10.0)
    assert len(report.outcome("hangs", "price").runs) == 1


def test_children_are_ended_when_something_unforeseen_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(bench_compare, "_measure_case", interrupt)
    with pytest.raises(KeyboardInterrupt):
        compare([Good], [PRICE], runs=1, limit_s=9, memory_limit=10**10, load=small)
    assert multiprocessing.active_children() == []


# -- the tables --------------------------------------------------------------------------------


@pytest.fixture
def full_report() -> Report:
    """Five engines, sixteen cases, and every way in which a case can go."""
    engines = [Contestant(e.name, e.package, "10.11.12", e.note) for e in ENGINES]
    report = Report(ALL_CASES, engines, runs=5, limit_s=30.0, memory_limit=4_000_000_000)
    statuses = ["failed", "timeout", "memory", "died", "unsupported"]
    for row, case in enumerate(ALL_CASES):
        for column, engine in enumerate(engines):
            outcome = report.outcome(engine.name, case.name)
            outcome.runs = [Timing(*[1e-3 * 12.3**column * (row + 1)] * 7)]
            if column == 4 and row < len(statuses):
                outcome.runs, outcome.status, outcome.reason = [], statuses[row], "why"
    for engine in engines:
        engine.prepared, engine.peak = Prepared(1.2, 10**8, 2 * 10**8, 131_072), 3 * 10**9
    return report


def test_tables_fit_into_a_hundred_columns(full_report: Report) -> None:
    tables = render(full_report).split("lm-format-enforcer: reads")[0]
    assert max(map(len, tables.splitlines())) <= 100
    assert "131,072 tokens" in tables
    assert "\x1b" not in tables


def test_a_cell_says_why_it_has_no_time_and_a_mean_over_how_many_cases_it_runs(full_report: Report) -> None:
    text = render(full_report)
    for word in ("failed", "too slow", "too large", "died", "–"):
        assert word in text
    assert re.search(r"^geo\. mean .* 3 of 8 ", text, re.M)
    assert text.count("lm-format-enforcer, ") == 5


def test_a_ratio_is_the_others_median_over_ours_and_the_mean_is_geometric() -> None:
    report = Report([PRICE, DATE], [Contestant(n, n, "1") for n in (OURS, "other")], 3, 9, 10**9)
    for case, ours, theirs in ((PRICE, 2.0, 1.0), (DATE, 1.0, 8.0)):
        report.outcome(OURS, case.name).runs = [Timing(*[x] * 7) for x in (ours, 0.0, 99.0)]
        report.outcome("other", case.name).runs = [Timing(*[theirs] * 7)]
    assert report.ratios("total", "other") == [0.5, 8.0]
    summary = next(row for row in report.to_json()["summary"] if row["metric"] == "total")
    assert summary["geometric_mean"] == pytest.approx(2.0)
    assert (summary["cases"], summary["least"]) == (2, 0.5)
    assert re.search(r"^geo\. mean +2\.00×$", render(report), re.M)


def test_masks_that_differ_are_told_of() -> None:
    report = Report([PRICE], [Contestant(n, n, "1") for n in (OURS, "other")], 1, 9, 10**9)
    report.outcome(OURS, "price").masks = Masks((1, 2), (5, 1), (7, 8))
    report.outcome("other", "price").masks = Masks((1, 2), (4, 1), (6, 8))
    assert "other: masks along the sample differ from minidecoder's in some states: price 1" in render(report)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (3.5e-10, "0.35 ns"),
        (352e-9, "352 ns"),
        (1.2e-6, "1.20 µs"),
        (12.34e-3, "12.3 ms"),
        (0.99999, "1.00 s"),
        (123.4, "123 s"),
        (0.0, "0.00 ns"),
    ],
)
def test_a_time_has_three_digits_and_a_unit(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.0034, "0.0034×"),
        (0.31, "0.31×"),
        (2.6, "2.60×"),
        (38.04, "38.0×"),
        (1234.5, "1,234×"),
        (99.97, "100×"),
    ],
)
def test_a_ratio_reads_well_at_any_size(ratio: float, text: str) -> None:
    assert format_ratio(ratio) == text


# -- the command -------------------------------------------------------------------------------

_number_or_null = {"type": ["number", "null"]}
_metrics = {
    "type": "object",
    "required": list(METRICS),
    "additionalProperties": False,
    "properties": dict.fromkeys(METRICS, _number_or_null),
}
JSON_SCHEMA = {
    "type": "object",
    "required": ["schema_version", "minidecoder", "machine", "vocabulary", "settings", "engines", "cases", "results", "summary"],
    "additionalProperties": False,
    "properties": {
        "schema_version": {"const": 1},
        "minidecoder": {"type": "string"},
        "machine": {"type": "object", "required": ["python", "system", "cpus"]},
        "vocabulary": {
            "type": "object",
            "required": ["file", "width"],
            "properties": {"width": {"const": 131_072}},
        },
        "settings": {
            "type": "object",
            "required": ["runs", "masks", "limit_s", "memory_limit_bytes"],
            "properties": {"masks": {"const": MASKS}},
        },
        "engines": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "package", "version", "note", "fault", "prepare_s", "loaded_bytes", "ready_bytes", "peak_bytes"],
                "additionalProperties": {"type": ["string", "number", "null"]},
            },
        },
        "cases": {
            "type": "array",
            "items": {"type": "object", "required": ["name", "source", "text", "refused", "family", "lark"]},
        },
        "results": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["engine", "case", "status", "reason", "runs", "median", "ratio", "tokens", "allowed", "masks_differing_from_minidecoder"],
                "additionalProperties": False,
                "properties": {
                    "engine": {"type": "string"},
                    "case": {"type": "string"},
                    "status": {"enum": ["ok", "failed", "timeout", "memory", "died", "unsupported"]},
                    "reason": {"type": "string"},
                    "runs": {"type": "array", "items": _metrics},
                    "median": _metrics,
                    "ratio": _metrics,
                    "tokens": {"type": ["array", "null"]},
                    "allowed": {"type": ["array", "null"]},
                    "masks_differing_from_minidecoder": {"type": ["integer", "null"]},
                },
            },
        },
        "summary": {
            "type": "array",
            "items": {"type": "object", "required": ["family", "metric", "engine", "cases", "geometric_mean", "least"]},
        },
    },
}  # fmt: skip


def need(*modules: str) -> None:
    missing = [module for module in modules if find_spec(module) is None]
    if not missing:
        return
    reason = f"{missing[0]} is not installed: pip install 'minidecoder[peers]'"
    if os.environ.get("MINIDECODER_REQUIRE_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def test_it_runs_from_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    need(*(engine.module for engine in ENGINES), "mistral_common")
    jsonschema = pytest.importorskip("jsonschema")
    file = tmp_path / "bench.json"
    # No time limit that a slow machine could pass.
    assert (
        main(
            [
                "bench",
                "--family",
                "regex",
                "--cases",
                "price",
                "--runs",
                "1",
                "--limit",
                "200",
                "--json",
                str(file),
            ]
        )
        == 0
    )
    out, err = capsys.readouterr()
    assert "price …" in err
    assert all(title in out for title in METRICS.values())
    assert all(engine.name in out for engine in ENGINES)
    found = json.loads(file.read_text(encoding="utf-8"))
    jsonschema.validate(found, JSON_SCHEMA)
    assert [(r["engine"], r["status"]) for r in found["results"]] == [(e.name, "ok") for e in ENGINES]
    # Four engines build different things; on this pattern all of them allow the same tokens.
    assert {tuple(r["allowed"]) for r in found["results"]} == {(10, 11, 11, 10, 10, 1)}
    assert {r["masks_differing_from_minidecoder"] for r in found["results"]} == {0}


@pytest.mark.parametrize(("case", "family"), [("arithmetic", "grammar"), ("tree", "schema")])
def test_a_grammar_and_a_schema_run_from_end_to_end(
    case: str, family: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    need("mistral_common")
    file = tmp_path / "bench.json"
    options = ["--engines", "minidecoder", "--family", family, "--cases", case, "--runs", "1"]
    assert main(["bench", *options, "--limit", "200", "--json", str(file)]) == 0
    assert "[0-9] for" not in capsys.readouterr().out, "that is a matter of regexes"
    (result,) = json.loads(file.read_text(encoding="utf-8"))["results"]
    assert (result["case"], result["status"]) == (case, "ok")
    assert all(seconds > 0 for seconds in result["median"].values())
    assert len(result["tokens"]) == len(result["allowed"]) > 80


@pytest.mark.parametrize("case", [*GRAMMARS, *SCHEMAS], ids=lambda case: case.name)
@pytest.mark.parametrize("engine", [MiniDecoder, XGrammar, LLGuidance], ids=lambda engine: engine.name)
def test_an_engine_takes_the_sample_to_its_end_and_refuses_the_other_text(
    engine: type[Engine], case: Case, tekken: BenchVocabulary, prepared: dict[type[Engine], Engine]
) -> None:
    need(engine.module)
    if engine not in prepared:
        prepared[engine] = engine()
        prepared[engine].prepare(tekken)
    session = prepared[engine].session(prepared[engine].compile(case))
    # No masks, of which xgrammar's take a minute for the arithmetic.
    assert all(session.accept(token_id) for token_id in tekken.sample(case.text))
    session.reset()
    assert not all(session.accept(token_id) for token_id in tekken.sample(case.refused))


@pytest.fixture(scope="module")
def prepared() -> dict[type[Engine], Engine]:
    return {}


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (["--engines", "minidecoder,outline"], "--engines: there is no 'outline', only minidecoder, outlines-core"),
        (["--cases", "prices"], "--cases: there is no 'prices', only price, phone"),
        (["--cases", "price", "--family", "schema"], "--cases: there is no 'price', only record, arrays"),
        (["--runs", "0"], "--runs 0: it must be a number above 0"),
        (["--limit", "nan"], "--limit nan: it must be a number above 0"),
        (["--limit", "inf"], "--limit inf"),
        (["--memory", "-1"], "--memory -1.0"),
        (["--json", "no/such/folder/x.json"], "lies in a folder that does not exist"),
        (["--json", "."], "--json .: it is a folder"),
    ],
)  # fmt: skip
def test_a_wrong_option_is_said_before_anything_is_measured(
    options: list[str], fault: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "compare", lambda *_, **__: pytest.fail("measured"))
    assert main(["bench", *options]) == 2
    assert fault in capsys.readouterr().err


def test_without_mistral_common_it_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["bench"]) == 2
    assert "pip install 'minidecoder[peers]'" in capsys.readouterr().err


@pytest.mark.parametrize(("status", "code"), [("ok", 0), ("failed", 1)])
def test_the_exit_code_is_1_where_minidecoder_itself_fails(
    status: str, code: int, full_report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("mistral_common")
    full_report.outcome(OURS, "price").status = status
    monkeypatch.setattr(bench, "compare", lambda *_, **__: full_report)
    assert main(["bench"]) == code


def test_engines_and_cases_come_in_our_order_whatever_was_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    need("mistral_common")
    chosen: list[Any] = []

    def note(engines: Any, cases: Any, **_: Any) -> Report:
        chosen.extend([[e.name for e in engines], [c.name for c in cases]])
        return Report(cases, [], 1, 1, 1)

    monkeypatch.setattr(bench, "compare", note)
    assert main(["bench", "--engines", "xgrammar, minidecoder", "--cases", "url,price"]) in (0, 1)
    assert chosen == [["minidecoder", "xgrammar"], ["price", "url"]]


# -- leaving early -----------------------------------------------------------------------------

SLEEPER = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})

if __name__ == "__main__":
    import test_cli_bench as t
    from minidecoder.cli import bench
    from minidecoder.cli.main import main

    bench.ENGINES = (t.Hangs,)
    real = bench.compare
    bench.compare = lambda *a, **k: real(*a, load=t.small, **k)
    bench.importlib.util.find_spec = lambda name: True
    sys.exit(main(["bench", "--engines", "hangs", "--cases", "date", "--limit", "300"]))
"""


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A benchmark in a group of its own, whose child is in the middle of a compile that never ends."""
    if os.name != "posix":
        pytest.skip("process groups are a matter of POSIX")
    script = tmp_path / "sleeper.py"
    script.write_text(SLEEPER, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, str(script)], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stderr is not None
    while "date" not in (line := process.stderr.readline()):
        assert line, "it ended before it began"
    time.sleep(0.3)
    yield process
    if process.poll() is None:
        process.kill()
    process.wait()
    process.stderr.close()


def wait_until_gone(group: int) -> bool:
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    os.killpg(group, signal.SIGKILL)
    return False


def test_ctrl_c_ends_it_with_130_and_leaves_no_child(sleeper: subprocess.Popen[str]) -> None:
    os.killpg(sleeper.pid, signal.SIGINT)  # as a terminal does: to everyone in the group
    assert sleeper.wait(timeout=30) == 130
    assert sleeper.stderr is not None
    assert "Traceback" not in sleeper.stderr.read()
    assert wait_until_gone(sleeper.pid)


@linux_only
def test_no_child_outlives_a_parent_that_is_killed(sleeper: subprocess.Popen[str]) -> None:
    sleeper.kill()
    sleeper.wait()
    assert wait_until_gone(sleeper.pid)
