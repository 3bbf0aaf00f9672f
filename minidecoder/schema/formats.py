"""The formats that can be enforced: each a regular expression of our own and, for some, a longest length.

Ten names: date, time, date-time, duration (`formats_time`), email, hostname, ipv4, ipv6, uri, uuid
(`formats_network`). Whatever is accepted is valid by its RFC; where fewer strings are accepted than the RFC
has, the two modules say so.

The length is kept apart because `strings` counts it beside the automaton: the 253 characters of a host name
times the 63 of its labels would be 16,000 states. Left out: all other formats, which are annotations.
Cost: each is compiled once, when it is first asked for.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from minidecoder.errors import UsageError
from minidecoder.regex.charset import Ranges
from minidecoder.regex.compiler import compile_dfa
from minidecoder.regex.dfa import DFA, compile_tree
from minidecoder.regex.operations import intersect
from minidecoder.regex.syntax import parse
from minidecoder.regex.tree import Concat, Machine
from minidecoder.schema import formats_network, formats_time
from minidecoder.schema.lengths import ALL, Lengths

__all__ = ["FORMATS", "format_dfa", "format_lengths"]

_PATTERNS: Final = {
    "date": formats_time.DATE,
    "time": formats_time.TIME,
    "date-time": formats_time.DATE_TIME,
    "duration": formats_time.DURATION,
    "hostname": formats_network.HOSTNAME,
    "ipv4": formats_network.IPV4,
    "ipv6": formats_network.IPV6,
    "uri": formats_network.URI,
    "uuid": formats_network.UUID,
}
_LENGTHS: Final[dict[str, Lengths]] = {"hostname": ((1, 253),), "email": ((3, 254),)}

_LOCAL_PART: Final = "(?s:.){1,64}"  # of an email

FORMATS: Final = frozenset([*_PATTERNS, "email"])
"""The names that `format_dfa` knows."""


@cache
def format_dfa(name: str) -> DFA:
    """The automaton of a format over characters, its longest length aside. `UsageError` for another name."""
    _check(name)
    return _email() if name == "email" else compile_dfa(_PATTERNS[name])


def format_lengths(name: str) -> Lengths:
    """The lengths that a string of the format may have besides."""
    _check(name)
    return _LENGTHS.get(name, ALL)


def _email() -> DFA:
    """The local part counts to 64 and then forgets it; beside the host, the count would be kept on."""
    local = intersect(compile_dfa(formats_network.EMAIL_LOCAL), compile_dfa(_LOCAL_PART))
    edges: list[list[tuple[Ranges, int]]] = [[] for _ in range(len(local))]
    for source, ranges, target in local.edges():
        edges[source - 1].append((ranges, target - 1))
    machine = Machine(tuple(map(tuple, edges)), tuple(local.accepting[1:].tolist()))
    return compile_tree(Concat((machine, parse(formats_network.EMAIL_REST))))


def _check(name: str) -> None:
    if name not in FORMATS:
        raise UsageError(f"format={name!r}: those that can be enforced are {', '.join(sorted(FORMATS))}")
