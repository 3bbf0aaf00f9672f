"""The public JSON Schema suite: nothing invalid accepted, nothing valid refused, and a ratchet for the rest.

`tests/data/schema_baseline.json` holds the outcome of each test. A test may only improve; to record a better
state: python -m minidecoder conformance SUITE/tests/draft2020-12 --record tests/data/schema_baseline.json
"""

from __future__ import annotations

import json
import os
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from minidecoder.cli.bench_vocabulary import load_tekken
from minidecoder.cli.conformance import byte_tokens, recorded
from minidecoder.cli.conformance_suite import OUTCOMES, Result, Tokens, read_remotes, run_suite
from tests.optional import need

BASELINE = Path(__file__).parent / "data" / "schema_baseline.json"
TESTS = 1_299  # in the required part
PASS_AT_LEAST, PASS_AT_LEAST_WITH_REMOTES = 1_205, 1_249


def suite(part: str) -> Path:
    folder = Path(os.environ.get("MINIDECODER_SUITES", "")) / "json-schema-test-suite" / part
    if not os.environ.get("MINIDECODER_SUITES") or not folder.is_dir():
        pytest.skip("MINIDECODER_SUITES does not name a folder with json-schema-test-suite")
    return folder


@cache
def results() -> tuple[Result, ...]:
    """With the tokens of a real vocabulary, and so byte by byte too."""
    need("mistral_common")
    tekken = load_tekken()
    return tuple(run_suite(suite("tests/draft2020-12"), Tokens(tekken.vocabulary, tekken.encode)))


def flat(text: str) -> dict[tuple[str, str, str], str]:
    return {
        (file, group, test): outcome
        for file, groups in json.loads(text).items()
        for group, outcomes in groups.items()
        for outcome, tests in outcomes.items()
        for test in tests
    }


def test_no_invalid_instance_is_accepted_and_no_valid_one_refused() -> None:
    wrong = [result for result in results() if result.outcome.startswith("false")]
    assert wrong == []


def test_the_floor_holds_whatever_the_baseline_says() -> None:
    counts = Counter(result.outcome for result in results())
    assert counts.total() >= TESTS
    assert counts["pass"] >= PASS_AT_LEAST
    assert set(counts) <= {"pass", "compile_error"}


def test_no_test_is_worse_than_in_the_baseline() -> None:
    before, now = flat(BASELINE.read_text(encoding="utf-8")), flat(recorded(results()))
    assert len(before) == TESTS, "the baseline holds every test of the required part"
    assert before.keys() <= now.keys(), "a test of the baseline was not run"
    worse = {
        name: (before[name], now[name])
        for name in before
        if OUTCOMES.index(now[name]) > OUTCOMES.index(before[name])  # type: ignore[arg-type]
    }
    assert worse == {}


def test_a_refused_schema_is_refused_with_its_keyword_and_its_place() -> None:
    reasons = {result.reason for result in results() if result.outcome == "compile_error"}
    places = [reason for reason in reasons if "(at " in reason]
    assert reasons - set(places) == {
        "the bounds and steps of a number need more than 100,000 states (the limit is the argument max_states)"
    }


def test_with_the_remote_documents_handed_over_more_passes_and_nothing_is_wrong() -> None:
    folder, remotes = suite("tests/draft2020-12"), read_remotes(suite("remotes"))
    files = ["refRemote.json", "dynamicRef.json", "ref.json", "vocabulary.json", "defs.json", "anchor.json"]
    found = [result for file in files for result in run_suite(folder / file, byte_tokens(), remotes)]
    assert not [result for result in found if result.outcome.startswith("false")]
    without = Counter(result.outcome for result in results() if result.file in files)
    with_remotes = Counter(result.outcome for result in found)
    assert with_remotes["pass"] - without["pass"] >= PASS_AT_LEAST_WITH_REMOTES - PASS_AT_LEAST
