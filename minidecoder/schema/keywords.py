"""The keywords of JSON Schema: what kind of value each must have, where it holds subschemas, since when.

One table drives the walk over subschemas (`resolve`), the check of a schema's own form, and the report of
`check`. A keyword that is not in the table is an annotation, as the standard says.

Left out: meaning (`assertions`, `expand`). Cost: O(keywords of a schema).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from minidecoder.errors import SchemaError, UnsupportedFeatureError
from minidecoder.schema.parse import escape
from minidecoder.schema.values import TYPES

__all__ = ["DRAFTS", "KEYWORDS", "Keyword", "check_form", "size", "subschemas"]

DRAFTS: Final[dict[str, int]] = {
    "https://json-schema.org/draft/2020-12/schema": 2020,
    "https://json-schema.org/draft/2019-09/schema": 2019,
    "http://json-schema.org/draft-07/schema": 7,
    "http://json-schema.org/draft-06/schema": 6,
}


@dataclass(frozen=True, slots=True)
class Keyword:
    """`form`: what the value must be; `since`: the first draft that has it; `enforced`: whether it can make
    a value invalid; `place`: whether its subschemas are about the same value ("in"), a member or item of it
    ("child"), or nothing that is checked ("none")."""

    form: str
    since: int = 6
    enforced: bool = True
    place: str = "child"


_ONE, _LIST, _MAP = "a schema", "a list of schemas", "an object of schemas"
_SIZE, _NUMBER, _TEXT, _NAMES = "a whole number of at least 0", "a number", "a text", "a list of texts"
_ANY, _BOOL = "any value", "true or false"
_LARGEST_SIZE: Final = 10**18

KEYWORDS: Final[dict[str, Keyword]] = {
    "type": Keyword("a type or a list of types"),
    "enum": Keyword("a list"),
    "const": Keyword(_ANY),
    "minimum": Keyword(_NUMBER),
    "maximum": Keyword(_NUMBER),
    "exclusiveMinimum": Keyword(_NUMBER),
    "exclusiveMaximum": Keyword(_NUMBER),
    "multipleOf": Keyword("a number of more than 0"),
    "minLength": Keyword(_SIZE),
    "maxLength": Keyword(_SIZE),
    "pattern": Keyword(_TEXT),
    "format": Keyword(_TEXT, enforced=False),
    "prefixItems": Keyword(_LIST, 2020),
    "items": Keyword(_ONE),
    "contains": Keyword(_ONE),
    "minContains": Keyword(_SIZE, 2019),
    "maxContains": Keyword(_SIZE, 2019),
    "minItems": Keyword(_SIZE),
    "maxItems": Keyword(_SIZE),
    "uniqueItems": Keyword(_BOOL),
    "unevaluatedItems": Keyword(_ONE, 2019),
    "properties": Keyword(_MAP),
    "patternProperties": Keyword(_MAP),
    "additionalProperties": Keyword(_ONE),
    "propertyNames": Keyword(_ONE),
    "required": Keyword(_NAMES),
    "minProperties": Keyword(_SIZE),
    "maxProperties": Keyword(_SIZE),
    "dependentRequired": Keyword("an object of lists of texts", 2019),
    "unevaluatedProperties": Keyword(_ONE, 2019),
    "$ref": Keyword(_TEXT),
    "$dynamicRef": Keyword(_TEXT, 2020),
    "allOf": Keyword(_LIST, place="in"),
    "anyOf": Keyword(_LIST, place="in"),
    "oneOf": Keyword(_LIST, place="in"),
    "not": Keyword(_ONE, place="in"),
    "if": Keyword(_ONE, 7, place="in"),
    "then": Keyword(_ONE, 7, place="in"),
    "else": Keyword(_ONE, 7, place="in"),
    "dependentSchemas": Keyword(_MAP, 2019, place="in"),
    "dependencies": Keyword("an object of schemas or lists of texts", place="in"),
    "$defs": Keyword(_MAP, enforced=False, place="none"),
    "definitions": Keyword(_MAP, enforced=False, place="none"),
    "contentSchema": Keyword(_ONE, enforced=False, place="none"),
    "$schema": Keyword(_TEXT, enforced=False),
    "$id": Keyword(_TEXT, enforced=False),
    "$anchor": Keyword("a name", 2019, enforced=False),
    "$dynamicAnchor": Keyword("a name", 2020, enforced=False),
}


def subschemas(schema: Mapping[str, Any], draft: int) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The path and the value of each direct subschema, in the order of the text. Data is passed by."""
    for name, value in schema.items():
        keyword = KEYWORDS.get(name)
        form = keyword.form if keyword else ""
        as_list = form == _LIST or (draft < 2020 and name == "items" and isinstance(value, list))
        if as_list and isinstance(value, list):
            yield from (((name, index), item) for index, item in enumerate(value))
        elif form == _ONE or (draft < 2020 and name == "additionalItems"):
            yield (name,), value
        elif (form == _MAP or name == "dependencies") and isinstance(value, Mapping):
            items = value.items()
            yield from (((name, key), item) for key, item in items if not isinstance(item, list))


