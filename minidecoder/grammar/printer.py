r"""Rules → GBNF text: what a grammar became when left recursion and empty repetitions were taken out.

    expr ::= expr "+" term | term           expr ::= term ("+" term)*

The text reads as it is written, by llama.cpp and XGrammar too, but for the names of rules that were added,
which carry a prime. Left out: comments and the author's layout, which stand in `Grammar.source`.
Cost: O(length of the text); a part that several places share is printed at each.
"""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from typing import Final

from minidecoder.grammar.rules import CharClass, Choice, Expr, Grammar, Literal, Reference, Repeat, Sequence
from minidecoder.regex.charset import ANY, Ranges, negate

__all__ = ["class_text", "expr_text", "to_gbnf"]

_SIGNS: Final = {(0, None): "*", (1, None): "+", (0, 1): "?"}
_NAMED: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}


def to_gbnf(grammar: Grammar) -> str:
    """One line for each rule, in the order of the author's text."""
    names = [rule.name for rule in grammar.rules]
    ordered = sorted(grammar.rules, key=lambda rule: (rule.line, rule.column))
    return "".join(f"{rule.name} ::= {expr_text(rule.body, names)}\n" for rule in ordered)


def expr_text(expr: Expr, names: SequenceOf[str]) -> str:
    """The expression in GBNF; `names[i]` is the name of rule i. Without recursion."""
    written: list[str] = []
    pending: list[Expr | str] = [expr]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            written.append(item)
        else:
            pending.extend(reversed(_pieces(item, names)))
    return "".join(written)


def _pieces(node: Expr, names: SequenceOf[str]) -> list[Expr | str]:
    """A node as text and the nodes in between."""
    match node:
        case Literal(text, _):
            return [f'"{_escaped(text, chr(34))}"']
        case CharClass(ranges, _):
            return [class_text(ranges)]
        case Reference(rule, _):
            return [names[rule]]
        case Repeat(body, least, most, _):
            braces = f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}"
            return [*_grouped(body, (Choice, Sequence, Repeat)), _SIGNS.get((least, most), braces)]
        case Choice(options, _):
            return _joined([[option] for option in options], " | ") if options else ["[]"]
        case Sequence(parts, _):
            return _joined([_grouped(part, (Choice,)) for part in parts], " ") if parts else ['""']


def _grouped(node: Expr, kinds: tuple[type, ...]) -> list[Expr | str]:
    """The node, in brackets where it is of a kind that binds more loosely than its place."""
    is_empty = isinstance(node, Sequence) and not node.parts
    return ["(", node, ")"] if isinstance(node, kinds) and not is_empty else [node]


def _joined(groups: list[list[Expr | str]], between: str) -> list[Expr | str]:
    return [item for group in groups for item in (between, *group)][1:]


def class_text(ranges: Ranges) -> str:
    """A set of characters as a class, negated where that is shorter."""
    if ranges == ANY:
        return "."
    others = negate(ranges)
    return f"[^{_members(others)}]" if len(others) < len(ranges) else f"[{_members(ranges)}]"


def _members(ranges: Ranges) -> str:
    return "".join(
        _member(low) if low == high else f"{_member(low)}{'-' * (high > low + 1)}{_member(high)}"
        for low, high in ranges
    )


def _member(code: int) -> str:
    return f"\\x{code:02X}" if chr(code) in "-^" else _escaped(chr(code), "]")


def _escaped(text: str, quote: str) -> str:
    return "".join(_character(char, quote) for char in text)


def _character(char: str, quote: str) -> str:
    if char in _NAMED or char == quote:
        return _NAMED.get(char, f"\\{quote}")
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"
