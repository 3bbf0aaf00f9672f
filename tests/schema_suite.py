"""The required part of the JSON Schema test-suite, read from where MINIDECODER_SUITES says; never copied."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Case:
    """One test of the suite: `schema` and `data` as `json.loads` gives them, numbers with a point as Decimals."""

    group: str
    name: str
    schema: Any
    data: Any
    valid: bool


def suite() -> Path:
    """The folder of the suite; skips where it is not there, fails where nothing may be skipped."""
    place = os.environ.get("MINIDECODER_SUITES")
    folder = Path(place or "absent") / "json-schema-test-suite"
    if not folder.is_dir():
        reason = "MINIDECODER_SUITES names no folder with json-schema-test-suite"
        if place and os.environ.get("MINIDECODER_REQUIRE_ALL") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return folder


def required_cases() -> Iterator[Case]:
    """The 1,299 tests that every implementation of draft 2020-12 must pass."""
    for file in sorted((suite() / "tests" / "draft2020-12").glob("*.json")):
        for group in json.loads(file.read_text(encoding="utf-8"), parse_float=Decimal):
            name = f"{file.stem}: {group['description']}"
            for test in group["tests"]:
                yield Case(name, test["description"], group["schema"], test["data"], test["valid"])


def remote_documents() -> dict[str, Any]:
    """URI → document, as the suite's README wants them served."""
    folder = suite() / "remotes"
    wanted = [
        *folder.glob("draft2020-12/**/*.json"),
        *folder.glob("[!dv]*/**/*.json"),
        *folder.glob("*.json"),
    ]
    files = {f"http://localhost:1234/{file.relative_to(folder).as_posix()}": file for file in wanted}
    return {uri: json.loads(file.read_text(encoding="utf-8")) for uri, file in files.items()}
