"""The verdict on a token: a closed list of kinds, and with each the evidence that proves it.

The kinds are tried in their order and the first that applies is given: what the text forbids comes before
what a budget, a ban or a step of the sampling takes away. `ALLOWED` is what is left.

Left out: finding the verdict (`explain`, `explain_step`). Cost: plain data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from minidecoder.automaton import State

__all__ = ["Kind", "Piece", "Verdict"]


class Kind(Enum):
    """What a verdict says, in the order in which they are tried."""

    TERMINATED = "the text has ended"
    NOT_A_TOKEN = "an id without text"
    SPECIAL_TOKEN = "a special token"
    EOS_TOO_EARLY = "the text cannot end here"
    ONLY_EOS_LEFT = "only the end is left"
    DEAD_AT_BYTE = "a byte that nothing can follow"
    DEAD_END = "no tokens could finish it"
    OVER_BUDGET = "too few tokens would be left to finish"
    BANNED = "banned by banned_ids"
    CUT_BY_SAMPLING = "cut by a step of the sampling"
    ALLOWED = "allowed"


class Piece(NamedTuple):
    """A piece of a grammar or a schema that may be read next: what is written there (`text`), the rule it
    belongs to, and where it stands ("line 6, column 49", or a JSON pointer)."""

    text: str
    rule: str
    where: str


@dataclass(frozen=True)
class Verdict:
    """`sentence` is for people; the evidence of the other kinds is empty.

    `path`: the state after each byte, DEAD last where one dies. DEAD_AT_BYTE: `live_bytes`, what would have
    lived where it died, of a grammar `expected`, and of a schema `keywords`, JSON pointers of those of which
    each alone blocks the token. EOS_TOO_EARLY: `completion`, an ending, which is a
    shortest where the machine has a table; `b""` where none was found. OVER_BUDGET: `tokens_needed`, the
    token and EOS counted, None where no way to the end is known, and `tokens_left`. CUT_BY_SAMPLING: `rule`,
    the step's name, `threshold`, its setting, and `rank`, the token's place (from 1) in the row that the step
    was given.
    """

    kind: Kind
    sentence: str
    path: tuple[State, ...] = ()
    live_bytes: tuple[int, ...] = ()
    completion: bytes = b""
    expected: tuple[Piece, ...] = ()
    keywords: tuple[str, ...] = ()
    tokens_needed: int | None = None
    tokens_left: int | None = None
    rule: str | None = None
    threshold: float | None = None
    rank: int | None = None
    # What keeps the states of `path` alive where the machine forgets those that nobody holds.
    _held: tuple[object, ...] = field(default=(), repr=False, compare=False)

    @property
    def is_allowed(self) -> bool:
        return self.kind is Kind.ALLOWED
