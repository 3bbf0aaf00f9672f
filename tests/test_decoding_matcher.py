"""The matcher: refusals change nothing, going back is exact, forced text is whole characters."""

from __future__ import annotations

import copy
import gc
import pickle
import random
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minidecoder as md
from minidecoder.automaton import DEAD, State
from minidecoder.decoding.budget import make_budget
from minidecoder.decoding.constraint import Constraint
from minidecoder.regex.compiler import compile_dfa
from minidecoder.regex.utf8 import lower_to_bytes
from minidecoder.tokens import bitmask
from minidecoder.tokens.naive_index import naive_index
from minidecoder.tokens.token_index import build_index
from tests.optional import need

LESSON = ["</s>", "1", "12", ".", ".5", "50", "0", "5", "1."]


@pytest.fixture
def price() -> md.Constraint:
    return md.compile_regex(r"[0-9]+\.[0-9]{2}", md.Vocabulary.from_tokens(LESSON, eos="</s>"))


def ids(matcher: md.Matcher) -> list[int]:
    return matcher.allowed_token_ids().tolist()


def test_a_price_is_accepted_token_by_token(price: md.Constraint) -> None:
    matcher = price.matcher()
    assert ids(matcher) == [1, 2, 5, 6, 7, 8]
    assert matcher.accept_token(2)
    assert ids(matcher) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert matcher.accept_token(4)
    assert ids(matcher) == [1, 6, 7]
    assert not matcher.is_accepting
    assert matcher.accept_token(6)
    assert matcher.is_accepting
    assert ids(matcher) == [0]
    assert matcher.accept_token(0)
    assert matcher.is_terminated
    assert ids(matcher) == []


def test_a_refused_token_leaves_the_matcher_unchanged(price: md.Constraint) -> None:
    matcher = price.matcher()
    matcher.accept_token(2)
    matcher.accept_token(4)
    before = (matcher.state, matcher.steps, ids(matcher))
    for refused in (5, 0, 3, 8):  # 50 dies on its second byte only
        assert not matcher.accept_token(refused)
        assert (matcher.state, matcher.steps, ids(matcher)) == before
    assert not matcher.accept_string("50")
    assert (matcher.state, matcher.steps, ids(matcher)) == before


def test_nothing_follows_the_end(price: md.Constraint) -> None:
    matcher = price.matcher()
    assert matcher.accept_string("1.50")
    assert matcher.accept_token(0)
    assert not matcher.accept_token(0)
    assert not matcher.accept_token(1)
    assert not matcher.accept_string("")
    assert matcher.jump_forward_string() == ""


def test_rollback_counts_steps_across_the_end_and_refuses_to_go_too_far(price: md.Constraint) -> None:
    matcher = price.matcher()
    matcher.accept_token(2)
    matcher.accept_string(".50")
    matcher.accept_token(0)
    matcher.rollback(1)
    assert not matcher.is_terminated
    assert matcher.is_accepting
    matcher.rollback(1)
    assert ids(matcher) == [1, 2, 3, 4, 5, 6, 7, 8]
    matcher.rollback(0)
    for steps in (2, -1):
        with pytest.raises(md.UsageError, match="1 steps were accepted"):
            matcher.rollback(steps)
    matcher.rollback(1)
    assert matcher.state == price.automaton.start


def test_a_fork_and_its_origin_go_their_own_ways(price: md.Constraint) -> None:
    matcher = price.matcher()
    matcher.accept_token(2)
    fork = matcher.fork()
    assert fork.accept_token(4)
    assert (matcher.steps, fork.steps) == (1, 2)
    fork.rollback(2)
    assert (matcher.steps, fork.steps) == (1, 0)
    matcher.reset()
    assert matcher.steps == 0


@given(st.lists(st.integers(0, 8), max_size=12), st.integers(0, 12))
def test_going_back_and_on_again_gives_the_same_masks(token_ids: list[int], back: int) -> None:
    constraint = md.compile_regex(r"([0-9]+\.[0-9]{2} ?)+", md.Vocabulary.from_tokens([*LESSON, " "], eos=0))
    matcher = constraint.matcher()
    accepted = [token_id for token_id in token_ids if matcher.accept_token(token_id)]
    masks = matcher.bitmask().tolist()
    back = min(back, matcher.steps)
    matcher.rollback(back)
    for token_id in accepted[len(accepted) - back :]:
        assert matcher.accept_token(token_id)
    assert matcher.bitmask().tolist() == masks


