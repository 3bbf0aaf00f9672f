"""A finished picture: shows itself in a notebook, and is saved as SVG, PNG or PDF.

Left out: how it came about (`graph`, `stack_graph`). Cost: SVG is there; PNG and PDF are one call of `dot`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minidecoder.errors import MissingDependencyError, UsageError
from minidecoder.viz.layout import run_dot, write_file

__all__ = ["Drawing"]


@dataclass(frozen=True)
class Drawing:
    """`svg` is whole in itself; `text` says the same in lines; `dot` is what graphviz was given, with a place
    for everything."""

    svg: str
    text: str
    dot: str

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"image/svg+xml": self.svg, "text/plain": self.text}

    def save(self, path: str | Path) -> Path:
        """Write .svg, and where `dot` is installed also .png (at 192 dpi) or .pdf; the path comes back.
        `UsageError` for another ending, where `dot` is missing, and where the file cannot be written."""
        kind = str(path).lower().rpartition(".")[2]
        if kind not in ("svg", "png", "pdf"):
            raise UsageError(f"a machine is saved as .svg, .png or .pdf, not '.{kind:.20}'")
        return write_file(path, self.svg.encode() if kind == "svg" else self._by_dot(kind))

    def _by_dot(self, kind: str) -> bytes:
        try:
            return run_dot(self.dot.replace("digraph {", "digraph { dpi=192", 1), kind)
        except MissingDependencyError:
            remedy = "apt install graphviz, or brew install graphviz; .svg needs nothing"
            raise UsageError(f"a .{kind} is written by Graphviz's dot, which is missing: {remedy}") from None
