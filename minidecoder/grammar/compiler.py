"""The text of a grammar to its stack machine and the index over a vocabulary, in one call.

Left out: the constraint made of the two (`compiling`). Cost: some milliseconds for a grammar of a page; the
masks are made when their states are met.
"""

from __future__ import annotations

from minidecoder.grammar.bodies import GrammarBodies
from minidecoder.grammar.places import Places
from minidecoder.grammar.prepare import read_grammar
from minidecoder.grammar.pushdown import PushdownAutomaton
from minidecoder.grammar.pushdown_index import PushdownIndex
from minidecoder.grammar.spellable import keep_spellable
from minidecoder.grammar.stacks import MAX_DEPTH
from minidecoder.regex.limits import Limits
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["compile_pushdown"]


def compile_pushdown(
    text: str,
    vocabulary: Vocabulary,
    *,
    root: str = "root",
    limits: Limits | None = None,
    max_depth: int = MAX_DEPTH,
) -> PushdownIndex:
    """The index, whose `automaton` is the machine and `automaton.notes` what was remarked about the text.

    Raises `GrammarSyntaxError` with line and column, `UnsatisfiableConstraintError` where nothing can be
    derived or spelled, `UnsupportedFeatureError`, `ConstraintTooLargeError` past a limit.
    """
    limits = limits or Limits()
    grammar = read_grammar(text, root, limits)
    bodies = GrammarBodies(grammar, limits)
    start = bodies.machines.begin(grammar.root)
    bodies.machines.open_all()
    keep_spellable(bodies.machines, start, vocabulary)
    automaton = PushdownAutomaton(
        bodies.machines, start, Places(bodies), reach=vocabulary.trie.depth, max_depth=max_depth
    )
    automaton.notes = grammar.notes
    return PushdownIndex(automaton, vocabulary)
