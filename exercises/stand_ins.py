"""Right answers that take the place of a wrong one, where a later task builds on it.

`Task.stand_in` names one: `"exercises.stand_ins:walk_token"`. The worker puts it into the student's
module for a second try, so that a mistake in task 1 does not cost task 2 as well. What it computes the
student's file could compute with `minidecoder` too; no expected value of any check is here.
"""

from __future__ import annotations

from minidecoder.automaton import Automaton, State, walk

__all__ = ["walk_token"]


def walk_token(automaton: Automaton, state: State, token: bytes) -> State:
    return [state, *walk(automaton, state, token)][-1]  # a token may be empty
