"""Exercise 03 grades as it says: the starter nothing, the answer all, each wrong idea what it must lose."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import minidecoder as md
from exercises.checks import check_of
from exercises.feedback import Outcome, card, explain
from exercises.grading import Workers, checks_in, grade, outcome_of
from exercises.machines import live_states, machine
from minidecoder.tokens.naive_index import naive_index

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "exercises" / "03_tokens_are_not_characters"
ANSWER = ROOT / "exercises" / "instructor" / "03_tokens_are_not_characters.py"
STARTER = FOLDER / "starter.py"
MUTANTS = sorted((FOLDER / "mutants").glob("*.py"))
WRONG = sorted((ROOT / "tests" / "data" / "exercise_03_wrong").glob("*.py"))
PATIENCE_S = 60.0


def outcomes_of(path: Path) -> dict[str, Outcome]:
    return grade(FOLDER, path, limit_s=PATIENCE_S)


def points(outcomes: dict[str, Outcome]) -> int:
    return sum(outcome.points for outcome in outcomes.values())


def constants(path: Path) -> dict[str, Any]:
    """The literal assignments of a file, read without running it."""
    assignments = [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.Assign)]
    return {ast.unparse(node.targets[0]): ast.literal_eval(node.value) for node in assignments}


def test_the_starter_gets_no_points_and_says_what_is_to_be_done() -> None:
    outcomes = outcomes_of(STARTER)
    assert points(outcomes) == 0
    assert {o.wrong.kind for o in outcomes.values() if o.wrong} == {"to do"}
    assert sum("not written yet" in line for line in card("", list(outcomes.values()), width=80)) == 3


def test_the_answer_gets_all_points() -> None:
    outcomes = outcomes_of(ANSWER)
    assert [name for name, outcome in outcomes.items() if outcome.wrong] == []
    assert points(outcomes) == 10


def test_there_are_at_least_four_mutants() -> None:
    assert len(MUTANTS) >= 4


@pytest.mark.parametrize("path", MUTANTS, ids=lambda path: path.stem)
def test_each_mutant_loses_exactly_what_it_names_and_triggers_its_hint(path: Path) -> None:
    declared = constants(path)
    outcomes = outcomes_of(path)
    assert {name: o.check.points for name, o in outcomes.items() if o.wrong} == declared["LOSES"]
    hints = [outcome.wrong.hint or "" for outcome in outcomes.values() if outcome.wrong]
    assert all(declared["HINT"] in hint for hint in hints)


def test_two_or_more_wrong_solutions_come_from_people_who_had_not_seen_the_checks() -> None:
    assert len(WRONG) >= 2


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.stem)
def test_wrong_solutions_by_others_are_caught_and_told_why(path: Path) -> None:
    outcomes = outcomes_of(path)
    assert points(outcomes) < 10
    for outcome in outcomes.values():
        if outcome.wrong:
            assert {label for label, _ in outcome.wrong.lines} & {"Yours", "File", "Missing", "To do"}


# What a student might well write in place of one function of the answer, and the check that must see it.
SLIPS = {
    "stops where the machine accepts": (
        "test_every_byte_of_a_token_is_one_step",
        "An accepting state is no place to stop",
        "def walk_token(automaton, state, token):\n    for byte in token:\n"
        "        state = automaton.step(state, byte)\n        if automaton.is_accepting(state): break\n    return state",
    ),
    "does not leave an accepting state": (
        "test_every_byte_of_a_token_is_one_step",
        "An accepting state is no place to stop",
        "def walk_token(automaton, state, token):\n    for byte in token:\n"
        "        if automaton.is_accepting(state): break\n        state = automaton.step(state, byte)\n    return state",
    ),
    "decodes the tokens of the index": (
        "test_a_row_holds_the_tokens_that_live",
        "Bytes, not characters",
        "right = build_index\ndef build_index(automaton, states, tokens, eos_id):\n"
        "    for t in tokens: t.decode()\n    return right(automaton, states, tokens, eos_id)",
    ),
    "takes every empty token for EOS": (
        "test_eos_is_allowed_exactly_in_accepting_states",
        "whose id is `eos_id`",
        "def build_index(automaton, states, tokens, eos_id):\n"
        "    return {s: {i: walk_token(automaton, s, t) if t and i != eos_id else s for i, t in enumerate(tokens)\n"
        "            if (automaton.is_accepting(s) if i == eos_id or not t else walk_token(automaton, s, t))} for s in states}",
    ),
    "walks over the text of EOS": (
        "test_eos_is_allowed_exactly_in_accepting_states",
        "whose id is `eos_id`",
        "def build_index(automaton, states, tokens, eos_id):\n"
        "    return {s: {i: walk_token(automaton, s, t) for i, t in enumerate(tokens) if walk_token(automaton, s, t)\n"
        "            and (i != eos_id or automaton.is_accepting(s))} for s in states}",
    ),
    "skips token 0": (
        "test_every_way_is_found",
        "EOS need not be id 0",
        "def segmentations(text, tokens):\n    if not text: return [[]]\n"
        "    return [[i, *way] for i in range(1, len(tokens)) if tokens[i] and text.startswith(tokens[i])\n"
        "            for way in segmentations(text[len(tokens[i]):], tokens)]",
    ),
    "walks from the start of the machine": (
        "test_every_byte_of_a_token_is_one_step",
        "Begin at `state`",
        "def walk_token(automaton, state, token):\n    state = automaton.start\n"
        "    for byte in token: state = automaton.step(state, byte)\n    return state",
    ),
    "takes one step only": (
        "test_every_byte_of_a_token_is_one_step",
        "One step is not a walk",
        "def walk_token(automaton, state, token):\n    return automaton.step(state, token[0])",
    ),
    "asks for the number of a number": (
        "test_every_byte_of_a_token_is_one_step",
        "whole numbers already",
        "def walk_token(automaton, state, token):\n"
        "    for byte in token: state = automaton.step(state, ord(byte))\n    return state",
    ),
    "skips the bytes that it cannot decode": (
        "test_a_token_may_end_inside_a_character",
        "Bytes, not characters",
        "def walk_token(automaton, state, token):\n    for c in token.decode('utf-8', 'ignore'):\n"
        "        for byte in c.encode(): state = automaton.step(state, byte)\n    return state",
    ),
    "leaves out empty rows": (
        "test_a_row_holds_the_tokens_that_live",
        "a row of its own, even an empty one",
        "def build_index(automaton, states, tokens, eos_id):\n    index = {}\n    for s in states:\n"
        "        for i, t in enumerate(tokens):\n            q = walk_token(automaton, s, t)\n"
        "            if q and i != eos_id: index.setdefault(s, {})[i] = q\n    return index",
    ),
    "forgets EOS": (
        "test_eos_is_allowed_exactly_in_accepting_states",
        "EOS needs a rule of its own",
        "def build_index(automaton, states, tokens, eos_id):\n"
        "    return {s: {i: walk_token(automaton, s, t) for i, t in enumerate(tokens)\n"
        "            if t and walk_token(automaton, s, t)} for s in states}",
    ),
    "takes 0 for the id of EOS": (
        "test_eos_is_allowed_exactly_in_accepting_states",
        "need not be 0",
        "def build_index(automaton, states, tokens, eos_id):\n"
        "    return {s: {i: walk_token(automaton, s, t) for i, t in enumerate(tokens)\n"
        "            if (automaton.is_accepting(s) if i == 0 else walk_token(automaton, s, t))} for s in states}",
    ),
    "sends EOS to DEAD": (
        "test_eos_is_allowed_exactly_in_accepting_states",
        "the machine stays",
        "def build_index(automaton, states, tokens, eos_id):\n"
        "    return {s: {i: walk_token(automaton, s, t) if i != eos_id else 0 for i, t in enumerate(tokens)\n"
        "            if (automaton.is_accepting(s) if i == eos_id else walk_token(automaton, s, t))} for s in states}",
    ),
    "has no way for the empty text": (
        "test_every_way_is_found",
        "when nothing is left to write?",
        "def segmentations(text, tokens):\n"
        "    return [[i, *way] for i, t in enumerate(tokens) if t and text.startswith(t)\n"
        "            for way in segmentations(text[len(t):], tokens)]",
    ),
    "takes EOS for a token of the text": (
        "test_every_way_is_found",
        "a token that writes nothing",
        "def segmentations(text, tokens):\n    if not text: return [[]]\n"
        "    return [[i, *way] for i, t in enumerate(tokens) if text.startswith(t)\n"
        "            for way in segmentations(text[len(t):], tokens)]",
    ),
    "keeps ways that break off": (
        "test_every_way_is_found",
        "no byte is left over",
        "def segmentations(text, tokens):\n    ways = [[i, *way] for i, t in enumerate(tokens)\n"
        "        if t and text.startswith(t) for way in segmentations(text[len(t):], tokens)]\n"
        "    return ways or [[]]",
    ),
    "takes an empty text for an impossible one": (
        "test_empty_and_impossible_texts_are_told_apart",
        "Ask two questions",
        "def segmentations(text, tokens):\n"
        "    return _go(text, tokens) if text else []\n"
        "def _go(text, tokens):\n    return [[]] if not text else [[i, *way] for i, t in enumerate(tokens)\n"
        "        if t and text.startswith(t) for way in _go(text[len(t):], tokens)]",
    ),
    "uses each token once": (
        "test_every_way_is_found",
        "no one right next token",
        "from itertools import permutations\ndef segmentations(text, tokens):\n"
        "    ids = [i for i, t in enumerate(tokens) if t]\n"
        "    return [list(way) for n in range(len(ids) + 1) for way in permutations(ids, n)\n"
        "            if b''.join(tokens[i] for i in way) == text]",
    ),
}


@pytest.mark.parametrize("name", SLIPS)
def test_a_likely_slip_gets_the_hint_that_fits_it(name: str, tmp_path: Path) -> None:
    caught_by, hint, code = SLIPS[name]
    outcomes = outcomes_of(changed(tmp_path, code))
    first = next(name for name, outcome in outcomes.items() if outcome.wrong)
    assert first == caught_by
    assert hint in str(outcomes[first].wrong.hint)  # type: ignore[union-attr]


BRUTE = """
from itertools import product
def segmentations(text, tokens):
    ids = [i for i, t in enumerate(tokens) if t]
    return [list(w) for n in range(len(text) + 1) for w in product(ids, repeat=n)
            if b"".join(tokens[i] for i in w) == text]
