"""What of a schema is enforced, what is an annotation, what is not supported: each keyword, with its place.

    print(check_schema({"type": "array", "uniqueItems": True, "title": "tags"}))

A keyword that means nothing to a validator (`title`, `x-order`, a `format` that is not enforced) never makes
an error. One that would, but cannot be done exactly, is "unsupported" here and an error when compiling.

Left out: whether the schema has any value at all. Cost: as for compiling it, without a vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from minidecoder.schema.assertions import FORMATS
from minidecoder.schema.expand import Expander
from minidecoder.schema.keywords import KEYWORDS
from minidecoder.schema.parse import escape
from minidecoder.schema.reach import expand_all
from minidecoder.schema.resolve import Schema

__all__ = ["CheckedKeyword", "SchemaReport", "Status", "check_schema"]

Status: TypeAlias = Literal["enforced", "annotation", "unsupported"]

_NEEDS: Final = {"then": "if", "else": "if", "minContains": "contains", "maxContains": "contains"}
_STRUCTURE: Final = frozenset({"$defs", "definitions", "$id", "$anchor", "$dynamicAnchor", "$schema"})


@dataclass(frozen=True, slots=True)
class CheckedKeyword:
    """One keyword: its JSON pointer, its name, what becomes of it, and a reason where that is not plain."""

    pointer: str
    keyword: str
    status: Status
    note: str = ""


@dataclass(frozen=True, slots=True)
class SchemaReport:
    """Every keyword of a schema, in the order of its text; `str()` gives a table."""

    keywords: tuple[CheckedKeyword, ...]

    @property
    def unsupported(self) -> tuple[CheckedKeyword, ...]:
        """What compiling refuses, and `lenient=True` leaves out."""
        return tuple(keyword for keyword in self.keywords if keyword.status == "unsupported")

    def __str__(self) -> str:
        if not self.keywords:
            return "the schema has no keywords: it allows every JSON value"
        width = max(len(keyword.pointer) for keyword in self.keywords)
        lines = [f"{row.pointer:{width}}  {row.status:<11}  {row.note}".rstrip() for row in self.keywords]
        return "\n".join(lines)


def check_schema(
    schema: Any, *, resources: Mapping[str, Any] | None = None, enforce_formats: bool = False
) -> SchemaReport:
    """The report of a schema: JSON text, or what `json.loads` gives.

    Raises `SchemaError` for what is no schema, `ConstraintTooLargeError` past a limit.
    """
    known = Schema(schema, resources, lenient=True)
    expander = Expander(known, enforce_formats=enforce_formats)
    # subtle: `written` is filled before a lenient schema removes what its draft does not have.
    places = known.locations()
    expand_all(expander, [expander.goal(known.node(place)) for place in places])
    rows = []
    for place in places:
        for name, value in known.written.get(place.pointer, ()):
            pointer = place.pointer + escape(name)
            rows.append(
                _row(pointer, name, value, dict(known.written[place.pointer]), known, enforce_formats)
            )
    found = {row.pointer for row in rows if row.status == "unsupported"}
    for (pointer, keyword), why in known.dropped.items():
        if pointer not in found and _parent(pointer) not in found:  # in another document
            rows.append(CheckedKeyword(pointer, keyword, "unsupported", why))
    return SchemaReport(tuple(rows))


def _row(
    pointer: str, name: str, value: Any, beside: dict[str, Any], known: Schema, enforce_formats: bool
) -> CheckedKeyword:
    for (place, _), why in known.dropped.items():
        if place == pointer or (name == "patternProperties" and _parent(place) == pointer):
            return CheckedKeyword(pointer, name, "unsupported", why)
    if pointer in known.misnamed.values():
        return CheckedKeyword(pointer, name, "annotation", "nothing can refer to an $id with a fragment")
    if name == "format":
        if value not in FORMATS:
            return CheckedKeyword(pointer, name, "annotation", f"the format {value!r:.40} is not known here")
        if not enforce_formats:
            return CheckedKeyword(pointer, name, "annotation", "checked with enforce_formats=True")
        return CheckedKeyword(pointer, name, "enforced")
    if name in _NEEDS and _NEEDS[name] not in beside:
        return CheckedKeyword(pointer, name, "annotation", f"has no effect without {_NEEDS[name]}")
    if name == "additionalItems":
        enforced = isinstance(beside.get("items"), list)
        note = "" if enforced else "has no effect without a list of items"
        return CheckedKeyword(pointer, name, "enforced" if enforced else "annotation", note)
    keyword = KEYWORDS.get(name)
    if keyword is not None and (keyword.enforced or name in _STRUCTURE):
        return CheckedKeyword(pointer, name, "enforced")
    return CheckedKeyword(pointer, name, "annotation")


def _parent(pointer: str) -> str:
    return pointer.rpartition("/")[0]
