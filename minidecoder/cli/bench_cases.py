r"""What the benchmark measures: patterns, each with a text that matches it and one that does not.

Engines disagree on what `\d` (all of Unicode, or ASCII) and `.` (newline or not) mean, so every pattern is
spelled in the part of the syntax that means the same in all of them: `[0-9]` for `\d`, `[^\n]` for `.`.
Two texts per case keep an engine honest: one that must pass token by token, and one that must not.

A case belongs to a family, and an engine says which families it knows. Left out: the cases of grammars
and schemas (`bench_grammars`, `bench_schemas`), and how a case is run (`bench_engines`, `bench_measure`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

__all__ = ["CASES", "FAMILIES", "MASKS", "SPELLING", "Case", "Family"]

Family: TypeAlias = Literal["regex", "grammar", "schema"]
FAMILIES: Final[tuple[Family, ...]] = ("regex", "grammar", "schema")

MASKS: Final = 200
"""The masks that one timed run asks for."""

SPELLING: Final = r"All engines get one spelling that means the same in each: [0-9] for \d, [^\n] for `.`."


@dataclass(frozen=True)
class Case:
    """`source` is what engines compile: a pattern, GBNF, or a schema as JSON; `text` matches it as a whole,
    `refused` does not; `lark`: a grammar for who reads no GBNF."""

    name: str
    source: str
    text: str
    refused: str
    family: Family = "regex"
    lark: str = ""


_STRING_CHARACTER: Final = r'([^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})'
_EMAIL: Final = r"[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,6}"
_OBJECT: Final = (
    rf'\{{"name": "{_STRING_CHARACTER}{{0,60}}", "age": (0|[1-9][0-9]{{0,2}}), "email": "{_EMAIL}", '
    r'"active": (true|false), "role": "(admin|user|guest)", "score": [0-9]+\.[0-9]{2}\}'
)
_URL: Final = (
    r"https?://(www\.)?[-a-zA-Z0-9@:%._+~#=]{1,256}\.[a-zA-Z0-9()]{1,6}([-a-zA-Z0-9()@:%_+.~#?&/=]*)"
)
_ADA: Final = '{"name": "Ada Lovelace", "age": 36, "email": "ada@example.org", "active": true, "role": '

CASES: Final = (
    Case("price", r"[0-9]+\.[0-9]{2}", "12.50", "12.5"),
    Case("phone", "[0-9]{3}-[0-9]{3}-[0-9]{4}", "415-555-2671", "415-5555-267"),
    Case("date", "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])", "2024-02-29", "2024-13-01"),
    Case("email", _EMAIL, "ada.lovelace@example.org", "ada.lovelace@example"),
    Case("json-string", f'"{_STRING_CHARACTER}*"', r'"a caf\u00e9, a\nline and a ☕"', '"a\nline"'),
    Case("any-100", r"[^\n]{1,100}", "The quick brown fox jumps over the lazy dog.", "two\nlines"),
    Case("object", _OBJECT, f'{_ADA}"admin", "score": 12.50}}', f'{_ADA}"owner", "score": 12.50}}'),
    Case("url", _URL, "https://www.example.org/a/b?x=1#top", "ftp://www.example.org"),
)
