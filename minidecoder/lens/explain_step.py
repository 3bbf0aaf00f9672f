"""The verdict on a token in a step of a run that is over.

A trace knows the tokens that it recorded, with kind and sentence. A run also has its constraint: it is walked
again up to the step, and tells what constraint and budget say of any token.

Left out: rows of logits, which a finished run has let go: whether the sampling cut a token that was not
recorded is not known any more. Cost: O(index) to walk there, then that of `explain`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

from minidecoder.decoding.constraint import Constraint
from minidecoder.decoding.loop import Step
from minidecoder.errors import UsageError
from minidecoder.lens.explain import Explainer
from minidecoder.lens.explain_drawn import explain_drawn
from minidecoder.lens.trace_data import Trace
from minidecoder.lens.verdict import Kind, Verdict
from minidecoder.tokens.checks import whole_number
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["explain_step"]


class _Run(Protocol):
    """What `generate` gives."""

    @property
    def trace(self) -> Trace: ...
    @property
    def steps(self) -> tuple[Step, ...]: ...
    @property
    def vocabulary(self) -> Vocabulary: ...
    @property
    def constraint(self) -> Constraint | None: ...


def explain_step(run: Trace | _Run, index: int, token_id: int) -> Verdict:
    """The verdict on a token before step `index` (from 0) of a run or of its trace.

    A trace knows the tokens that it recorded: kind and sentence. A run also knows what the constraint and the
    budget say of the others. Where neither knows, and for a step that the run does not have, `UsageError`.
    """
    trace = getattr(run, "trace", run)
    if not isinstance(trace, Trace):
        raise UsageError(f"explain_step takes a run or its trace, not a {type(run).__name__}")
    index, token_id = whole_number(index, "index"), whole_number(token_id, "token_id")
    if not 0 <= index < len(trace.steps):
        raise UsageError(f"step {index}: the run has steps 0 to {len(trace.steps) - 1}")
    verdict = None if run is trace else _live(run, index, token_id)
    if verdict is not None and not verdict.is_allowed:
        return verdict
    found = next((c for c in trace.steps[index].candidates if c.token_id == token_id), None)
    if found is None or found.verdict is None:
        raise UsageError(f"token {token_id} in step {index} is not recorded: open in the lab")
    kind = Kind[found.verdict]
    if verdict is not None:
        return replace(verdict, kind=kind, sentence=found.why or verdict.sentence)
    return Verdict(kind, found.why or f"`{found.label}` is allowed: there is no constraint.")


def _live(run: Any, index: int, token_id: int) -> Verdict:
    """What constraint and budget say, in the state that the run's tokens lead to."""
    steps, constraint = run.steps, run.constraint
    if constraint is None:
        return explain_drawn(steps[index], token_id, run.vocabulary)
    matcher = constraint.matcher()
    for step in steps[:index]:
        matcher.accept_token(step.token_id)
    here = replace(steps[index], state=matcher.state)  # its old number may be forgotten
    return explain_drawn(here, token_id, run.vocabulary, Explainer(constraint))
