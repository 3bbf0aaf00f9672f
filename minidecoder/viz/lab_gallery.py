r"""What the lab offers to begin with: nine constraints, each with a prompt and the sources that can spell it.

Left out: running them (`lab_run`). Cost: reading two small files, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

__all__ = ["Example", "gallery"]

_TEXT: Final = ("pieces", "tekken", "smollm2")
_NESTED: Final = r"""
# Lists in lists, as deep as you like: no machine with a fixed number of states can count them.
root ::= list
list ::= "[" (item (", " item)*)? "]"
item ::= list | [0-9]
"""


@dataclass(frozen=True)
class Example:
    """`sources`: the names of those whose tokens can spell it, the one that shows it best first."""

    name: str
    title: str
    kind: str
    text: str
    prompt: str = ""
    sources: Sequence[str] = _TEXT
    max_tokens: int = 64

    def described(self) -> dict[str, Any]:
        return {**asdict(self), "sources": list(self.sources)}


@cache
def gallery() -> tuple[Example, ...]:
    """The examples, in the order in which they are offered."""
    return (
        Example("price", "a price", "regex", r"[0-9]+\.[0-9]{2}", "", ("nine", *_TEXT), 16),
        Example("age", "an age", "regex", r"[1-9][0-9]?|0", "", ("nine", *_TEXT), 8),
        Example(
            "phone", "a phone number", "regex", r"[0-9]{3}-[0-9]{3}-[0-9]{4}", "A phone number is ", _TEXT, 16
        ),
        Example(
            "date",
            "a date",
            "regex",
            r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])",
            "The meeting is on ",
            _TEXT,
            16,
        ),
        Example(
            "email",
            "an e-mail address",
            "regex",
            r"[a-z0-9._%+-]{1,20}@[a-z0-9-]{1,20}\.[a-z]{2,6}",
            "My address is ",
            _TEXT,
            48,
        ),
        Example(
            "label",
            "one of three labels",
            "regex",
            "positive|negative|neutral",
            'The review says: "The tea was cold, and nobody came." Label: ',
            _TEXT,
            16,
        ),
        Example("review", "a review as JSON", "schema", _shipped("schema", "review.json"), "", _TEXT, 160),
        Example("nested", "lists in lists", "grammar", _NESTED.lstrip(), "", _TEXT, 64),
        Example(
            "sql", "a SELECT statement", "grammar", _shipped("grammar", "sql_select.gbnf"), "", _TEXT, 64
        ),
    )


def _shipped(package: str, name: str) -> str:
    folder = files(f"minidecoder.{package}").joinpath("examples")
    return folder.joinpath(name).read_text(encoding="utf-8").strip()