def test_fill_bitmask_writes_the_whole_row_and_refuses_another_shape(price: md.Constraint) -> None:
    row = np.full(1, -1, dtype=np.int32)
    price.matcher().fill_bitmask(row)
    assert np.flatnonzero(bitmask.unpack(row, 9)).tolist() == [1, 2, 5, 6, 7, 8]
    assert row[0] >> 9 == 0, "bits beyond V are 0"
    for wrong in (np.zeros(2, np.int32), np.zeros(1, np.int64), np.zeros((1, 1), np.int32)):
        with pytest.raises(md.UsageError, match="int32"):
            price.matcher().fill_bitmask(wrong)


@pytest.mark.parametrize("row", [None, [0], np.zeros(1, ">i4")])
def test_a_mask_is_written_into_an_array_alone(price: md.Constraint, row: object) -> None:
    with pytest.raises(md.UsageError, match="row must be"):
        price.matcher().fill_bitmask(row)  # type: ignore[arg-type]


def test_a_read_only_row_is_refused(price: md.Constraint) -> None:
    with pytest.raises(md.UsageError, match="read-only"):
        price.matcher().fill_bitmask(price.matcher().bitmask())


@pytest.mark.parametrize(
    "change",
    [
        lambda row: row.setflags(write=False),
        lambda row: row.resize((2, 1), refcheck=False),
        lambda row: setattr(row, "shape", (1, 1)),
        lambda row: setattr(row, "dtype", np.float32),
        lambda row: setattr(row, "dtype", np.uint32),
    ],
)
@pytest.mark.filterwarnings("ignore:Setting the")
def test_a_row_that_was_good_once_is_looked_at_again(
    price: md.Constraint, change: Callable[[np.ndarray], None]
) -> None:
    matcher, row = price.matcher(), np.zeros(1, np.int32)
    matcher.fill_bitmask(row)
    change(row)
    before = row.tobytes()
    with pytest.raises(md.UsageError, match="row"):
        matcher.fill_bitmask(row)
    assert row.tobytes() == before


def test_a_mask_is_never_that_of_a_state_left_behind(price: md.Constraint) -> None:
    matcher, row = price.matcher(), np.zeros(1, np.int32)
    moves: list[Callable[[], object]] = [
        lambda: matcher.accept_token(2),
        lambda: matcher.accept_string(".5"),
        lambda: matcher.accept_token(5),  # refused
        lambda: matcher.accept_token(7),
        lambda: matcher.accept_token(0),
        lambda: matcher.rollback(1),
        lambda: matcher.rollback(2),
        lambda: matcher.fill_bitmask_window(np.zeros((3, 1), np.int32), [4, 6]),
        lambda: matcher.reset(),
    ]
    for move in moves:
        matcher.fill_bitmask(row)
        move()
        matcher.fill_bitmask(row)
        expected = price.bitmask(DEAD if matcher.is_terminated else matcher.state)
        assert row.tolist() == expected.tolist() == matcher.bitmask().tolist()


def test_a_mask_is_written_into_a_row_of_a_batch_however_it_lies() -> None:
    tokens = [*(f"{n:03}" for n in range(100)), "</s>"]
    matcher = md.compile_regex("0[0-4]+[0-9]*", md.Vocabulary.from_tokens(tokens, eos="</s>")).matcher()
    expected = matcher.bitmask().tolist()
    assert len(expected) == 4
    batch = np.zeros((3, 8), np.int32)
    matcher.fill_bitmask(batch[1, :4])
    matcher.fill_bitmask(batch[2, ::-2])
    assert batch[1].tolist() == [*expected, 0, 0, 0, 0]
    assert batch[2, ::-2].tolist() == expected
    assert not batch[0].any()


