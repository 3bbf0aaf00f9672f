"""Graphviz's SVG made fit for a page: no prolog, in pixels, in our fonts, every part with its title.

It asks for Helvetica and Courier, of which graphviz knows the widths without a font; a page has better ones.
Labels of sets of characters are written strictly from left to right, whatever the script.

Left out: what is drawn (`dot_source`). Cost: one parse, a few milliseconds.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from typing import Final
from xml.etree import ElementTree

from minidecoder.viz.placed import printable
from minidecoder.viz.theme import MONO, SANS

__all__ = ["tidy"]

_SVG: Final = "{http://www.w3.org/2000/svg}"
_RTL: Final = ("R", "AL")


def tidy(
    svg: str,
    description: str,
    titles: Mapping[str, str],
    bead_names: Mapping[str, float] | None = None,
    named: Collection[str] = (),
) -> str:
    """`titles`: by id, what a node or edge is called when pointed at; the others lose theirs. `bead_names`:
    how far beneath each bead its name is written, seen where it is among the `named`."""
    ElementTree.register_namespace("", _SVG[1:-1])
    root = ElementTree.fromstring(svg[svg.index("<svg") :])
    width, height = (float(n) for n in root.attrib["viewBox"].split()[2:])
    root.attrib.update(width=f"{width:.0f}", height=f"{height:.0f}", role="img")
    root.attrib.update({"class": "machine", "aria-label": description})
    origin = root.find(_SVG + "g")
    assert origin is not None
    for group in origin.findall(_SVG + "g"):
        if group.get("class") == "node bead-name":  # for PNG and PDF; here the bead's group has it
            origin.remove(group)
    for group in root.iter(_SVG + "g"):
        _set_title(group, titles.get(group.get("id", ""), ""))
    by_id = {group.get("id"): group for group in root.iter(_SVG + "g")}
    for name, drop in (bead_names or {}).items():
        _name_bead(by_id[f"state-{printable(name)}"], printable(name), drop, name in named)
    for group in root.iter(_SVG + "g"):
        for text in group.findall(_SVG + "text"):
            _set_font(text, is_set="reads" in group.get("class", ""))
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


def _name_bead(group: ElementTree.Element, name: str, drop: float, is_seen: bool) -> None:
    ring = group.find(_SVG + "ellipse")
    assert ring is not None
    place = {"x": ring.attrib["cx"], "y": f"{float(ring.attrib['cy']) + drop:.2f}"}
    shown = {"visibility": "visible" if is_seen else "hidden"}
    text = ElementTree.SubElement(group, _SVG + "text", place, **shown, **{"text-anchor": "middle"})
    text.attrib.update({"font-size": "14", "fill": ring.attrib["stroke"]})
    text.text = name


def _set_font(text: ElementTree.Element, is_set: bool) -> None:
    is_label = "Courier" in text.get("font-family", "")
    text.set("font-family", MONO if is_label else SANS)
    written = text.text or ""
    if any(unicodedata.bidirectional(char) in _RTL for char in written):
        # subtle: "א–ת" would be turned round as a word is, and name the range from its end; two tokens in a
        # row would change places, so a mark that reads from the left stands between them.
        text.set("direction", "ltr")
        text.set("unicode-bidi", "bidi-override" if is_set else "embed")
        text.text = written if is_set else written.replace(" ", " \u200e")