"""


def one_check(name: str, path: Path, *, limit_s: float = PATIENCE_S) -> Outcome:
    workers = Workers()
    try:
        workers.of(path).ask(
            "nothing", (), PATIENCE_S
        )  # the limit is for the call, not for a busy machine's start
        return outcome_of(checks_in(FOLDER)[name], workers, path, limit_s=limit_s)
    finally:
        workers.stop()


def changed(tmp_path: Path, code: str) -> Path:
    """The answer, with some functions written anew."""
    path = tmp_path / "changed.py"
    path.write_text(f"{ANSWER.read_text('utf-8')}\n\n{code}\n", encoding="utf-8")
    return path


def test_brute_force_does_not_finish_a_long_text_and_is_told_the_limit(tmp_path: Path) -> None:
    outcome = one_check("test_a_long_text_takes_no_longer_than_its_ways", changed(tmp_path, BRUTE), limit_s=1)
    assert outcome.wrong is not None
    assert "30 bytes, and the limit is 10 seconds" in str(outcome.wrong.hint)


def test_a_loop_without_end_is_asked_and_not_told_what_it_does(tmp_path: Path) -> None:
    path = changed(tmp_path, "def segmentations(text, tokens):\n    while True: pass")
    outcome = one_check("test_every_way_is_found", path, limit_s=1)
    assert outcome.wrong is not None
    assert str(outcome.wrong.hint).startswith("If ")


WRONG_WALKS = {
    "a typo": "def walk_token(automaton, state, token):\n    return automaton.stepp(state, token[0])",
    "not written yet": "def walk_token(automaton, state, token):\n    raise NotImplementedError",
    "one step only": "def walk_token(automaton, state, token):\n    return automaton.step(state, token[0])",
}


@pytest.mark.parametrize("name", WRONG_WALKS)
def test_a_mistake_in_task_1_does_not_cost_task_2(name: str, tmp_path: Path) -> None:
    outcomes = outcomes_of(changed(tmp_path, WRONG_WALKS[name]))
    by_task = [sum(o.points for o in outcomes.values() if o.check.task.number == n) for n in (1, 2, 3)]
    assert by_task[0] < 3
    assert by_task[1:] == [4, 3]
    assert "(with task 1 mended)" in "\n".join(card("", list(outcomes.values()), width=80))


def test_a_mistake_of_task_2_keeps_its_own_hint_beside_one_of_task_1(tmp_path: Path) -> None:
    decodes = "def walk_token(automaton, state, token):\n    for c in token.decode(): state = automaton.step(state, ord(c))\n"
    everywhere = (
        "def build_index(automaton, states, tokens, eos_id):\n"
        "    return {s: {i: q for i, t in enumerate(tokens) if (q := s if i == eos_id else walk_token(automaton, s, t))}\n"
        "            for s in states}"
    )
    outcomes = outcomes_of(changed(tmp_path, f"{decodes}    return state\n{everywhere}"))
    text = " ".join(" ".join(card("", list(outcomes.values()), width=88)).split())
    assert "EOS needs a rule of its own" in text
    assert "where each leads (with task 1 mended)" in text


def test_what_is_left_of_task_2_with_task_1_mended_says_so(tmp_path: Path) -> None:
    code = (
        "def walk_token(automaton, state, token):\n    return automaton.stepp(state, 0)\n"
        "def build_index(automaton, states, tokens, eos_id):\n"
        "    return {s: {i: q for i, t in enumerate(tokens) if (q := walk_token(automaton, s, t))} for s in states}"
    )
    outcome = one_check("test_eos_is_allowed_exactly_in_accepting_states", changed(tmp_path, code))
    text = " ".join(explain(outcome, width=200))
    assert "With a right walk_token in its place, this is left" in text
    assert "EOS needs a rule of its own" in text


def test_padding_may_be_in_the_rows_or_not(tmp_path: Path) -> None:
    code = (
        "right = build_index\ndef build_index(automaton, states, tokens, eos_id):\n"
        "    return {s: {i: q for i, q in row.items() if tokens[i] or i == eos_id}\n"
        "            for s, row in right(automaton, states, tokens, eos_id).items()}"
    )
    assert points(outcomes_of(changed(tmp_path, code))) == 10


def test_every_check_is_failed_by_some_wrong_solution() -> None:
    seen = {name for path in MUTANTS for name in constants(path)["LOSES"]} | {
        slip[0] for slip in SLIPS.values()
    }
    assert seen == set(checks_in(FOLDER))


def test_the_examples_in_the_starter_are_true() -> None:
    starter, answer = runpy.run_path(str(STARTER)), runpy.run_path(str(ANSWER))
    names = ["walk_token", "build_index", "segmentations"]
    globs = starter | {"State": md.State} | {name: answer[name] for name in names}
    texts = [starter["__doc__"], *(starter[name].__doc__ for name in names)]
    for text in texts:
        test = doctest.DocTestParser().get_doctest(text, globs, "starter", None, None)
        assert test.examples
        assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


def test_a_call_copied_from_the_feedback_means_the_same_in_the_starter() -> None:
    starter = runpy.run_path(str(STARTER))
    for pattern in (r"[0-9]+\.[0-9]{2}", "a*b", "[ab]c", "😀", "é|ê"):
        theirs, ours = starter["machine"](pattern), machine(pattern)
        assert live_states(theirs) == live_states(ours)
        moves = [
            [(a.step(s, b), a.is_accepting(s)) for s in live_states(a) for b in range(256)]
            for a in (theirs, ours)
        ]
        assert moves[0] == moves[1]
    some_check: Any = next(iter(checks_in(FOLDER).values()))
    assert starter["TOKENS"] == some_check.__globals__["TOKENS"]


def test_starter_answer_and_checks_agree_on_signatures_and_on_how_long_an_answer_is() -> None:
    starter, answer = runpy.run_path(str(STARTER)), runpy.run_path(str(ANSWER))
    tasks = {found.task for function in checks_in(FOLDER).values() if (found := check_of(function))}
    assert {task.number for task in tasks} == {1, 2, 3}
    for task in tasks:
        assert inspect.signature(starter[task.function]) == inspect.signature(answer[task.function])
        assert list(inspect.signature(answer[task.function]).parameters) == task.argument_names
        assert f"task {task.number}: about {task.lines} lines" in STARTER.read_text("utf-8")
        assert abs(len(body(ANSWER, task.function)) - task.lines) <= 3


def body(path: Path, function: str) -> list[str]:
    """The lines of a function of a file, without its signature and docstring."""
    text = path.read_text("utf-8")
    (node,) = [n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == function]
    return text.splitlines()[node.body[1].lineno - 1 : node.end_lineno]


def test_the_answer_is_the_packages_own_index_and_finds_the_three_ways_of_the_lesson() -> None:
    starter, answer = runpy.run_path(str(STARTER)), runpy.run_path(str(ANSWER))
    price, tokens = machine(r"[0-9]+\.[0-9]{2}"), starter["TOKENS"]
    vocabulary = md.Vocabulary.from_tokens(["</s>", *tokens[1:]], eos="</s>")
    states = live_states(price)
    index = answer["build_index"](price, states, tokens, 0)
    ours = {state: {t: q for t, q in row.items() if t != 0} for state, row in index.items()}
    assert ours == naive_index(price, states, vocabulary)
    ways = answer["segmentations"](b"12.50", tokens)
    assert sorted("|".join(tokens[i].decode() for i in way) for way in ways) == [
        "12|.5|0",
        "12|.|50",
        "12|.|5|0",
    ]


def test_the_readme_names_the_true_points_and_shows_feedback_as_it_is(tmp_path: Path) -> None:
    readme = (FOLDER / "README.md").read_text("utf-8")
    by_task: dict[int, int] = {}
    for function in checks_in(FOLDER).values():
        found = check_of(function)
        assert found is not None
        by_task[found.task.number] = by_task.get(found.task.number, 0) + found.points
    assert f"task 1 gives {by_task[1]}, task 2 gives {by_task[2]}, task 3 gives {by_task[3]}" in readme
    assert re.search(r"\| Points \| 10:", readme)

    path = tmp_path / "identity.py"
    path.write_text("def walk_token(automaton, state, token):\n    return state\n", encoding="utf-8")
    outcome = outcomes_of(path)["test_every_byte_of_a_token_is_one_step"]
    for line in explain(outcome, width=88)[:-2]:  # the hint is left for the student to meet
        assert line in readme
