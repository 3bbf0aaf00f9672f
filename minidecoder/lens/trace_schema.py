"""The format of a trace for other programs: JSON Schema, draft 2020-12, shipped as `trace_schema.json`.

    jsonschema.validate(json.loads(trace.to_json()), trace_schema())

It says what may stand where. What a schema cannot say, that an id lies below the vocabulary's size or that
a step begins where the one before ended, `Trace.from_json` checks as well. Left out: older versions. Cost:
reading 7 KB, once.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["trace_schema"]


def trace_schema() -> dict[str, Any]:
    """The schema, a copy of its own for each caller."""
    schema: dict[str, Any] = json.loads(_text())
    return schema


@cache
def _text() -> str:
    return files("minidecoder.lens").joinpath("trace_schema.json").read_text(encoding="utf-8")
