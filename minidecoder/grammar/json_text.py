"""Any JSON text, as a grammar: RFC 8259, with a choice of white space and of escapes.

What the standard leaves open (the `i_` files of the public parsing suite) is decided like this:

| question                                    | here     | because                                    |
| ------------------------------------------- | -------- | ------------------------------------------ |
| numbers too large or small for a float      | accepted | they are numbers; readers may round them   |
| an escape of half a surrogate pair, `\\ud8..` | accepted | the grammar of the standard allows it      |
| bytes that are no UTF-8, raw surrogates     | refused  | a text is UTF-8                            |
| a byte order mark, UTF-16                   | refused  | the standard says not to write them        |
| 500 nested arrays                           | accepted | `max_depth` is 10,000                      |

Left out: schemas (`schema`). Cost: that of a grammar of ten rules.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from minidecoder.errors import UsageError

__all__ = ["WHITESPACE", "Escapes", "Whitespace", "json_grammar"]

Whitespace: TypeAlias = Literal["any", "flexible", "compact", "spaced"]
Escapes: TypeAlias = Literal["any", "canonical"]

_SPACE: Final = {"any": r"[ \t\n\r]*", "flexible": r"[ \t\n\r]{0,20}", "compact": '""', "spaced": '""'}
WHITESPACE: Final = tuple(_SPACE)
_ESCAPE: Final = {
    "any": r'["\\/bfnrt] | "u" [0-9a-fA-F]{4}',
    # One spelling for each character that needs one: \u00 only where there is no shorter escape.
    "canonical": r'["\\bfnrt] | "u00" ("0" [0-7be-f] | "1" [0-9a-f])',
}

_GRAMMAR: Final = r"""
root   ::= {root}
value  ::= object | array | string | number | "true" | "false" | "null"
object ::= "{{" ws (member (comma member)* ws)? "}}"
member ::= string colon value
array  ::= "[" ws (value (comma value)* ws)? "]"
comma  ::= {comma}
colon  ::= {colon}
string ::= "\"" ([^"\\\x00-\x1f] | "\\" escape)* "\""
escape ::= {escape}
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [+-]? [0-9]+)?
ws     ::= {space}
"""


def json_grammar(whitespace: Whitespace = "any", escapes: Escapes = "any", root: str = "value") -> str:
    """The grammar in GBNF; `root` may be `"object"`. `UsageError` for another white space or escapes."""
    for name, given, known in (("whitespace", whitespace, _SPACE), ("escapes", escapes, _ESCAPE)):
        if given not in known:
            raise UsageError(f"{name}={given!r}: it is one of {', '.join(map(repr, known))}")
    spaced = whitespace == "spaced"
    return _GRAMMAR.format(
        root=f"ws {root} ws" if whitespace == "any" else root,  # a model that is done should end
        comma='", "' if spaced else 'ws "," ws',
        colon='": "' if spaced else 'ws ":" ws',
        escape=_ESCAPE[escapes],
        space=_SPACE[whitespace],
    ).lstrip()
