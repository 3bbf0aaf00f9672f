"""Exercise 03 · Tokens are not characters: the checks. Run them with `pytest` in this folder.

Each check goes through its questions from the smallest up and stops at the first wrong answer, so
what a student reads is a smallest counterexample.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product

from exercises.checks import LIMIT_S, Call, Task, check, dict_of, is_int, list_of
from exercises.machines import edges, live_states, machine, show_machine, show_state, typed, walked
from exercises.solution import Solution
from minidecoder.automaton import DEAD, State, walk
from minidecoder.regex.utf8 import ByteDFA

pytest_plugins = ["exercises.score_card"]  # for a copy of this folder, out of reach of exercises/conftest.py

TITLE = "Exercise 03 · Tokens are not characters"
PRICE = r"[0-9]+\.[0-9]{2}"
TOKENS = [b"", b"1", b"12", b".", b".5", b"50", b"0", b"5", b"1."]


WALK = Task(
    1,
    "walk_token(automaton, state, token)",
    "a state, which is an int (DEAD is 0)",
    is_int,
    lines=5,
    stand_in="exercises.stand_ins:walk_token",
)
INDEX = Task(
    2,
    "build_index(automaton, states, tokens, eos_id)",
    "a dict of dicts: {state: {token_id: state after the token}}, all of them ints",
    dict_of(is_int, dict_of(is_int, is_int)),
    lines=10,
    builds_on=WALK,
)
WAYS = Task(
    3,
    "segmentations(text, tokens)",
    "a list of lists of token ids (ints)",
    list_of(list_of(is_int)),
    lines=10,
)


def _ask_walk(solution: Solution, pattern: str, state: State, token: bytes, why: str) -> None:
    automaton = machine(pattern)
    expected = walk(automaton, state, token)[-1]
    call = Call(
        (automaton, state, token),
        shown=f"({_named(pattern)}, {state}, {typed(token)})",
        expected=show_state(expected),
        why=f"The walk is {walked(automaton, state, token)}. {why}",
        about=(("Machine", edges(automaton)),),
    )
    yours = solution.answer(call)
    if yours != expected:
        solution.refute(call, show_state(yours), hint=_walk_hint(automaton, state, token, yours))


def _walk_hint(automaton: ByteDFA, state: State, token: bytes, yours: int) -> str | None:
    """The hint for a walk that goes wrong in a way we know; None where the check's own must do."""
    if state != automaton.start and yours == walk(automaton, automaton.start, token)[-1]:
        return "Begin at `state`, wherever that is. The model is already half way through a text."
    if _stops_at_a_match(automaton, state, token, yours):
        return (
            "An accepting state is no place to stop: the text may end there, but this token has not ended. "
            "Every byte of it is a step."
        )
    if len(token) > 1 and yours == automaton.step(state, token[0]):
        return "One step is not a walk: every byte of the token is a step, from where the last one ended."
    return None


def _stops_at_a_match(automaton: ByteDFA, state: State, token: bytes, yours: int) -> bool:
    """Whether `yours` is where a walk ends that goes no further than an accepting state."""
    path = [state, *walk(automaton, state, token)]
    first = next((end for end in path[1:-1] if automaton.is_accepting(end)), None)
    return yours == first or (automaton.is_accepting(state) and yours == state)


def _named(pattern: str) -> str:
    return "PRICE" if pattern == PRICE else show_machine(pattern)


@check(
    WALK,
    points=2,
    hint="A token is a string of bytes, and each byte is one step, from where the last one ended. When one "
    "byte dies, the token is dead.",
    hint_for={"ord() expected": "Looping over bytes gives whole numbers already, just what `step` takes."},
)
def test_every_byte_of_a_token_is_one_step(solution: Solution) -> None:
    """Every byte of a token is one step."""
    why = "A model draws whole tokens: one illegal byte in it, and the text is broken."
    for length in (1, 2, 3):
        for pattern in ("ab", "a*b", "[ab]c", "aab"):
            for state in live_states(machine(pattern)):
                for letters in product(b"abc", repeat=length):
                    _ask_walk(solution, pattern, state, bytes(letters), why)
    for state in live_states(machine(PRICE)):
        for token in TOKENS[1:]:
            _ask_walk(solution, PRICE, state, token, why)


BYTES_NOT_CHARACTERS = (
    "Bytes, not characters: a token need not be whole characters, so never decode it. What do you get when "
    'you loop over a bytes object? Try list(b"\\xf0\\x9f").'
)


