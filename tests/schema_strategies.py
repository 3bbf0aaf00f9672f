"""Random schemas and instances from one small world, so that they meet: three names, a few values."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

NAMES = ["a", "b", "ab"]
PATTERNS = ["a", "^b", "^ab?$", "^[^a]*$"]
SCALARS: list[Any] = [None, True, False, 0, 1, 2, -1, 1.5, 0.5, 3, "", "a", "b", "ab", "abc"]
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]

scalars = st.sampled_from(SCALARS)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*NAMES, "c"]), inner, max_size=3)
    ),
    max_leaves=6,
)
sizes = st.sampled_from([0, 1, 2, 2.0, 3])
numbers = st.sampled_from([-1, 0, 0.5, 1, 1.5, 2])


def keywords(inner: st.SearchStrategy[Any], *, references: bool) -> dict[str, st.SearchStrategy[Any]]:
    """Every keyword, with a strategy for its value."""
    maps = st.dictionaries(st.sampled_from(NAMES), inner, min_size=1, max_size=2)
    lists = st.lists(inner, min_size=1, max_size=3)
    found = {
        "type": st.sampled_from(TYPES)
        | st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True),
        "enum": st.lists(values, max_size=3),
        "const": values,
        "minimum": numbers,
        "maximum": numbers,
        "exclusiveMinimum": numbers,
        "exclusiveMaximum": numbers,
        "multipleOf": st.sampled_from([0.5, 1, 1.5, 2]),
        "minLength": sizes,
        "maxLength": sizes,
        "pattern": st.sampled_from(PATTERNS),
        "prefixItems": lists,
        "items": inner,
        "contains": inner,
        "minContains": sizes,
        "maxContains": sizes,
        "minItems": sizes,
        "maxItems": sizes,
        "unevaluatedItems": inner,
        "properties": maps,
        "patternProperties": st.dictionaries(st.sampled_from(PATTERNS), inner, min_size=1, max_size=2),
        "additionalProperties": inner,
        "propertyNames": inner,
        "required": st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
        "minProperties": sizes,
        "maxProperties": sizes,
        "dependentRequired": st.dictionaries(
            st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=2, unique=True), max_size=2
        ),
        "dependentSchemas": maps,
        "unevaluatedProperties": inner,
        "allOf": lists,
        "anyOf": lists,
        "oneOf": lists,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
    }
    if references:
        found["$ref"] = st.sampled_from(["#", "#/$defs/d", "#/$defs/e"])
    return found


@st.composite
def _objects(draw: st.DrawFn, inner: st.SearchStrategy[Any], references: bool) -> dict[str, Any]:
    choices = keywords(inner, references=references)
    names = draw(st.lists(st.sampled_from(sorted(choices)), max_size=4, unique=True))
    if draw(st.booleans()):  # keywords that act together are rare together by chance
        group = [
            ["properties", "required", "additionalProperties"],
            ["anyOf", "unevaluatedProperties"],
            ["if", "then", "else", "unevaluatedItems"],
            ["contains", "minContains", "maxContains"],
            ["oneOf", "properties", "unevaluatedProperties"],
            ["prefixItems", "contains", "unevaluatedItems"],
            ["allOf", "patternProperties", "unevaluatedProperties"],
            ["propertyNames", "minProperties"],
        ]
        names = list(dict.fromkeys(names + draw(st.sampled_from(group))))
    return {name: draw(choices[name]) for name in names}


def schemas(*, references: bool = False) -> st.SearchStrategy[Any]:
    """A schema; with `references`, it has $defs d and e, to which it refers, and to itself."""
    leaf = (
        st.booleans()
        | st.sampled_from([{"type": name} for name in TYPES])
        | scalars.map(lambda v: {"const": v})
    )
    inner = st.recursive(leaf, lambda deeper: _objects(deeper, references), max_leaves=6)
    if not references:
        return _objects(inner, False)
    defs = st.fixed_dictionaries({"d": inner, "e": inner})
    return st.tuples(_objects(inner, True), defs).map(lambda pair: {**pair[0], "$defs": pair[1]})
