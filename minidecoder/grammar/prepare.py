"""The whole way from the text of a grammar to rules that a machine can run, with remarks for the author.

What comes out: every rule is used from the root; every node matches some text; no rule begins with itself,
directly or through others; the body of a repetition is never empty. None of this changes the language.

Left out: the machine (`pushdown`). Cost: O(length), and what left recursion and empty repetitions add.
"""

from __future__ import annotations

from dataclasses import replace

from minidecoder.grammar.checks import remarks
from minidecoder.grammar.circles import Circle, circles
from minidecoder.grammar.ebnf import parse_grammar
from minidecoder.grammar.fixpoint import productive
from minidecoder.grammar.left_recursion import solve
from minidecoder.grammar.nonempty import Rewriting
from minidecoder.grammar.prune import prune
from minidecoder.grammar.rules import Grammar
from minidecoder.regex.limits import Limits

__all__ = ["prepare", "read_grammar"]


def read_grammar(text: str, root: str = "root", limits: Limits | None = None) -> Grammar:
    """The rules of GBNF `text`, ready to run; `notes` says what is useless and what was rewritten.

    Raises `GrammarSyntaxError` with line and column, `UnsatisfiableConstraintError` where the root matches no
    text, `UnsupportedFeatureError`, and `ConstraintTooLargeError` where a limit is passed.
    """
    limits = limits or Limits()
    return prepare(parse_grammar(text, root, limits), limits)


def prepare(grammar: Grammar, limits: Limits | None = None) -> Grammar:
    """The same language, in the form that this module promises."""
    limits = limits or Limits()
    alive = productive(grammar.rules)
    notes = remarks(grammar, alive)
    limits.check_time()
    pruned = prune(grammar, alive)
    rewriting = Rewriting(pruned, limits)
    found = circles(rewriting)
    changed = rewriting.tidy_repeats()
    for circle in found:
        notes.append(_note(rewriting, circle))
        solve(rewriting, circle)
    rewriting.finish_companions()
    limits.check_time()
    done = pruned
    if changed or found:
        rewritten = replace(pruned, rules=tuple(rewriting.rules))
        done = prune(rewritten, productive(rewritten.rules))
    in_order = (f"line {line}, column {column}: {text}" for line, column, text in sorted(notes))
    return replace(done, notes=tuple(in_order))


def _note(rewriting: Rewriting, circle: Circle) -> tuple[int, int, str]:
    first, *others = (rewriting.rules[index] for index in circle.rules)
    through = f", through {', '.join(rule.name for rule in others)}" if others else ""
    text = f"rule {first.name!r} begins with itself{through}; rewritten, the language is the same"
    return first.line, first.column, text