def test_a_mask_is_written_into_a_tensor(price: md.Constraint) -> None:
    torch = need("torch", "models")
    rows = torch.full((2, 1), -1, dtype=torch.int32)
    price.matcher().fill_bitmask(rows[1])
    assert rows.tolist() == [[-1], price.matcher().bitmask().tolist()]
    for wrong in (torch.zeros(2, dtype=torch.int32), torch.zeros(1), rows):
        with pytest.raises(md.UsageError, match="int32"):
            price.matcher().fill_bitmask(wrong)


# -- a window of draft tokens -------------------------------------------------------------------------------


def one_by_one(matcher: md.Matcher, drafts: list[int]) -> tuple[list[list[int]], int]:
    """What a window must hold, taken with a matcher of its own."""
    own, rows, taken = matcher.fork(), [matcher.bitmask().tolist()], 0
    while taken < len(drafts) and own.accept_token(drafts[taken]):
        taken += 1
        rows.append(own.bitmask().tolist())
    return rows + [[0] * len(rows[0])] * (len(drafts) - taken), taken


@given(st.lists(st.integers(0, 9), max_size=8), st.lists(st.integers(0, 9), max_size=8))
def test_a_window_holds_the_masks_that_single_steps_would_give(past: list[int], drafts: list[int]) -> None:
    constraint = md.compile_regex(r"([0-9]+\.[0-9]{2} ?)+", md.Vocabulary.from_tokens([*LESSON, " "], eos=0))
    matcher = constraint.matcher()
    for token_id in past:
        matcher.accept_token(token_id)
    where = (matcher.state, matcher.steps, matcher.is_terminated, ids(matcher))
    rows = np.full((len(drafts) + 3, 1), 77, np.int32)
    expected, taken = one_by_one(matcher, drafts)
    assert matcher.fill_bitmask_window(rows, drafts) == taken
    assert rows.tolist() == [*expected, [77], [77]], "rows beyond the draft stay"
    assert (matcher.state, matcher.steps, matcher.is_terminated, ids(matcher)) == where


def test_a_window_is_filled_in_tensors_and_with_any_kind_of_ids(price: md.Constraint) -> None:
    torch = need("torch", "models")
    expected, taken = one_by_one(price.matcher(), [2, 4, 6, 0, 1])
    for drafts in (
        [2, 4, 6, 0, 1],
        np.array([2, 4, 6, 0, 1]),
        torch.tensor([2, 4, 6, 0, 1]),
        iter((2, 4, 6, 0, 1)),
    ):
        rows = torch.full((6, 1), 77, dtype=torch.int32)
        assert price.matcher().fill_bitmask_window(rows, drafts) == taken == 4
        assert rows.tolist() == expected


@pytest.mark.parametrize(
    ("rows", "drafts", "message"),
    [
        (np.zeros((2, 1), np.int32), [2, 4], "2 draft tokens need 3 rows, not 2"),
        (np.zeros((0, 1), np.int32), [], "0 draft tokens need 1 rows, not 0"),
        (
            np.zeros(3, np.int32),
            [2, 4],
            r"window must be int32 of shape \(any, 1\), this one is int32 \(3,\)",
        ),
        (np.zeros((3, 2), np.int32), [2, 4], r"shape \(any, 1\)"),
        (np.zeros((3, 1), np.int64), [2, 4], "int64"),
        (np.broadcast_to(np.zeros(1, np.int32), (3, 1)), [2, 4], "read-only"),
        (np.lib.stride_tricks.as_strided(np.zeros(1, np.int32), (3, 1), (0, 4)), [2, 4], "share memory"),
        ([[0]] * 3, [2, 4], "window must be of type ndarray"),
        (np.full((3, 1), 77, np.int32), [2, 9], "token id 9 is not in the vocabulary"),
        (np.full((3, 1), 77, np.int32), [2, -1], "token id -1"),
        (np.full((3, 1), 77, np.int32), "24", "must be a list, not str"),
    ],
)
def test_a_window_is_checked_before_anything_is_written(
    price: md.Constraint, rows: Any, drafts: Any, message: str
) -> None:
    matcher, before = price.matcher(), np.array(rows).tolist()
    with pytest.raises(md.UsageError, match=message):
        matcher.fill_bitmask_window(rows, drafts)
    assert np.array(rows).tolist() == before
    assert matcher.steps == 0