def check_form(
    schema: Mapping[str, Any], draft: int, pointer: str
) -> Iterator[tuple[str, UnsupportedFeatureError]]:
    """`SchemaError` for a keyword whose value is of the wrong kind. Gives the keywords that the draft which
    the schema declares does not have, or whose meaning was another there, each with the error to raise."""
    for name, value in schema.items():
        keyword = KEYWORDS.get(name)
        if keyword is None:
            continue
        where = pointer + escape(name)
        if draft < keyword.since:
            remedy = "declare https://json-schema.org/draft/2020-12/schema, which has it"
            yield name, UnsupportedFeatureError(name, pointer=where, remedy=remedy)
        _check_value(name, keyword.form, value, draft, where)
    yield from _of_old_drafts(schema, draft, pointer)


def size(value: Any) -> int:
    """A size as int: a schema may write 2.0. What no text can reach is as good as 10^18."""
    return int(min(value, _LARGEST_SIZE))  # subtle: int(Decimal("1e999999999")) would fill the memory


def _check_value(name: str, form: str, value: Any, draft: int, where: str) -> None:
    if name == "items" and isinstance(value, list):
        if draft < 2020:
            return
        raise SchemaError("items is one schema; a schema for each position is prefixItems", where)
    if not _has_form(form, value):
        hint = "; of draft 4, write the bound itself" if name.startswith("exclusive") else ""
        raise SchemaError(f"{name} must be {form}, not {_shown(value)}{hint}", where)


def _of_old_drafts(
    schema: Mapping[str, Any], draft: int, pointer: str
) -> Iterator[tuple[str, UnsupportedFeatureError]]:
    def fault(name: str, remedy: str) -> tuple[str, UnsupportedFeatureError]:
        return name, UnsupportedFeatureError(name, pointer=pointer + escape(name), remedy=remedy)

    if draft == 2019 and "$recursiveRef" in schema:
        yield fault("$recursiveRef", "write $dynamicRef of draft 2020-12")
    if draft == 2019 and {"contains", "unevaluatedItems"} <= schema.keys():
        yield fault("unevaluatedItems", "beside contains it means another thing since; declare draft 2020-12")
    if draft <= 7 and "$ref" in schema:
        for name in schema:
            if name != "$ref" and name in KEYWORDS and KEYWORDS[name].enforced:
                remedy = (
                    "drafts 6 and 7 ignore it beside $ref; put both under allOf, or declare draft 2020-12"
                )
                yield fault(name, remedy)


def _has_form(form: str, value: Any) -> bool:
    match form:
        case "a schema":
            return isinstance(value, bool | Mapping)
        case "a list of schemas":
            return isinstance(value, list) and bool(value) and all(_has_form(_ONE, item) for item in value)
        case "an object of schemas":
            return isinstance(value, Mapping) and all(_has_form(_ONE, item) for item in value.values())
        case "a whole number of at least 0":
            return _is_number(value) and value >= 0 and value == Decimal(value).to_integral_value()
        case "a number":
            return _is_number(value)
        case "a number of more than 0":
            return _is_number(value) and value > 0
        case "a text" | "a name":
            return isinstance(value, str) and (form == _TEXT or value[:1].isalpha() or value[:1] == "_")
        case "a list":
            return isinstance(value, list)
        case "a list of texts":
            return isinstance(value, list) and all(isinstance(item, str) for item in value)
        case "an object of lists of texts":
            return isinstance(value, Mapping) and all(_has_form(_NAMES, item) for item in value.values())
        case "an object of schemas or lists of texts":
            forms = (_ONE, _NAMES)
            return isinstance(value, Mapping) and all(
                any(_has_form(form, item) for form in forms) for item in value.values()
            )
        case "true or false":
            return isinstance(value, bool)
        case "a type or a list of types":
            names = value if isinstance(value, list) and value else [value]
            return all(isinstance(item, str) and item in (*TYPES, "integer") for item in names)
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {True: "true", False: "false", None: "null"}[value]
    return f"{value!r:.60}"
