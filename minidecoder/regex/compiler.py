"""A pattern to its minimal character DFA: the whole way, in one call.

`dialect="python"` is `re` for `str` patterns; `"ecma"` is what JSON Schema's `pattern` is written in.
`match="full"`: the whole text must match; `"search"`: some part of it must, as in JSON Schema.

Left out: bytes (`utf8`). Cost: parsing O(length), then that of `dfa`; look-ahead compiles what
follows it once more and multiplies the machines.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from minidecoder.errors import UsageError
from minidecoder.regex import ecma, syntax
from minidecoder.regex.dfa import DFA, compile_tree
from minidecoder.regex.limits import Limits
from minidecoder.regex.literals import dfa_of_texts, literal_texts
from minidecoder.regex.lookahead import ANYTHING, remove_lookahead
from minidecoder.regex.tree import Concat

__all__ = ["Dialect", "Match", "compile_dfa"]

Dialect: TypeAlias = Literal["python", "ecma"]
Match: TypeAlias = Literal["full", "search"]

_PARSERS: Final = {"python": syntax.parse, "ecma": ecma.parse}


def compile_dfa(
    pattern: str,
    *,
    dialect: Dialect = "python",
    match: Match = "full",
    limits: Limits | None = None,
) -> DFA:
    """The minimal DFA of a pattern.

    Raises `RegexSyntaxError` and `UnsupportedFeatureError` with a position, `ConstraintTooLargeError` with
    the limit, `UsageError` for another dialect or match.
    """
    if not isinstance(pattern, str):
        raise UsageError(f"the pattern must be a str, not {type(pattern).__name__}")
    if dialect not in tuple(_PARSERS):
        raise UsageError(f"dialect={dialect!r}: the dialects are 'python' and 'ecma'")
    if match not in ("full", "search"):
        raise UsageError(f"match={match!r}: it is 'full' or 'search'")
    limits = limits or Limits()
    tree = _PARSERS[dialect](pattern, limits)
    if match == "search":
        tree = Concat((ANYTHING, tree, ANYTHING))
    texts = literal_texts(tree)
    if texts is not None:
        return dfa_of_texts(texts, limits)
    return compile_tree(remove_lookahead(tree, pattern, limits), limits)
