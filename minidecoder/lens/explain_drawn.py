"""The verdict on a token in one step: the machine's, then the budget's, the bans' and the sampling's.

    `0` is legal but number 2: temperature 0 takes number 1.

A token that a step of the pipeline cut is shown with the step, its setting, and the token's rank in the row
that the step was given.

Left out: the machine's own verdicts (`explain`), and recorded runs (`explain_step`). Cost: that of `explain`,
and O(V) for a rank.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np

from minidecoder.decoding.budget import NEVER
from minidecoder.decoding.constraint import Constraint
from minidecoder.decoding.logits import Row
from minidecoder.decoding.loop import Step
from minidecoder.decoding.sampling import Draw
from minidecoder.lens.explain import Explainer, label_of, without_text
from minidecoder.lens.verdict import Kind, Verdict
from minidecoder.tokens.bitmask import is_set
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["explain_drawn", "rank_of"]

_MASKS: Final = ("mask", "bans")  # steps that have verdicts of their own


def explain_drawn(
    step: Step, token_id: int, vocabulary: Vocabulary, explainer: Explainer | None = None
) -> Verdict:
    """The verdict in a step as `stream` gives it. `explainer`: of the run's constraint, None for a free run.

    A state of a grammar is known as long as the run's matcher is; `explain_step` finds it again.
    """
    label = label_of(vocabulary, token_id) if 0 <= token_id < len(vocabulary) else ""
    if explainer is not None and step.state is not None:
        verdict = explainer.at(step.state, token_id)
    else:
        free = Verdict(Kind.ALLOWED, f"{label} is allowed: there is no constraint.")
        verdict = without_text(vocabulary, token_id) or free
        if verdict.kind is Kind.SPECIAL_TOKEN:  # without a constraint it may be drawn
            verdict = free
    if not verdict.is_allowed:
        return verdict
    constraint = explainer.constraint if explainer is not None else None
    return _over_budget(step, token_id, verdict, constraint) or _not_drawn(
        step.draw, token_id, verdict, label
    )


def _over_budget(
    step: Step, token_id: int, verdict: Verdict, constraint: Constraint | None
) -> Verdict | None:
    """The verdict where the budget's mask has taken the token out."""
    if step.budget is None or constraint is None or is_set(step.bitmask, token_id):
        return None
    target = verdict.path[-1] if verdict.path else None
    beyond = 0 if target is None else step.budget.needed(target)
    needed = None if beyond >= NEVER else 1 + beyond
    known = "" if step.budget.is_exact else " known"
    cost = (
        "no way to the end is known" if needed is None else f"the shortest end{known} takes {needed} tokens"
    )
    return replace(
        verdict,
        kind=Kind.OVER_BUDGET,
        sentence=_but(verdict, f"over the budget: with it {cost}, and {step.tokens_left} are left"),
        tokens_needed=needed,
        tokens_left=step.tokens_left,
    )


def _not_drawn(draw: Draw | None, token_id: int, verdict: Verdict, label: str) -> Verdict:
    """The verdict on a token that could be drawn, as far as constraint and budget go."""
    if draw is None:
        return verdict
    if token_id in frozenset(draw.sampling.banned_ids):
        return replace(verdict, kind=Kind.BANNED, sentence=f"{label} is legal but banned by banned_ids.")
    if draw.after[token_id] > -np.inf:
        return verdict
    rule = draw.cut_by(token_id)
    if rule is not None and rule not in _MASKS:
        return _cut(draw, rule, token_id, verdict, label)
    return replace(verdict, sentence=_but(verdict, "the model itself rules it out"))


def _cut(draw: Draw, rule: str, token_id: int, verdict: Verdict, label: str) -> Verdict:
    row = draw.row_before(rule)
    threshold = getattr(draw.sampling, rule, None)
    rank = rank_of(row, token_id)
    return replace(
        verdict,
        kind=Kind.CUT_BY_SAMPLING,
        sentence=f"{label} is legal but {_reason(rule, threshold, row, token_id, rank)}.",
        rule=rule,
        threshold=None if threshold is None else float(threshold),
        rank=rank,
    )


def rank_of(row: Row, token_id: int) -> int:
    """The token's place in a row, from 1; of equals the lower id comes first."""
    value = row[token_id]
    return int(np.count_nonzero(row > value) + np.count_nonzero(row[:token_id] == value)) + 1


def _reason(rule: str, threshold: Any, row: Row, token_id: int, rank: int) -> str:
    """Which rule took it, with the figures that prove it; the number is the place in the row."""
    number = f"number {rank:,}"
    match rule:
        case "top_k":
            return f"{number}: top_k={threshold} keeps the {threshold:,} likeliest"
        case "top_p":
            return f"{number}: the likelier ones reach top_p={threshold:g} without it"
        case "min_p":
            share = float(np.exp(row[token_id] - row.max()))
            return f"{number}: it has {share:.2g} of the likeliest's probability, below min_p={threshold:g}"
        case "temperature" if threshold == 0:
            return f"{number}: temperature 0 takes number 1"
        case "temperature":
            return f"{number}: at temperature {threshold:g} its share is 0"
        case "min_tokens":
            return f"held back until min_tokens={threshold} are written"
    return f"{number}: the step {rule} takes it out"


def _but(verdict: Verdict, what: str) -> str:
    return f"{verdict.sentence.removesuffix('.')}, but {what}."
