"""What the benchmark measures of JSON Schema: five schemas, each with an instance as compact JSON.

A flat record of an API, arrays in arrays, an enum of 1,000 strings, a tree that refers to itself, and a
string of up to 10,000 characters. Each engine gets the same JSON text and its own default white space,
which allows none; the other instance differs from the first in one place.

Left out: the other families (`bench_cases`, `bench_grammars`), and who compiles what (`bench_peers`).
"""

from __future__ import annotations

import json
from random import Random
from string import ascii_lowercase
from typing import Any, Final

from minidecoder.cli.bench_cases import Case

__all__ = ["SCHEMAS"]

_TEXT: Final = {"type": "string"}
_RECORD: Final = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": "string", "maxLength": 50},
        "email": _TEXT,
        "active": {"type": "boolean"},
        "score": {"type": "number"},
        "tags": {"type": "array", "items": _TEXT},
        "role": {"enum": ["admin", "user", "guest"]},
        "address": _TEXT,
        "zip": {"type": "string", "pattern": "^[0-9]{5}$"},
        "note": {"type": ["string", "null"]},
    },
    "required": ["id", "name", "email", "active", "role"],
    "additionalProperties": False,
}
_ADA: Final = {
    "id": 12345,
    "name": "Ada Lovelace",
    "email": "ada@example.org",
    "active": True,
    "score": 12.75,
    "tags": ["mathematics", "engine", "a café"],
    "role": "admin",
    "address": "12 St James's Square, London",
    "zip": "12345",
    "note": None,
}
_ARRAYS: Final = {
    "type": "array",
    "items": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
}
_NUMBERS: Final = [[[n, n / 4], [7 * n, -n, 0.5]] for n in range(1, 10)]
_TREE: Final = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["value", "children"],
            "additionalProperties": False,
        }
    },
}


def _tree(value: int) -> dict[str, Any]:
    """A binary tree numbered as a heap, ten nodes of it."""
    return {"value": value, "children": [_tree(child) for child in (2 * value, 2 * value + 1) if child <= 10]}


def _names() -> list[str]:
    """1,000 strings of two words; the same ones every time."""
    random = Random(0)
    words = ["".join(random.choices(ascii_lowercase, k=random.randint(3, 9))) for _ in range(2_000)]
    found = dict.fromkeys(f"{random.choice(words)} {random.choice(words)}" for _ in range(1_010))
    return list(found)[:1_000]


def _case(name: str, schema: Any, instance: Any, other: Any) -> Case:
    """`other` is what the schema does not allow."""
    text, refused = (json.dumps(v, separators=(",", ":"), ensure_ascii=False) for v in (instance, other))
    return Case(name, json.dumps(schema), text, refused, "schema")


_NAMES: Final = _names()
_PROSE: Final = "The quick brown fox jumps over the lazy dog. " * 19

SCHEMAS: Final = (
    _case("record", _RECORD, _ADA, _ADA | {"role": "owner"}),
    _case("arrays", _ARRAYS, _NUMBERS, [*_NUMBERS, [["1"]]]),
    _case("enum-1000", {"enum": _NAMES}, _NAMES[500], _NAMES[500] + "s"),
    _case("tree", _TREE, _tree(1), _tree(1) | {"children": [{"value": 1.5, "children": []}]}),
    _case("string-10k", {"type": "string", "maxLength": 10_000}, _PROSE, "a" * 10_001),
)
