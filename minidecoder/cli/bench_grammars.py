r"""What the benchmark measures of grammars: the shipped ones, each with a text of 200 tokens.

xgrammar reads the same text as minidecoder. llguidance reads Lark, with a lexer below the rules, so each
grammar is told a second time here, with the same language: its terminals are regular expressions.
The texts are made, not written: statement after statement, the last one filled up to 200 tokens with EOS.

Left out: the other families (`bench_cases`, `bench_schemas`), and who compiles what (`bench_peers`).
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Final

from minidecoder.cli.bench_cases import Case

__all__ = ["GRAMMARS"]

_JSON_LARK: Final = r"""
start: ws value ws
value: object | array | STRING | NUMBER | "true" | "false" | "null"
object: "{" ws (member (ws "," ws member)* ws)? "}"
member: STRING ws ":" ws value
array: "[" ws (value (ws "," ws value)* ws)? "]"
ws: WS?
STRING: /"([^"\\\x00-\x1F]|\\(["\\\/bfnrt]|u[0-9a-fA-F]{4}))*"/
NUMBER: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/
WS: /[ \t\n\r]+/
"""

_ARITHMETIC_LARK: Final = r"""
start: space sum
sum: sum SIGN space product | product
product: product OPERATOR space signed | signed
signed: "-" space signed | power
power: atom ("^" space signed)?
atom: NUMBER space | NAME space call? | "(" space sum ")" space
call: "(" space (sum ("," space sum)*)? ")" space
space: SPACE?
SIGN: /[+\-]/
OPERATOR: /[*\/]/
NUMBER: /(0|[1-9][0-9]*)(\.[0-9]+)?/
NAME: /[a-zA-Z_][a-zA-Z0-9_]*/
SPACE: / +/
"""

_SQL_RULES: Final = r"""
start: select ws ";"?
select: SELECT s (DISTINCT s)? column (ws "," ws column)* s FROM s source (s join)* (s WHERE s condition)? (s GROUP s BY s values (s HAVING s condition)?)? (s ORDER s BY s order (ws "," ws order)*)? (s LIMIT s INTEGER (s OFFSET s INTEGER)?)?
column: "*" | NAME ".*" | value (s AS s NAME)?
source: (NAME | "(" ws select ws ")") (s AS s NAME)?
join: (INNER s | LEFT s (OUTER s)?)? JOIN s source s ON s condition
order: value (s (ASC | DESC))?
condition: condition s OR s both | both
both: both s AND s negated | negated
negated: NOT s negated | EXISTS ws "(" ws select ws ")" | test
test: value (ws COMPARISON ws value | s IS s (NOT s)? NULL | s (NOT s)? among)?
among: LIKE s STRING | BETWEEN s value s AND s value | IN ws "(" ws (select | values) ws ")"
values: value (ws "," ws value)*
value: value (ws "+" ws | s "-" s) term | term
term: term ws TIMES ws atom | atom
atom: number | STRING | NULL | NAME ("." NAME)? | call | "(" ws (condition | select) ws ")"
call: NAME "(" ws ("*" | (DISTINCT s)? values)? ws ")"
number: "-"? INTEGER FRACTION?
s: SPACE
ws: SPACE?
COMPARISON: "=" | "<>" | "!=" | "<=" | ">=" | "<" | ">"
TIMES: /[*\/%]/
NAME: /[A-Za-z_][A-Za-z0-9_]*|"[^"\x00-\x1F]+"/
STRING: /'([^'\x00-\x1F]|'')*'/
INTEGER: /0|[1-9][0-9]*/
FRACTION: /\.[0-9]+/
SPACE: /[ \t\n]+/
"""  # noqa: E501
_SQL_WORDS: Final = (
    "SELECT DISTINCT FROM AS INNER LEFT OUTER JOIN ON WHERE GROUP BY HAVING ORDER ASC DESC LIMIT OFFSET "
    "OR AND NOT EXISTS IS NULL LIKE BETWEEN IN"
)
_SQL_LARK: Final = _SQL_RULES + "".join(f'{w}: "{w}" | "{w.lower()}"\n' for w in _SQL_WORDS.split())


def _json_text() -> str:
    users = [
        {
            "id": 100 + n,
            "name": f"User {n} Smith",
            "tags": ["alpha", "beta"][: n % 3],
            "score": round(n * 1.37, 2),
            "nested": {"ok": n % 2 == 0, "none": None, "list": [[1, 2], [n]]},
        }
        for n in range(3)
    ]
    return json.dumps(
        [*users, "a café, and then there is no more to say, which is why it ends right here"],
        ensure_ascii=False,
    )


def _arithmetic_text() -> str:
    terms = [f"max({n}, x_{n} * (y + {n / 8}))^2 - -foo{n}(a, b / {n + 3})" for n in range(6)]
    return " + ".join([*terms, "((z))", "1 - 2 + 3"])


def _sql_text() -> str:
    columns = ", ".join(f"u.name_{n} AS n{n}" for n in range(6))
    joins = " ".join(
        f"LEFT JOIN orders AS o{n} ON u.id = o{n}.user_id AND o{n}.price > {n}.5" for n in range(3)
    )
    where = (
        "age >= 18 AND city IN ('Oslo', 'Bern') OR NOT note LIKE '%it''s%' AND u.x IS NOT NULL AND y < 1 / 2"
    )
    tail = "GROUP BY name HAVING count(*) > 3 ORDER BY n DESC, age LIMIT 10 OFFSET 20;"
    return f"SELECT DISTINCT {columns}, sum(price * 2 - 1) FROM users AS u {joins} WHERE {where} {tail}"


def _shipped(name: str) -> str:
    return files("minidecoder.grammar").joinpath("examples", f"{name}.gbnf").read_text(encoding="utf-8")


_JSON, _ARITHMETIC, _SQL = _json_text(), _arithmetic_text(), _sql_text()

GRAMMARS: Final = (
    Case("json", _shipped("json"), _JSON, _JSON[:-1] + "}", "grammar", _JSON_LARK),
    Case(
        "arithmetic",
        _shipped("arithmetic"),
        _ARITHMETIC,
        _ARITHMETIC + ")",
        "grammar",
        _ARITHMETIC_LARK,
    ),
    Case(
        "sql-select", _shipped("sql_select"), _SQL, _SQL.replace("OFFSET 20", "OFFSET"), "grammar", _SQL_LARK
    ),
)