def test_a_window_that_fails_half_way_leaves_the_matcher_in_its_place(price: md.Constraint) -> None:
    matcher = price.matcher()
    matcher.accept_token(2)
    good = matcher._after
    matcher._after = lambda state, token: good(state, token) if token != 6 else 1 // 0  # type: ignore[assignment]
    with pytest.raises(ZeroDivisionError):
        matcher.fill_bitmask_window(np.zeros((4, 1), np.int32), [4, 6, 0])
    assert (matcher.steps, ids(matcher)) == (1, [1, 2, 3, 4, 5, 6, 7, 8])


@pytest.mark.parametrize("steps", [None, "1", 0.0, False])
def test_going_back_takes_a_whole_number(price: md.Constraint, steps: object) -> None:
    with pytest.raises(md.UsageError, match="whole number"):
        price.matcher().rollback(steps)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", [None, 5, [49], [49, 300], ["1"], "\ud800"])
def test_a_text_is_str_or_bytes(price: md.Constraint, text: object) -> None:
    matcher = price.matcher()
    with pytest.raises(md.UsageError, match="the text"):
        matcher.accept_string(text)  # type: ignore[arg-type]
    assert matcher.steps == 0
    assert matcher.accept_string(bytearray(b"1"))  # type: ignore[arg-type]


@pytest.mark.parametrize("constraint", [None, "[0-9]+"])
def test_a_matcher_walks_a_constraint(constraint: object) -> None:
    with pytest.raises(md.UsageError, match="compile_regex"):
        md.Matcher(constraint)  # type: ignore[arg-type]


def test_a_shared_mask_cannot_be_written(price: md.Constraint) -> None:
    with pytest.raises(ValueError, match="read-only"):
        price.matcher().bitmask()[0] = -1


@pytest.mark.parametrize("token_id", [-1, 9, 1.0, None, True, "1"])
def test_an_id_outside_the_vocabulary_is_an_error_not_a_refusal(
    price: md.Constraint, token_id: object
) -> None:
    with pytest.raises(md.UsageError):
        price.matcher().accept_token(token_id)  # type: ignore[arg-type]


def test_forced_text_ends_where_there_is_a_choice_or_an_end() -> None:
    vocabulary = md.Vocabulary.from_tokens([*map(chr, range(32, 127)), "</s>"], eos="</s>")
    matcher = md.compile_regex(r'\{"age": (0|[1-9][0-9]*)\}', vocabulary).matcher()
    assert matcher.jump_forward_string() == '{"age": '
    assert matcher.accept_string('{"age": ')
    assert matcher.jump_forward_string() == ""
    assert matcher.accept_string("0")
    assert matcher.jump_forward_string() == "}"
    assert md.compile_regex("ab?", vocabulary).matcher().jump_forward_string() == "a"


def test_forced_text_is_cut_at_a_character_border() -> None:
    tokens = [bytes([byte]) for byte in range(256)]
    vocabulary = md.Vocabulary.from_tokens([*tokens, "</s>"], eos=256)
    matcher = md.compile_regex("x[😀-🙏]", vocabulary).matcher()
    assert matcher.jump_forward_string() == "x"  # F0 9F is forced too, and is no character
    assert matcher.accept_string("x\N{GRINNING FACE}".encode()[:3])
    assert matcher.jump_forward_string() == ""


@pytest.mark.parametrize("cut", range(8))
def test_inside_a_character_no_text_is_forced_though_its_bytes_are(cut: int) -> None:
    vocabulary = md.Vocabulary.from_tokens([*(bytes([byte]) for byte in range(256)), "</s>"], eos=256)
    text = "é😀x!"
    matcher = md.compile_regex(text, vocabulary).matcher()
    assert matcher.accept_string(text.encode()[:cut])
    whole = cut in (0, 2, 6, 7)
    assert matcher.jump_forward_string() == (text.encode()[cut:].decode() if whole else "")


def test_a_string_may_end_inside_a_token_but_not_in_a_dead_end() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "ab", "c"], eos=0)
    matcher = md.compile_regex("(ab|c)*", vocabulary).matcher()
    assert not matcher.accept_string("a"), "no token begins with b"
    assert matcher.accept_string("abc")