@check(
    WALK,
    points=1,
    hint=BYTES_NOT_CHARACTERS,
    hint_for={"UnicodeDecodeError": BYTES_NOT_CHARACTERS, "IndexError": BYTES_NOT_CHARACTERS},
)
def test_a_token_may_end_inside_a_character(solution: Solution) -> None:
    """A token may end inside a character."""
    why = "Real vocabularies cut é and 😀 into several tokens; such a token is legal where its bytes are."
    emoji, accent = "😀".encode(), "é".encode()
    cases = [("é", state, token) for state in (1, 3) for token in (accent[:1], accent[1:], accent)]
    cases += [("😀", 1, emoji[:end]) for end in (1, 2, 3, 4)] + [("a😀", 1, b"a" + emoji[:2])]
    cases += [("😀", 4, emoji[2:]), ("😀", 4, emoji[:2]), ("é|ê", 1, accent[:1])]
    for pattern, state, token in sorted(cases, key=lambda case: len(case[2])):
        _ask_walk(solution, pattern, State(state), token, why)


def _index_calls(patterns: Iterable[str], tokens: Sequence[bytes], eos: int, why: str) -> Iterator[_IndexRow]:
    for pattern in patterns:
        for state in live_states(machine(pattern)):
            yield _IndexRow(pattern, state, list(tokens), eos, why)


class _IndexRow:
    """One row of one index: the question, the answer by definition, and the student's row."""

    def __init__(self, pattern: str, state: State, tokens: list[bytes], eos: int, why: str) -> None:
        self.automaton, self.state, self.eos = machine(pattern), state, eos
        self.accepts = self.automaton.is_accepting(state)
        self.padding = {number for number, token in enumerate(tokens) if not token and number != eos}
        self.moves = {
            number: target
            for number, token in enumerate(tokens)
            if token and number != eos and (target := walk(self.automaton, state, token)[-1]) != DEAD
        }
        expected = dict(sorted((self.moves | ({eos: state} if self.accepts else {})).items()))
        states = live_states(self.automaton)
        shown_tokens = "TOKENS" if tokens == TOKENS else typed(tokens)
        self.call = Call(
            (self.automaton, states, tokens, eos),
            shown=f"({_named(pattern)}, {states}, {shown_tokens}, {eos})[{state}]",
            expected=repr(expected),
            why=why,
            about=(("Machine", edges(self.automaton)),),
        )

    def ask(self, solution: Solution) -> dict[int, int]:
        """The student's row, in order; a missing or a spare row ends the check."""
        index = solution.answer(self.call)
        if self.state not in index:
            yours = f"KeyError: there is no row for state {self.state}"
            solution.refute(self.call, yours, hint="Each state has a row of its own, even an empty one.")
        if spare := sorted(index.keys() - set(self.call.arguments[1])):
            yours = f"a row for state {spare[0]} too"
            solution.refute(self.call, yours, hint="One row for each of `states`, and for no other state.")
        return dict(sorted(index[self.state].items()))

    def without_eos(self, row: dict[int, int]) -> dict[int, int]:
        """The row's moves. Padding, which writes nothing either, is up to the student: in or out."""
        return {n: target for n, target in row.items() if n != self.eos and n not in self.padding}

    def refute(self, solution: Solution, row: dict[int, int], hint: str | None = None) -> None:
        if DEAD in self.without_eos(row).values():
            hint = "A token that ends in DEAD is not allowed: all its bytes must live, not just the first."
        solution.refute(self.call, str(row), hint=hint)


@check(
    INDEX,
    points=2,
    hint="A token is allowed if all its bytes live, not just its first, and it leads to where the last one "
    "ends. Look at the token in question, byte by byte.",
    hint_for={"UnicodeDecodeError": BYTES_NOT_CHARACTERS},
)
def test_a_row_holds_the_tokens_that_live(solution: Solution) -> None:
    """A row holds the tokens that live, and where each leads."""
    why = "The mask is made from this row: a token too many breaks the text, one too few steers the model."
    singles = [[b"", token] for token in (b"a", b"b", b"ab", b"ba", b"aa")]
    calls = [row for tokens in singles for row in _index_calls(("a", "ab", "a*b", "aab"), tokens, 0, why)]
    calls += _index_calls([PRICE], TOKENS, 0, why)
    pieces = list(_index_calls(["é"], [b"", b"\xc3", b"\xa9"], 0, why))
    pieces += _index_calls(["😀"], [b"", b"\xf0\x9f", b"\x98\x80"], 0, why)
    for case in [*calls, *pieces]:
        row = case.ask(solution)
        if case.without_eos(row) != case.moves:
            case.refute(solution, row, BYTES_NOT_CHARACTERS if case in pieces else None)


