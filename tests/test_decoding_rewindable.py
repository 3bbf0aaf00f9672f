"""A run that goes back and forth is the run that never did: `generate` and fresh replays are the oracles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minidecoder as md
from minidecoder.decoding import rewindable as rewindable_module
from minidecoder.decoding.request import prepare
from minidecoder.decoding.rewindable import Rewindable
from minidecoder.decoding.sampling import ORDER, Sampler, Sampling
from minidecoder.errors import EmptyMaskError, ModelError, UsageError
from minidecoder.models import NGramModel
from minidecoder.tokens.vocabulary import Vocabulary

NINE = ["</s>", "1", "12", ".", ".5", "50", "0", "5", "1."]
VOCABULARY = Vocabulary.from_tokens(NINE, eos="</s>")
MODEL = NGramModel(["12.50", "1.50", "12.5", "5.0", "50.12", "1.1.1"], VOCABULARY)
BYTES = Vocabulary.from_tokens([*"ab[],", "[[", "]]", "a,", "</s>", "<eot>"], eos=["</s>", "<eot>"])
LISTS = NGramModel(["[a,b]", "[[a,],b]"], Vocabulary.from_tokens([*"ab[],", "[[", "]]", "a,", "</s>", "<eot>"], eos=["</s>", "<eot>"]))  # fmt: skip
PRICE = md.compile_regex(r"\d+\.\d{2}", VOCABULARY)
NESTED = md.compile_grammar('root ::= "[" (item ("," item)*)? "]"\nitem ::= root | "a" | "b"', BYTES)

CASES: dict[str, tuple[Any, Any, Vocabulary]] = {
    "price": (MODEL, PRICE, VOCABULARY),
    "free": (MODEL, None, VOCABULARY),
    "lists": (LISTS, NESTED, BYTES),
    "forced end": (MODEL, md.compile_regex("12|50", VOCABULARY), VOCABULARY),
}
SAMPLINGS = [
    Sampling(seed=1),
    Sampling(temperature=0.0, seed=2),
    Sampling(temperature=2.0, top_k=4, seed=3),
    Sampling(top_p=0.8, min_p=0.01, seed=4, repetition_penalty=1.3, min_tokens=2),
]


def rewindable(
    case: str, sampling: Sampling, max_tokens: int = 12, order: Sequence[str] = ORDER, **options: Any
) -> Rewindable:
    model, constraint, vocabulary = CASES[case]
    request = prepare(
        model,
        [1],
        constraint=constraint,
        vocabulary=vocabulary,
        sampling=sampling,
        max_tokens=max_tokens,
        **options,
    )
    return Rewindable(model, replace(request, sampler=Sampler(sampling, order)))


def generated(case: str, sampling: Sampling, max_tokens: int = 12, **options: Any) -> Any:
    model, constraint, vocabulary = CASES[case]
    return md.generate(
        model,
        [1],
        constraint=constraint,
        vocabulary=vocabulary,
        sampling=sampling,
        max_tokens=max_tokens,
        **options,
    )


def finish(run: Rewindable) -> list[int]:
    while not run.is_over:
        run.step()
    return [step.token_id for step in run.steps]


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=range(len(SAMPLINGS)))
@pytest.mark.parametrize("case", CASES)
def test_stepped_to_its_end_it_is_what_generate_gives(case: str, sampling: Sampling) -> None:
    for seed in range(12):
        seeded = replace(sampling, seed=seed)
        wanted = generated(case, seeded)
        run = rewindable(case, seeded)
        assert finish(run) == wanted.token_ids
        for step, other in zip(run.steps, wanted.steps, strict=True):
            assert replace(step, seconds=0, bitmask=None, legal=None).__dict__ == (
                replace(other, seconds=0, bitmask=None, legal=None).__dict__
            )


@pytest.mark.parametrize("options", [{"jump_forward": True}, {"finish_within_budget": True}, {"stop": "50"}])
def test_jumps_budgets_and_stop_strings_are_taken_back_too(options: dict[str, Any]) -> None:
    for seed in range(20):
        wanted = generated("price", Sampling(seed=seed), **options).token_ids
        run = rewindable("price", Sampling(seed=seed), **options)
        assert finish(run) == wanted
        for back in range(len(wanted) + 1):
            run.back_to(back)
            assert finish(run) == wanted


moves = st.lists(
    st.one_of(
        st.just(("step", 0)),
        st.tuples(st.just("back"), st.integers(0, 12)),
        st.tuples(st.just("take"), st.integers(0, 9)),
    ),
    max_size=30,
)


@given(st.sampled_from(sorted(CASES)), moves, st.integers(0, 5), st.sampled_from(SAMPLINGS))
@settings(max_examples=200)
def test_any_way_back_and_forth_is_the_replay_of_what_was_kept(
    case: str, moves: list[tuple[str, int]], seed: int, sampling: Sampling
) -> None:
    sampling = replace(sampling, seed=seed)
    run, kept = rewindable(case, sampling), list[int | None]()  # None: drawn
    for move, number in moves:
        if move == "back":
            number = min(number, len(kept))
            run.back_to(number)
            del kept[number:]
        elif run.is_over:
            continue
        elif move == "step":
            run.step()
            kept.append(None)
        else:
            try:
                run.take(min(number, len(CASES[case][2]) - 1))
            except UsageError:
                continue
            kept.append(run.steps[-1].token_id)
    fresh = rewindable(case, sampling)
    for token_id in kept:
        fresh.step() if token_id is None else fresh.take(token_id)
    assert [step.token_id for step in run.steps] == [step.token_id for step in fresh.steps]
    assert finish(run) == finish(fresh)


@given(st.integers(0, 50), st.integers(0, 5))
def test_taking_the_very_token_that_was_drawn_changes_nothing(seed: int, at: int) -> None:
    wanted = finish(rewindable("price", Sampling(seed=seed)))
    run = rewindable("price", Sampling(seed=seed))
    for index, token_id in enumerate(wanted):
        run.take(token_id) if index == at else run.step()
    assert [step.token_id for step in run.steps] == wanted


def test_a_blocked_token_is_refused_and_nothing_moves() -> None:
    run = rewindable("price", Sampling(seed=1))
    run.take(2), run.take(4)  # 12 .5
    before = [step.token_id for step in run.steps]
    with pytest.raises(UsageError, match="token 5 is blocked here: the constraint does not allow it"):
        run.take(5)
    for token_id in (-1, 9, 10**30, 1.0, True, "1", None):
        with pytest.raises(UsageError):
            run.take(token_id)  # type: ignore[arg-type]
    assert [step.token_id for step in run.steps] == before
    run.take(6), run.take(0)
    assert run.is_over
    with pytest.raises(UsageError, match="the run is over: go back first"):
        run.take(0)


def test_without_a_constraint_any_text_may_be_taken_but_no_padding() -> None:
    vocabulary = Vocabulary.from_tokens(["a", "b", "</s>"], eos="</s>", width=5)
    model = NGramModel("ab", vocabulary)
    run = Rewindable(model, prepare(model, "", sampling=Sampling(seed=1), max_tokens=4))
    run.take(1), run.take(0)
    with pytest.raises(UsageError, match="it stands for no text"):
        run.take(3)
    run.take(2)
    assert run.is_over
    assert [step.token_id for step in run.steps] == [1, 0, 2]


def test_of_several_ends_one_that_is_forced_may_be_another() -> None:
    run = rewindable("lists", Sampling(seed=1))
    run.take(2), run.take(3), run.take(9)
    assert run.is_over
    assert run.steps[-1].forced


BAD_ORDER = ("bias", "bans", "repetition_penalty", "temperature", "top_k", "top_p", "min_p", "mask", "min_tokens")  # fmt: skip


def test_a_step_that_cannot_be_drawn_leaves_all_as_it_was_and_a_hand_leads_on() -> None:
    run = rewindable("price", Sampling(top_k=1, seed=1), order=BAD_ORDER)
    run.take(2), run.take(4)
    for _ in range(2):
        with pytest.raises(EmptyMaskError) as caught:
            run.step()
        assert caught.value.step == "mask"
        assert len(run.steps) == 2
    stuck = run.look(2)
    assert stuck.draw is not None
    assert [name for name, _ in stuck.draw.stages] == list(BAD_ORDER[:-1])
    assert not np.isfinite(stuck.draw.after).any()
    step = run.take(6)
    assert step.probability == 0.0
    assert step.draw is not None
    assert step.draw.cut_by(6) == "top_k"
    assert finish(run)[-1] == 0


class Moody:
    """Says NaN, or raises, when it is told to."""

    mood = ""

    def next_logits(self, token_ids: Sequence[int]) -> Any:
        if self.mood == "raises":
            raise RuntimeError("out of memory")
        row = MODEL.next_logits(token_ids)
        return row * np.nan if self.mood == "nan" else row


@pytest.mark.parametrize("mood", ["nan", "raises"])
@pytest.mark.parametrize("act", ["step", "take"])
def test_an_error_of_the_model_leaves_all_as_it_was(mood: str, act: str) -> None:
    wanted = generated("price", Sampling(seed=1)).token_ids
    model = Moody()
    run = Rewindable(model, prepare(model, [1], constraint=PRICE, sampling=Sampling(seed=1), max_tokens=12))
    run.step()
    model.mood = mood
    with pytest.raises((ModelError, RuntimeError)):
        run.step() if act == "step" else run.take(wanted[1])
    assert len(run.steps) == 1
    model.mood = ""
    assert finish(run) == wanted


@given(st.sampled_from(sorted(CASES)), st.integers(0, 20), st.sampled_from(SAMPLINGS))
@settings(max_examples=60)
def test_a_step_looked_at_later_has_the_rows_that_it_had(case: str, seed: int, sampling: Sampling) -> None:
    run, seen = rewindable(case, replace(sampling, seed=seed)), []
    while not run.is_over:
        seen.append(run.step())
    for index, step in enumerate(seen):
        again = run.look(index)
        assert (again.draw is None) == (step.draw is None)
        if step.draw is not None and again.draw is not None:
            assert again.token_id == again.draw.token_id == step.token_id
            for (name, row), (other, wanted) in zip(again.draw.stages, step.draw.stages, strict=True):
                assert name == other
                np.testing.assert_array_equal(row, wanted)


def test_a_fork_goes_its_own_way() -> None:
    run = rewindable("lists", Sampling(seed=5), max_tokens=30)
    run.step(), run.step()
    fork = run.fork()
    wanted = finish(run)
    assert len(fork.steps) == 2
    assert finish(fork) == wanted
    fork.back_to(0)
    assert len(run.steps) == len(wanted)
    assert finish(fork) == wanted


def test_a_place_that_the_run_never_saw_is_refused() -> None:
    run = rewindable("price", Sampling(seed=1))
    run.step()
    for index in (-1, 2, 1.0, "0", True):
        with pytest.raises(UsageError):
            run.back_to(index)  # type: ignore[arg-type]
    assert len(run.steps) == 1


def test_rows_are_kept_as_the_model_gave_them_and_asked_for_once() -> None:
    asked: list[int] = []

    class Narrow:
        def next_logits(self, token_ids: Sequence[int]) -> Any:
            asked.append(len(token_ids))
            return MODEL.next_logits(token_ids).astype(np.float32)

    model = Narrow()
    run = Rewindable(model, prepare(model, [], constraint=PRICE, sampling=Sampling(seed=1), max_tokens=9))
    run.take(2), run.take(3), run.back_to(1)
    run.take(4), run.look(0), run.look(1)
    assert asked == [0, 1]
    assert {row.dtype for row in run._rows.rows.values()} == {np.dtype(np.float32)}


def test_of_many_rows_the_oldest_are_dropped_and_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    sampling = Sampling(temperature=2.0, seed=3)
    whole = rewindable("lists", sampling)
    finish(whole)
    monkeypatch.setattr(rewindable_module, "KEPT_BYTES", 3 * 8 * len(BYTES))
    short = rewindable("lists", sampling)
    assert finish(short) == [step.token_id for step in whole.steps]
    assert len(short.steps) > 6
    asked = sorted(short._rows.rows)
    for index, step in enumerate(whole.steps):
        assert (short.look(index).draw is None) == (step.favourite is None)
        if step.favourite is not None:
            assert np.array_equal(short.look(index).draw.before, whole.look(index).draw.before)  # type: ignore[union-attr]
    assert len(asked) <= 3
    assert sorted(short._rows.rows) == asked, "a look back drops no later row"
    short.back_to(1)
    assert finish(short) == [step.token_id for step in whole.steps]
