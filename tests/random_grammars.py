"""Grammars as plain tuples, their text in GBNF, and their language by brute force.

The language is the least solution of the rules as equations between sets of short texts: it knows nothing of
parsers, automata or stacks, so it can judge them.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Expression = tuple[Any, ...]

LEAVES = st.one_of(
    st.text("ab", min_size=0, max_size=2).map(lambda text: ("literal", text)),
    st.sampled_from(["a", "ab", "bc", "é"]).map(lambda chars: ("class", chars)),
    st.integers(0, 2).map(lambda index: ("rule", index)),
)


def _larger(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    bounds = st.sampled_from([(0, 1), (0, None), (1, None), (2, 2), (0, 2), (1, 3), (2, None)])
    return st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: ("sequence", tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: ("choice", tuple(parts))),
        st.tuples(inner, bounds).map(lambda pair: ("repeat", pair[0], *pair[1])),
    )


def grammars() -> st.SearchStrategy[tuple[Expression, ...]]:
    """Three rules, of which the first is the root; left recursion and useless rules included."""
    body = st.recursive(LEAVES, _larger, max_leaves=6)
    return st.tuples(body, body, body)


def text_of(rules: tuple[Expression, ...]) -> str:
    """The grammar in GBNF."""
    return "".join(f"{_name(i)} ::= {_text(body)}\n" for i, body in enumerate(rules))


def _name(index: int) -> str:
    return "root" if index == 0 else f"r{index}"


def _text(body: Expression) -> str:
    match body:
        case ("literal", text):
            return f'"{text}"'
        case ("class", chars):
            return f"[{chars}]"
        case ("rule", index):
            return _name(index)
        case ("sequence", parts):
            return "(" + " ".join(map(_text, parts)) + ")"
        case ("choice", parts):
            return "(" + " | ".join(map(_text, parts)) + ")"
        case ("repeat", inner, least, most):
            return f"({_text(inner)}){{{least},{'' if most is None else most}}}"
    raise AssertionError(body)


def language(rules: tuple[Expression, ...], longest: int) -> set[str]:
    """All texts of at most `longest` characters that the root derives."""
    known: list[set[str]] = [set() for _ in rules]
    while True:
        grown = [_texts(body, known, longest) for body in rules]
        if grown == known:
            return known[0]
        known = grown


def _texts(body: Expression, known: list[set[str]], longest: int) -> set[str]:
    match body:
        case ("literal", text):
            return {text} if len(text) <= longest else set()
        case ("class", chars):
            return set(chars)
        case ("rule", index):
            return known[index]
        case ("sequence", parts):
            joined = {""}
            for part in parts:
                joined = _joined(joined, _texts(part, known, longest), longest)
            return joined
        case ("choice", parts):
            return set().union(*(_texts(part, known, longest) for part in parts))
        case ("repeat", inner, least, most):
            return _repeated(_texts(inner, known, longest), least, most, longest)
    raise AssertionError(body)


def _joined(left: set[str], right: set[str], longest: int) -> set[str]:
    return {a + b for a in left for b in right if len(a) + len(b) <= longest}


def _repeated(texts: set[str], least: int, most: int | None, longest: int) -> set[str]:
    copies = {""}
    for _ in range(least):
        copies = _joined(copies, texts, longest)
    found, more = set(copies), (longest if most is None else most - least)
    for _ in range(more):
        copies = _joined(copies, texts, longest)
        if copies <= found:
            break
        found |= copies
    return found