@check(
    INDEX,
    points=1,
    hint="EOS needs a rule of its own: it writes nothing, so no byte of it can die. Ask the automaton "
    "whether the text may end here. (Its id is `eos_id`, which need not be 0.)",
)
def test_eos_is_allowed_exactly_in_accepting_states(solution: Solution) -> None:
    """EOS is allowed exactly in accepting states."""
    why = (
        "EOS ends the text. Allowed too early, it lets the model stop at `12.`; never allowed, the model "
        "cannot stop at all. As it writes nothing, the machine stays where it is."
    )
    calls = list(_index_calls(("a", "a*", "ab?"), [b"", b"a"], 0, why))
    calls += _index_calls(("a", "a*"), [b"a", b""], 1, why)
    calls += _index_calls([PRICE], TOKENS, 0, why)
    by_id = list(_index_calls(("a", "a*"), [b"a", b"</s>"], 1, why))  # some vocabularies print EOS
    by_id += _index_calls(("a", "a*"), [b"a", b"b"], 0, why)
    for case in [*calls, *by_id]:
        row = case.ask(solution)
        if row.get(case.eos) != (case.state if case.accepts else None):
            stays = "EOS writes nothing, so the machine stays: its entry is the row's own state."
            if case in by_id and row.get(case.eos) != DEAD:
                case.refute(solution, row, EOS_IS_AN_ID)
            case.refute(solution, row, stays if case.accepts and case.eos in row else None)
    _padding_is_not_eos(solution, why)


EOS_IS_AN_ID = (
    "EOS is the token whose id is `eos_id`, whatever stands in `tokens[eos_id]`. Other tokens may write "
    "nothing too (padding): they do not end a text."
)


def _padding_is_not_eos(solution: Solution, why: str) -> None:
    """A second empty token may be in every row, or in none; in accepting states alone it is taken for EOS."""
    start, end = _index_calls(["a"], [b"a", b"", b""], 1, why)
    padding = 2
    if padding in end.ask(solution) and padding not in start.ask(solution):
        end.refute(solution, end.ask(solution), EOS_IS_AN_ID)


@check(
    INDEX,
    points=1,
    hint="May end is not must end. In an accepting state the model can choose EOS, but a token that lives "
    "there is allowed as well: do not stop at the first match.",
)
def test_a_text_may_go_on_after_a_match(solution: Solution) -> None:
    """A text may go on after a match."""
    why = "If every row stops at the first match, `a*` can only write the empty text, and 7 is never 75."
    calls = list(_index_calls(("a*", "ab?", "a+", "(ab)*"), [b"", b"a", b"b", b"ab"], 0, why))
    calls += _index_calls(["[0-9]+"], TOKENS, 0, why)
    for case in calls:
        row = case.ask(solution)
        if case.accepts and not case.moves.items() <= row.items():
            case.refute(solution, row)


def _all_ways(text: bytes, tokens: Sequence[bytes]) -> list[list[int]]:
    """By definition: every sequence of tokens that is not too long, kept if it spells the text."""
    usable = [number for number, token in enumerate(tokens) if token and token in text]
    sequences = (list(way) for length in range(len(text) + 1) for way in product(usable, repeat=length))
    return [way for way in sequences if b"".join(tokens[number] for number in way) == text]


def _ask_ways(solution: Solution, text: bytes, tokens: list[bytes], why: str) -> None:
    expected = _all_ways(text, tokens)
    shown = f"({typed(text)}, {'TOKENS' if tokens == TOKENS else typed(tokens)})"
    order = ", in any order" if len(expected) > 1 else ""
    call = Call((text, tokens), shown, expected=f"{expected}{order}", why=why)
    yours = solution.answer(call)
    if sorted(yours) != sorted(expected):
        solution.refute(call, repr(yours), hint=_ways_hint(tokens, yours, expected))