def test_half_a_character_can_be_accepted() -> None:
    vocabulary = md.Vocabulary.from_tokens([b"\xc3", b"\xa9", b"\xa8", "</s>"], eos=3)
    matcher = md.compile_regex("é+", vocabulary).matcher()
    assert matcher.accept_token(0)
    assert matcher.allowed_token_ids().tolist() == [1]
    assert not matcher.is_accepting
    assert matcher.constraint.automaton.name(matcher.state) == "b0"


def test_eos_text_inside_a_pattern_is_text_not_the_end() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "<", "/s>"], eos=0)
    matcher = md.compile_regex("</s>", vocabulary).matcher()
    assert matcher.allowed_token_ids().tolist() == [1]
    assert matcher.accept_token(1)
    assert matcher.accept_token(2)
    assert matcher.allowed_token_ids().tolist() == [0]


def test_every_eos_id_ends_the_text() -> None:
    vocabulary = md.Vocabulary.from_tokens(["a", "</s>", "<eot>"], eos=[1, 2])
    for eos in (1, 2):
        matcher = md.compile_regex("a", vocabulary).matcher()
        assert not matcher.accept_token(eos)
        matcher.accept_token(0)
        assert matcher.allowed_token_ids().tolist() == [1, 2]
        assert matcher.accept_token(eos)


def test_a_constraint_is_compiled_once_per_vocabulary() -> None:
    first, second = (md.Vocabulary.from_tokens(["a", "</s>"], eos=1) for _ in range(2))
    other = md.Vocabulary.from_tokens(["a", "b", "</s>"], eos=2)
    assert md.compile_regex("a{3}", first) is md.compile_regex("a{3}", second)
    assert md.compile_regex("a{3}", other) is not md.compile_regex("a{3}", first)


