"""The measures of a run, against figures worked out by hand and against their definitions."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import minidecoder as md
from minidecoder.decoding.sampling import softmax
from minidecoder.lens.measures import measure
from minidecoder.models.toy import TableModel, UniformModel
from minidecoder.tokens.bitmask import unpack

VOCABULARY = md.Vocabulary.from_tokens(["</s>", "a", "b", "c"], eos=0)


def test_the_figures_of_a_small_run_are_those_worked_out_by_hand() -> None:
    """`[ab]c`: of four equal tokens two are legal, then one of shares 1/8, 1/8, 1/4, 1/2; the end is forced."""
    rows = {(): [0.0] * 4, (1,): np.log([1, 1, 2, 4]).tolist()}
    constraint = md.compile_regex("[ab]c", VOCABULARY)
    steps = [*md.stream(TableModel(4, rows), [], constraint=constraint)]
    measures = measure([replace(step, seconds=0.5) for step in steps])
    assert measures.feasible_mass == (pytest.approx(0.5), pytest.approx(0.5), None)
    assert measures.kl == (pytest.approx(math.log(2)), pytest.approx(math.log(2)), None)
    assert measures.total_feasible_mass == pytest.approx(0.25)
    assert measures.log_feasible_mass == pytest.approx(-2 * math.log(2)) == -measures.total_kl
    assert (measures.tokens, measures.model_calls, measures.model_calls_saved) == (3, 2, 1)
    assert measures.forced_share == pytest.approx(1 / 3)
    assert measures.blocked_share == pytest.approx(1 / 2)  # at first the favourite is id 0, the end
    assert measures.tokens_per_second == pytest.approx(2.0)


def test_the_divergence_is_that_of_the_definition() -> None:
    rng = np.random.default_rng(0)
    constraint = md.compile_regex("[ab]{6}", VOCABULARY)

    class Random:
        def next_logits(self, token_ids: object) -> np.ndarray:
            return rng.normal(size=4)

    steps = [*md.stream(Random(), [], constraint=constraint, sampling=md.Sampling(seed=0))]
    for step, kl in zip(steps, measure(steps).kl, strict=True):
        if step.draw is None:
            assert kl is None
            continue
        p = softmax(step.draw.before)
        q = np.where(unpack(step.bitmask, 4), p, 0) / p[unpack(step.bitmask, 4)].sum()
        assert kl == pytest.approx(sum(b * math.log(b / a) for a, b in zip(p, q, strict=True) if b))


def test_the_mean_of_the_masses_is_the_share_of_free_texts_that_are_legal() -> None:
    """What makes the product of a run's masses a figure to trust: its mean over runs is a probability."""
    constraint = md.compile_regex("a|bc", VOCABULARY)
    rows = {(): np.log([1, 2, 3, 4]).tolist(), (1,): np.log([5, 1, 1, 1]).tolist()}
    rows |= {(2,): np.log([1, 1, 1, 2]).tolist(), (2, 3): np.log([6, 1, 1, 2]).tolist()}
    legal = 0.2 * 5 / 8 + 0.3 * 0.4 * 0.6
    masses = []
    for seed in range(1500):
        run = md.generate(TableModel(4, rows), [], constraint=constraint, sampling=md.Sampling(seed=seed))
        # A forced end is drawn without asking; the free model would have had to say it too.
        end = softmax(np.array(rows[tuple(run.token_ids[:-1])]))[0]
        masses.append(measure(run.steps).total_feasible_mass * end)
    assert np.mean(masses) == pytest.approx(legal, abs=4 * np.std(masses) / math.sqrt(len(masses)))


def test_a_finished_run_measures_as_its_steps_did() -> None:
    constraint = md.compile_regex("[ab]{3}c*", VOCABULARY)
    options = {"constraint": constraint, "sampling": md.Sampling(seed=3), "max_tokens": 9}
    live = measure([*md.stream(UniformModel(4), [], **options)])
    kept = measure(md.generate(UniformModel(4), [], **options).steps)  # without rows of logits
    assert (kept.feasible_mass, kept.kl, kept.blocked) == (live.feasible_mass, live.kl, live.blocked)


def test_jumped_tokens_are_calls_saved() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", *"abcde"], eos=0)
    constraint = md.compile_regex("[ab]cde", vocabulary)
    measures = measure(md.generate(UniformModel(6), [], constraint=constraint, jump_forward=True).steps)
    assert (measures.tokens, measures.model_calls, measures.model_calls_saved) == (5, 1, 4)
    assert measures.forced_share == pytest.approx(0.8)


def test_a_free_run_keeps_all_mass() -> None:
    measures = measure(md.generate(UniformModel(4), [], vocabulary=VOCABULARY, max_tokens=3).steps)
    assert measures.total_feasible_mass == pytest.approx(1)
    assert measures.total_kl == pytest.approx(0, abs=1e-12)
    assert all(kl is not None and kl >= 0 for kl in measures.kl)
    assert measures.blocked_share == 0


def test_no_mass_that_a_float_can_hold_is_an_infinite_divergence() -> None:
    constraint = md.compile_regex("[ab]", VOCABULARY)
    run = md.generate(TableModel(4, {(): [1000, 0, -5, 0]}), [], constraint=constraint)
    measures = measure(run.steps)
    assert measures.total_kl == math.inf
    assert measures.total_feasible_mass == 0
    assert "inf nats" in str(measures)


def test_the_table_is_plain_text_in_two_columns() -> None:
    constraint = md.compile_regex("[ab]c", VOCABULARY)
    steps = [replace(s, seconds=0.1) for s in md.stream(UniformModel(4), [], constraint=constraint)]
    lines = str(measure(steps)).splitlines()
    assert [line.split("  ")[0] for line in lines] == [
        "tokens",
        "model calls",
        "forced",
        "favourite blocked",
        "feasible mass",
        "KL, constrained from free",
        "tokens per second",
    ]
    assert len({re_start(line) for line in lines}) == 1, "the values stand under each other"
    assert lines[1].endswith("2, 1 saved")
    assert lines[4].endswith("0.125 in all, 0.25 at the least")
    assert lines[6].endswith("10.0")


def re_start(line: str) -> int:
    """Where the value begins."""
    return len(line) - len(line.split("  ", 1)[1].lstrip())


def test_a_run_of_no_steps_has_measures_too() -> None:
    measures = measure([])
    assert (measures.tokens, measures.total_feasible_mass, measures.total_kl) == (0, 1.0, 0.0)
    assert measures.forced_share is measures.blocked_share is measures.tokens_per_second is None
    assert str(measures).count("–") == 3


@pytest.mark.parametrize("wrong", [None, 5, "steps", [1, 2], [None]])
def test_what_is_no_list_of_steps_is_refused(wrong: object) -> None:
    with pytest.raises(md.UsageError):
        measure(wrong)  # type: ignore[arg-type]