def _ways_hint(tokens: Sequence[bytes], yours: list[list[int]], expected: list[list[int]]) -> str | None:
    """The hint for ways that go wrong in a way we know; None where the check's own must do."""
    if any(number in range(len(tokens)) and not tokens[number] for way in yours for number in way):
        return SPELLS_NOTHING
    missing = [way for way in expected if way not in yours]
    if tokens[0] and missing and all(0 in way for way in missing) and all(way in expected for way in yours):
        return (
            "Every way that you miss uses token 0, which writes something here. EOS need not be id 0: "
            "see what a token writes, not which number it has."
        )
    if any(yours.count(way) > 1 for way in yours):
        return "A way is found twice: do two of your branches lead to the same list of tokens?"
    if expected and _spelled(tokens, yours) == _spelled(tokens, expected):
        return "Two ids may write the same bytes, as in some real vocabularies. Each is a way of its own."
    if not yours and max(map(len, expected), default=0) == 1:
        return "No way at all: what does your function return when nothing is left to write?"
    if expected and any(way not in expected for way in yours):
        return "The tokens of a way, joined, are the text: no byte is left over, none is missing."
    return None


def _spelled(tokens: Sequence[bytes], ways: list[list[int]]) -> set[tuple[bytes, ...]]:
    return {tuple(tokens[number] for number in way if number in range(len(tokens))) for way in ways}


def _small_vocabularies() -> Iterator[list[bytes]]:
    for size in (1, 2, 3):
        yield from ([b"", *chosen] for chosen in combinations([b"a", b"b", b"aa", b"ab", b"ba"], size))


SPELLS_NOTHING = (
    "A token that writes nothing, such as EOS, belongs to no way: after taking it there is just as much text "
    "to write as before, without end."
)
IF_ENDLESS = (
    "If your code takes a token that writes nothing, such as EOS, there is just as much text to write as "
    "before, without end. If not, ask what gets shorter in each round or call, and what ends it."
)
ENDLESS = {"RecursionError": IF_ENDLESS, "still running": IF_ENDLESS}
NO_ONE_RIGHT = (
    "There is no one right next token: every token that fits opens its own ways to go on. Taking only "
    "the longest, or only the first that fits, loses the others."
)


@check(
    WAYS,
    points=1,
    hint=NO_ONE_RIGHT,
    hint_for=ENDLESS,
)
def test_every_way_is_found(solution: Solution) -> None:
    """Every way is found, and each one once."""
    why = "The mask has no favourite: a model may write the text in each of these ways, and all are legal."
    emoji = "😀".encode()
    texts = [bytes(letters) for length in (1, 2, 3) for letters in product(b"ab", repeat=length)]
    cases = list(product(texts, _small_vocabularies()))
    cases += [(b"12.50", TOKENS), (b"1112", TOKENS), (emoji, [b"", emoji[:2], emoji[2:], emoji])]
    cases += [(b"a", [b"", b"a", b"a"]), (b"aab", [b"aa", b"", b"a", b"b"])]  # EOS is not always the first
    for text, tokens in cases:
        if _all_ways(text, tokens):
            _ask_ways(solution, text, tokens, why)


@check(
    WAYS,
    points=1,
    hint=NO_ONE_RIGHT,
    hint_for={
        "still running": f"This text has 30 bytes, and the limit is {LIMIT_S:g} seconds. There are too many "
        "sequences of tokens, and too many ways to cut, to try them all: go on only from a token with which "
        "the rest of the text begins."
    },
)
def test_a_long_text_takes_no_longer_than_its_ways(solution: Solution) -> None:
    """A long text takes no longer than its ways."""
    ends = [[3, 5], [4, 6], [3, 7, 6]]  # ".50"; each zero before it is token 6 and can be no other
    call = Call(
        (b"1" + 26 * b"0" + b".50", TOKENS),
        shown='(b"1" + 26 * b"0" + b".50", TOKENS)',
        expected=f"3 ways: [1] + 26 * [6] + end, for each end in {ends}, in any order",
        why="A model's answer has hundreds of tokens. Ways that cannot fit must never be begun.",
    )
    yours = solution.answer(call)
    if sorted(yours) != sorted([1, *(26 * [6]), *end] for end in ends):
        solution.refute(call, repr(yours))


@check(
    WAYS,
    points=1,
    hint="Ask two questions. What is left when the whole text is written? And what, when no token fits? An "
    "empty list of ways is not the same as one way that is empty.",
    hint_for=ENDLESS,
)
def test_empty_and_impossible_texts_are_told_apart(solution: Solution) -> None:
    """Empty and impossible texts are told apart."""
    why = "Zero ways means: this vocabulary cannot write the text. Nothing at all can always be written."
    for text in (b"", b"b", b"ab", b"ba", b"aab"):
        _ask_ways(solution, text, [b"", b"a"], why)
    for text in (b"2", b"12.2", b"12.502"):
        _ask_ways(solution, text, TOKENS, why)