def test_vocabularies_that_print_eos_differently_share_no_constraint() -> None:
    named = {text: md.Vocabulary.from_tokens(["a", text], eos=1) for text in ("</s>", "<eot>")}
    for text, vocabulary in named.items():
        assert md.explain(md.compile_regex("a{4}", vocabulary).matcher(), 1).sentence.startswith(
            f"`■ {text}`"
        )


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads take turns after every few bytecodes, so that what can go wrong does."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("restless")
def test_eight_threads_make_the_masks_of_one_constraint_at_the_same_time() -> None:
    """No state was met before; each thread takes a way of its own; the definition of the index judges."""
    vocabulary = md.Vocabulary.from_tokens([*LESSON, *map(str, range(100)), " ", ", "], eos=0)
    automaton = lower_to_bytes(compile_dfa(r"([0-9]{1,30}\.[0-9]{2},? ){2}"))
    constraint = Constraint("fresh", vocabulary, automaton, build_index(automaton, vocabulary))
    table = naive_index(automaton, [State(q) for q in range(1, len(automaton.table))], vocabulary)
    ready, walks, faults = threading.Barrier(8), [], []

    def walk(seed: int) -> None:
        choose, matcher, seen = random.Random(seed), constraint.matcher(), []
        ready.wait()
        try:
            while not matcher.is_terminated and matcher.steps < 300:
                allowed = ids(matcher)
                seen.append((matcher.state, allowed))
                assert matcher.accept_token(choose.choice(allowed))
        except BaseException as fault:  # a thread that dies must not pass for one that found nothing
            faults.append(fault)
        walks.append(seen)

    threads = [threading.Thread(target=walk, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert len({state for seen in walks for state, _ in seen}) > 20
    for state, allowed in (pair for seen in walks for pair in seen):
        assert set(allowed) == set(table[state]) | ({0} if automaton.is_accepting(state) else set())


class Forgetful:
    """A lazy machine for `a*`: a state lives as long as somebody holds it, then its number means nothing."""

    class Held:
        def __init__(self, number: int) -> None:
            self.number = number

    def __init__(self) -> None:
        self.start, self.states = State(1), weakref.WeakValueDictionary[int, Forgetful.Held]()
        self.next, self.nbytes = 2, 0
        self.first = self.states[1] = self.Held(1)

    def __contains__(self, state: object) -> bool:
        return state == DEAD or state in self.states

    def after(self, state: State, token_id: int) -> State:
        assert state in self, "a state was forgotten while a matcher stood on it"
        if token_id != 1:
            return DEAD
        self.fresh = self.states[self.next] = self.Held(self.next)
        self.next += 1
        return State(self.next - 1)

    def step(self, state: State, byte: int) -> State:
        return self.after(state, 1 if byte == ord("a") else 0)

    def hold(self, state: State) -> object:
        return self.states[state]

    def is_accepting(self, state: State) -> bool:
        return state in self.states

    def mask_key(self, state: State) -> int:
        return min(state, 1)

    def allowed(self, state: State) -> np.ndarray:
        return np.array([False, state != DEAD])

    def bitmask(self, state: State) -> bitmask.Bitmask:
        return bitmask.pack(self.allowed(state))

    def is_alive(self, state: State) -> bool:
        return state in self.states

    def name(self, state: State) -> str:
        return f"s{state}"

    def live_bytes(self, state: State) -> list[int]:
        return [ord("a")]


def test_a_matcher_keeps_alive_each_state_it_may_go_back_to() -> None:
    machine: Any = Forgetful()
    constraint = Constraint("a*", md.Vocabulary.from_tokens(["</s>", "a"], eos=0), machine, machine)
    matcher = constraint.matcher()
    for _ in range(5):
        assert matcher.accept_token(1)
    assert matcher.accept_string("a")
    assert matcher.accept_token(0)
    fork = matcher.fork()
    matcher.rollback(6)
    machine.fresh = None
    gc.collect()
    assert len(machine.states) == 7, "the fork still holds what its origin let go"
    while fork.steps:
        fork.rollback(1)
        assert ids(fork) == [0, 1]
    fork.reset()
    matcher.reset()
    gc.collect()
    assert len(machine.states) == 1, "only the start, which the machine itself keeps"


def test_a_copy_is_a_fork(price: md.Constraint) -> None:
    matcher = price.matcher()
    matcher.accept_token(2)
    other = copy.copy(matcher)
    assert other.accept_token(4)
    assert (matcher.steps, other.steps) == (1, 2)
    assert ids(matcher) == [1, 2, 3, 4, 5, 6, 7, 8]


BRACKETS = 'root ::= "[" root "]" | "1"'


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("compile_", ["regex", "grammar"])
def test_what_runs_cannot_be_pickled_and_says_what_to_send_instead(compile_: str, protocol: int) -> None:
    vocabulary = md.Vocabulary.from_tokens([*"[]1", "</s>"], eos=3)
    is_regex = compile_ == "regex"
    constraint = md.compile_regex("1+", vocabulary) if is_regex else md.compile_grammar(BRACKETS, vocabulary)
    for held in (constraint, {"model": [constraint]}, make_budget(constraint)):
        with pytest.raises(md.UsageError, match=r"send the pattern.*compile it again in the other process"):
            pickle.dumps(held, protocol)
    with pytest.raises(md.UsageError, match=r"a Matcher cannot be pickled.*take the text with accept_string"):
        pickle.dumps(constraint.matcher(), protocol)
    source, sent = pickle.loads(pickle.dumps((constraint.source, vocabulary), protocol))
    assert (source, sent.hash) == (constraint.source, vocabulary.hash), "what is to be sent can be"


def test_a_deep_copy_is_a_fork_of_the_same_constraint(price: md.Constraint) -> None:
    matcher = price.matcher()
    matcher.accept_token(2)
    other = copy.deepcopy({"a": [matcher]})["a"][0]
    assert other.constraint is price is copy.deepcopy(price) is copy.copy(price)
    assert other.accept_token(4)
    assert (matcher.steps, other.steps) == (1, 2)


@pytest.mark.parametrize("token_id", [np.int64(2), np.uint8(2), np.array(2)])
def test_ids_come_out_of_numpy_too(price: md.Constraint, token_id: Any) -> None:
    matcher = price.matcher()
    assert matcher.accept_token(token_id)
    assert matcher.is_allowed(token_id)


def test_reprs_say_what_a_person_wants_to_know(price: md.Constraint) -> None:
    assert "5 states" in repr(price)
    assert "index: " in repr(price)
    matcher = price.matcher()
    matcher.accept_token(2)
    assert "s1" in repr(matcher)
    assert copy.copy(price) is not None
