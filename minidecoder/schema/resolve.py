"""Which schema is meant where: `$id`, `$anchor`, `$ref` and `$dynamicRef` become nodes, once for all.

A node is a schema and an environment: for each `$dynamicAnchor` name, the schema of the first resource
entered that has it. An environment only grows from a node to its children and there are finitely many, so
`$dynamicRef` is decided before any value is seen. Documents come from the caller (`resources`) or, for the
schemas of JSON Schema itself, from the package jsonschema-specifications; nothing is ever fetched.

Left out: what a schema means. Cost: O(size of the documents) once, O(1) a node.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import unquote, urldefrag, urljoin

from minidecoder.errors import SchemaError, UnsupportedFeatureError
from minidecoder.schema.keywords import DRAFTS, check_form, subschemas
from minidecoder.schema.parse import escape, load_schema

__all__ = ["Environment", "Location", "Node", "Resource", "Schema"]


@dataclass(eq=False, slots=True)
class Resource:
    """A schema with a URI of its own, and the anchors inside it."""

    base: str
    draft: int
    dialect: str
    anchors: dict[str, Location] = field(default_factory=dict)
    dynamic: dict[str, Location] = field(default_factory=dict)
    root: Location | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Location:
    """Where a subschema stands. `pointer`: its JSON pointer, after `uri#` in all documents but the first."""

    pointer: str
    value: Any
    resource: Resource
    document: str


Environment: TypeAlias = tuple[tuple[str, Location], ...]


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """A subschema in the environment in which it was reached; each is made once."""

    location: Location
    environment: Environment

    @property
    def schema(self) -> Any:
        """true, false, or the object of keywords."""
        return self.location.value

    @property
    def pointer(self) -> str:
        return self.location.pointer

    @property
    def draft(self) -> int:
        return self.location.resource.draft


class Schema:
    """A schema and the documents it may refer to, indexed. `resources`: URI → schema.

    Raises `SchemaError` with a pointer for what is no schema, `UnsupportedFeatureError` for what its draft
    does not have; with `lenient` such keywords are removed, and listed in `dropped`.
    """

    def __init__(
        self, schema: Any, resources: Mapping[str, Any] | None = None, *, lenient: bool = False
    ) -> None:
        self.lenient = lenient
        self.dropped: dict[tuple[str, str], str] = {}  # (JSON pointer, keyword) → why
        self.written: dict[str, tuple[tuple[str, Any], ...]] = {}  # the keywords at each JSON pointer
        self.misnamed: dict[str, str] = {}  # URI that an `$id` with a fragment may mean → its JSON pointer
        self._resources: dict[str, Resource] = {}
        self._locations: dict[str, Location] = {}
        self._nodes: dict[tuple[Location, Environment], Node] = {}
        self._checked: set[Location] = set()
        top = self._add_document("", "", load_schema(schema))
        self._check_named("")
        for uri, document in (resources or {}).items():
            plain = urldefrag(uri).url
            self._add_document(plain, plain + "#", load_schema(document, plain + "#"))
        self.root = self._node(top, ())

    # -- nodes ----------------------------------------------------------------------------------------

    def child(self, node: Node, *path: str | int) -> Node:
        """The subschema at `path` of the node's schema, such as ("properties", "x")."""
        pointer = node.pointer + "".join(map(escape, path))
        return self._node(self._locations[pointer], node.environment)

    def reference(self, node: Node) -> Node:
        """What the node's `$ref` means. `UnsupportedFeatureError` for a document that was not handed over."""
        return self._node(self._find(node, "$ref")[0], node.environment)

    def dynamic_reference(self, node: Node) -> Node:
        """What `$dynamicRef` means: the outermost schema of its anchor, if the nearest is dynamic too."""
        target, anchor = self._find(node, "$dynamicRef")
        if anchor and anchor in target.resource.dynamic:
            target = dict(node.environment).get(anchor, target)
        return self._node(target, node.environment)

    def node(self, location: Location) -> Node:
        """A subschema as if it were reached first, by itself."""
        return self._node(location, ())

    def locations(self) -> list[Location]:
        """Every subschema of the first document, in the order of its text."""
        return [location for location in self._locations.values() if not location.document]

    def check(self, location: Location) -> None:
        """Raise for a keyword of the wrong form, or of another draft than the schema declares."""
        if location in self._checked:
            return
        self._checked.add(location)
        resource = location.resource
        if not resource.draft:
            remedy = f"{resource.dialect} is no draft that is known here; these are {', '.join(DRAFTS)}"
            pointer = f"{resource.root.pointer if resource.root else ''}/$schema"
            self.drop(UnsupportedFeatureError("$schema", pointer=pointer, remedy=remedy))
        if isinstance(location.value, dict):
            for name, fault in list(check_form(location.value, resource.draft or 2020, location.pointer)):
                self.drop(fault)
                location.value.pop(name, None)  # subtle: a copy of ours, and not read before it was checked

    def drop(self, fault: UnsupportedFeatureError) -> None:
        """Raise, or note what is left out where `lenient`."""
        if not self.lenient:
            raise fault
        self.dropped[fault.pointer or "", fault.feature] = fault.remedy

    def _node(self, location: Location, environment: Environment) -> Node:
        self.check(location)
        known = dict(environment)
        new = {name: target for name, target in location.resource.dynamic.items() if name not in known}
        if new:
            environment = tuple(sorted({**known, **new}.items()))
        key = (location, environment)
        return self._nodes.setdefault(key, Node(location, environment))

    # -- documents ------------------------------------------------------------------------------------

    def _add_document(self, uri: str, prefix: str, value: Any) -> Location:
        dialect = _dialect(value, "https://json-schema.org/draft/2020-12/schema")
        resource = Resource(uri, DRAFTS.get(dialect, 0), dialect)
        self._resources.setdefault(uri, resource)
        self._index(prefix, prefix, value, resource)
        return self._locations[prefix]

    def _index(self, document: str, pointer: str, value: Any, resource: Resource) -> None:
        """Register the subschema at `pointer` and all inside it, with their URIs and anchors."""
        todo = [(pointer, value, resource)]
        while todo:
            pointer, value, resource = todo.pop()
            if pointer in self._locations:
                continue
            resource = self._entered(value, pointer, resource, document)
            location = Location(pointer, value, resource, document)
            self._locations[pointer] = location
            resource.root = resource.root or location
            if isinstance(value, Mapping):
                self.written[pointer] = tuple(value.items())
                self._add_anchors(location)
                found = [
                    (pointer + "".join(map(escape, path)), child, resource)
                    for path, child in subschemas(value, resource.draft or 2020)
                ]
                todo += reversed(found)

    def _entered(self, value: Any, pointer: str, resource: Resource, document: str) -> Resource:
        """The resource of a subschema: a new one where it has an `$id`."""
        identifier = value.get("$id") if isinstance(value, Mapping) else None
        if not isinstance(identifier, str) or (resource.draft in (6, 7) and "$ref" in value):
            return resource
        if resource.draft in (6, 7) and identifier.startswith("#"):
            return resource  # a name, see `_add_anchors`, or a JSON pointer, which says nothing
        uri, fragment = urldefrag(_join(resource.base, identifier))
        dialect = _dialect(value, resource.dialect)
        new = Resource(uri, DRAFTS.get(dialect, 0), dialect)
        if fragment:
            return self._misnamed(resource, new, unquote(fragment), pointer)
        other = self._resources.get(uri)
        if other is None or other.root is None:
            self._resources[uri] = new
        elif other.root.document == document:
            raise SchemaError(f"two schemas have the $id {uri}", pointer + "/$id")
        if resource.root is None and self._resources[resource.base] is resource:
            self._resources[resource.base] = new  # the top of a document answers to both of its URIs
        return new

    def _misnamed(self, outer: Resource, new: Resource, fragment: str, pointer: str) -> Resource:
        """An `$id` must have no fragment (2020-12, 8.2.1): nothing can refer to this one. It is a fault where
        something does, or at the root; elsewhere it means a base for what is inside."""
        names = [new.base]
        if outer.root is None:  # the top of a document
            names.append(outer.base)
        elif new.base == outer.base:
            names, new = [f"{new.base}#{fragment}"], outer
        for name in names:
            self.misnamed.setdefault(name, pointer + "/$id")
        return new

    def _check_named(self, uri: str) -> None:
        if uri in self.misnamed:
            raise SchemaError("an $id must have no fragment: write the name as $anchor", self.misnamed[uri])

    def _add_anchors(self, location: Location) -> None:
        value, resource = location.value, location.resource
        names = [(keyword, value.get(keyword)) for keyword in ("$anchor", "$dynamicAnchor")]
        if resource.draft in (6, 7) and "$ref" not in value and re.match("#[^/]", str(value.get("$id"))):
            names.append(("$id", value["$id"][1:]))
        for keyword, name in names:
            if not isinstance(name, str):
                continue
            if resource.anchors.get(name, location) is not location:
                raise SchemaError(f"two schemas have the anchor {name!r}", f"{location.pointer}/{keyword}")
            resource.anchors[name] = location
            if keyword == "$dynamicAnchor":
                resource.dynamic[name] = location

    # -- references -----------------------------------------------------------------------------------

    def _find(self, node: Node, keyword: str) -> tuple[Location, str]:
        """The schema that a reference names at first sight, and the anchor by which it does, if it does."""
        where = f"{node.pointer}/{keyword}"
        uri, fragment = urldefrag(_join(node.location.resource.base, node.schema[keyword]))
        resource = self._resources.get(uri) or self._published(uri)
        if resource is None or resource.root is None:
            self._check_named(uri)
            remedy = f"nothing is fetched; hand {uri} over as resources={{{uri!r}: schema}}"
            raise UnsupportedFeatureError(keyword, pointer=where, remedy=remedy)
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            if fragment not in resource.anchors:
                self._check_named(f"{uri}#{fragment}")
                raise SchemaError(
                    f"{keyword}: there is no anchor {fragment!r} in {uri or 'the schema'}", where
                )
            return resource.anchors[fragment], fragment
        return self._follow(resource.root, fragment, where), ""

    def _follow(self, start: Location, fragment: str, where: str) -> Location:
        """The schema at a JSON pointer below `start`."""
        nearest, value, pointer = start, start.value, start.pointer
        for step in fragment.split("/")[1:]:
            token = step.replace("~1", "/").replace("~0", "~")
            value, key = _member(value, token, fragment, where)
            pointer += escape(key)
            nearest = self._locations.get(pointer, nearest)
        if pointer not in self._locations:
            if not isinstance(value, bool | Mapping):
                raise SchemaError(f"the reference to {fragment!r} leads to no schema", where)
            self._index(nearest.document, pointer, value, nearest.resource)
        return self._locations[pointer]

    def _published(self, uri: str) -> Resource | None:
        """A schema of JSON Schema itself, where jsonschema-specifications is installed."""
        if not uri.startswith(("https://json-schema.org/draft/", "http://json-schema.org/draft-")):
            return None
        try:
            from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]
        except ImportError:
            return None
        if uri not in REGISTRY and uri + "#" not in REGISTRY:
            return None
        contents = REGISTRY.contents(uri if uri in REGISTRY else uri + "#")
        self._add_document(uri, uri + "#", load_schema(contents, uri + "#"))
        return self._resources[uri]


def _dialect(value: Any, otherwise: str) -> str:
    declared = value.get("$schema") if isinstance(value, Mapping) else None
    return declared.removesuffix("#") if isinstance(declared, str) else otherwise


def _join(base: str, reference: str) -> str:
    # subtle: urljoin("urn:a", "#b") is "#b"; it knows only some schemes to have a hierarchy.
    if reference.startswith("#") or not reference:
        return urldefrag(base).url + reference
    return urljoin(base, reference)


def _member(value: Any, token: str, fragment: str, where: str) -> tuple[Any, str | int]:
    if isinstance(value, list) and token.isdecimal() and int(token) < len(value):
        return value[int(token)], int(token)
    if isinstance(value, Mapping) and token in value:
        return value[token], token
    raise SchemaError(f"the reference to {fragment!r} leads nowhere: there is no {token!r}", where)
