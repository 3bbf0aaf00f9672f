"""The machinery that grades exercises: whatever a student's file does, the feedback is plain and the score right.

A tiny exercise of two tasks stands in for the real ones; the last part runs plain pytest on a real one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exercises.checks import Call, Task, Wrong, check, check_of, dict_of, is_int, list_of
from exercises.feedback import Outcome, card, explain
from exercises.machines import edges, machine, show_machine, typed, walked
from exercises.score_card import _markup
from exercises.solution import Solution, Worker
from minidecoder.automaton import State

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "exercises" / "03_tokens_are_not_characters"
ANSWER = ROOT / "exercises" / "instructor" / "03_tokens_are_not_characters.py"
PATIENCE_S = 60.0  # where no limit is being tried: a busy machine must not look like a slow student

DOUBLE = Task(1, "double(number)", "an int", is_int, lines=1)
TOTAL = Task(2, "total(numbers)", "an int", is_int, lines=3)
GOOD_DOUBLE = "def double(number):\n    return 2 * number\n"
GOOD_TOTAL = "def total(numbers):\n    return sum(numbers)\n"


@check(
    DOUBLE, points=2, hint="Twice, not squared.", hint_for={"ZeroDivisionError": "Nothing is divided here."}
)
def double_is_twice(solution: Solution) -> None:
    """Twice the number."""
    for number in (2, 3):
        call = Call((number,), f"({number})", str(2 * number), "Two is twice one.")
        if (yours := solution.answer(call)) != 2 * number:
            solution.refute(call, str(yours))


@check(TOTAL, points=3, hint="All of them.")
def total_is_the_sum(solution: Solution) -> None:
    """All numbers are counted."""
    call = Call(([3, 1, 2],), "([3, 1, 2])", "6", "A sum leaves nothing out.")
    if (yours := solution.answer(call)) != 6:
        solution.refute(call, str(yours))


Grade = Callable[..., list[Outcome]]


@pytest.fixture
def grade(tmp_path: Path) -> Grade:
    """Grades the text of a solution file with the two checks."""

    def run(text: str, *, limit_s: float = PATIENCE_S) -> list[Outcome]:
        path = tmp_path / "my_answer.py"
        path.write_text(text, encoding="utf-8")
        worker = Worker(path)
        try:
            return [_outcome(function, worker, limit_s) for function in (double_is_twice, total_is_the_sum)]
        finally:
            worker.stop()

    return run


def _outcome(function: Callable[..., None], worker: Worker, limit_s: float) -> Outcome:
    found = check_of(function)
    assert found is not None
    try:
        function(Solution(worker, found, limit_s=limit_s))
    except Wrong as wrong:
        return Outcome(found, wrong)
    return Outcome(found)


def told(outcome: Outcome) -> str:
    """The feedback as one line of words."""
    return " ".join(" ".join(explain(outcome, width=100)).split())


def test_right_answers_get_all_points(grade: Grade) -> None:
    assert [outcome.points for outcome in grade(GOOD_DOUBLE + GOOD_TOTAL)] == [2, 3]


TROUBLES = {
    "a wrong value": ("def double(number): return number * number", "double(3) Yours 9 Expected 6"),
    "not written yet": ("def double(number): raise NotImplementedError('task 1')", "To do not written yet"),
    "a missing function": ("def duble(number): return 2", "Define: def double(number)"),
    "a value of that name": ("double = 5", "a value of type int, not a function"),
    "too many arguments": (
        "def double(number: int, by: int) -> int: return 1",
        "Yours def double(number, by)",
    ),
    "too few arguments": ("def double() -> int: return 1", "Expected def double(number)"),
    "an exception": (
        "def double(number):\n    x = {}\n    return x[number]",
        "KeyError: 2 Line 3 return x[number]",
    ),
    "an exception in a helper": ("def double(n): return half(n)\ndef half(n): return n / 0", "Line 2"),
    "an exception with a hint of its own": ("def double(n): return n / 0", "Hint Nothing is divided here."),
    "endless recursion": ("def double(n): return double(n)", "calls itself without end"),
    "None": ("def double(number): number * 2", "None: is there a `return`? Expected 4"),
    "another type": (
        "def double(number): return str(number * 2)",
        "Yours '4' Expected 4 Form double returns an int",
    ),
    "a bool": ("def double(number): return True", "Form double returns an int"),
    "a generator": ("def double(number): yield 2", "something that is or holds a generator"),
    "an object of its own": (
        "class Any:\n    def __eq__(self, other): return True\n    def __repr__(self): return '4'\n"
        "def double(number): return Any()",
        "something that is or holds a solution.Any",
    ),
    "nonsense nested beyond reading": (
        "def double(n):\n    x = []\n    for _ in range(400): x = [x]\n    return x",
        "Expected 4",
    ),
    "a list that holds itself": (
        "def double(n):\n    x = []\n    x.append(x)\n    return x",
        "an answer too long, or too deeply nested, to be read",
    ),
    "an int of 5000 digits": ("def double(n): return [[10**5000]]", "an answer too long"),
    "not a number": ("def double(n): return float('nan')", "holds a float of the value nan Expected 4 Form"),
    "infinity within": ("def double(n): return [{1: -float('inf')}]", "holds a float of the value -inf"),
    "a built-in function without a signature": ("double = max", "raises TypeError: 'int' object is not iter"),
    "an exception without words": (
        "class Odd(Exception):\n    def __str__(self): raise self\ndef double(n): raise Odd",
        "raises Odd: (its __str__ raises an exception too) Line 3",
    ),
    "an exception of a million words": ("def double(n): raise ValueError('a' * 10**7)", "ValueError: aaa"),
    "a forged print": ("import sys\ndef double(n): sys.stdout.send({'printed': 5})", "wrote into the pipe"),
    "a forged message": ("import sys\ndef double(n): sys.stdout.send({'nokind': 1})", "wrote into the pipe"),
    "a forged answer without a value": (
        "import sys\ndef double(n): sys.stdout.send({'kind': 'answer'})",
        "no answer: your code wrote into the pipe",
    ),
    "a message that is no dict": ("import sys\ndef double(n): sys.stdout.send({1: 2}['kind'])", "KeyError"),
    "a change of an argument that is not there": (
        "import sys\ndef double(n): sys.stdout.send({'kind': 'changed', 'argument': 7, 'call': 1})",
        "changes its argument `?`",
    ),
    "a forged reply without its call": (
        "import sys\ndef double(n): sys.stdout.send({'kind': 'answer', 'value': 4})",
        "no answer: your code wrote into the pipe",
    ),
    "a process of its own that returns too": (
        "import os\ndef double(n):\n    os.fork()\n    return 5"
        if hasattr(os, "fork")
        else "def double(n): return 5",
        "Yours 5",
    ),
    "sys.exit": ("import sys\ndef double(number): sys.exit(0)", "raises SystemExit: 0"),
    "os._exit": ("import os\ndef double(number): os._exit(0)", "ended the whole Python process"),
    "input": ("def double(number): return int(input())", "EOFError"),
    "prints of success": ("def double(number):\n    print('10 of 10')\n    return 5", "You printed 10 of 10"),
    "prints without end": ("def double(n):\n    for _ in range(10**5): print(n)\n    return 5", "Yours 5"),
}


@pytest.mark.parametrize("name", TROUBLES)
def test_trouble_in_one_task_is_said_plainly_and_costs_no_other_task(grade: Grade, name: str) -> None:
    text, words = TROUBLES[name]
    double, total = grade(f"{text}\n{GOOD_TOTAL}")
    assert (double.points, total.points) == (0, 3)
    assert words in told(double)
    assert "Traceback" not in told(double)


def test_escape_codes_of_a_student_are_shown_and_not_obeyed(grade: Grade) -> None:
    code = "\\x1b[2J\\x1b[HScore 10 of 10\\x1b[8m\\u202e"
    printed, raised = grade(
        f"def double(n):\n    print('{code}')\n    return 5\ndef total(n): raise ValueError('{code}')"
    )
    for outcome in (printed, raised):
        assert all(line.isprintable() for line in explain(outcome, width=100))
        assert r"\x1b[2J\x1b[HScore 10 of 10\x1b[8m\u202e" in told(outcome)


def test_what_a_student_prints_is_never_coloured_like_a_check_that_passed(grade: Grade) -> None:
    outcome, _ = grade("def double(n):\n    print('a\\n✓ 10/10  all')\n    return 5")
    lines = explain(outcome, width=100)
    assert any(line.strip().startswith("✓") for line in lines)
    assert not any(_markup(line)["green"] for line in lines)


FORKS = """
import os, time
def double(number):
    if os.fork() == 0:
        ESCAPE
        time.sleep(40)
        os._exit(0)
    while True: pass
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no os.fork")
@pytest.mark.parametrize("escape", ["pass", "os.setsid()"])
def test_a_child_that_holds_the_pipe_does_not_hold_the_grader(tmp_path: Path, escape: str) -> None:
    path, note = tmp_path / "my_answer.py", tmp_path / "pid"
    note_it = f"open({str(note)!r}, 'w').write(str(os.getpid()))"
    path.write_text(FORKS.replace("ESCAPE", f"{escape}; {note_it}") + GOOD_TOTAL, encoding="utf-8")
    worker = Worker(path)
    outcomes: list[Outcome] = []

    def run() -> None:
        outcomes.append(_outcome(total_is_the_sum, worker, PATIENCE_S))
        outcomes.append(_outcome(double_is_twice, worker, 1.0))
        outcomes.append(_outcome(total_is_the_sum, worker, PATIENCE_S))
        worker.stop()

    grading = threading.Thread(target=run, daemon=True)  # so that a hang is a failure
    grading.start()
    grading.join(30)
    assert not grading.is_alive()
    assert [outcome.points for outcome in outcomes] == [3, 0, 3]
    assert "still running after 1 seconds" in told(outcomes[1])
    with contextlib.suppress(OSError):  # who made a session of its own has escaped
        os.kill(int(note.read_text()), signal.SIGKILL)


@pytest.mark.parametrize("line", ["b'x' * 100_000", "b'\\n'", "b\"{'kind': 'printed', 'text': 'x'}\\n\""])
def test_a_flood_in_the_pipe_is_no_answer_and_fills_no_memory(tmp_path: Path, line: str) -> None:
    path = tmp_path / "my_answer.py"
    flood = "import sys\ndef double(number):\n    pipe = sys.stdout.send.__closure__\n"
    flood += "    (pipe,) = [c.cell_contents for c in pipe if hasattr(c.cell_contents, 'flush')]\n"
    path.write_text(flood + f"    while True: pipe.write({line})\n" + GOOD_TOTAL, encoding="utf-8")
    worker = Worker(path)
    try:
        assert _outcome(total_is_the_sum, worker, PATIENCE_S).points == 3
        flooded = _outcome(double_is_twice, worker, 1.0)
        assert any(words in told(flooded) for words in ("wrote into the pipe", "still running", "ended the"))
        assert len(worker.printed) <= 2000
        assert _outcome(total_is_the_sum, worker, PATIENCE_S).points == 3
    finally:
        worker.stop()


def test_an_import_that_forges_messages_is_told_as_such(grade: Grade) -> None:
    first, _ = grade("import sys\nsys.stdout.send({'kind': 'answer', 'value': 4})\n" + GOOD_DOUBLE)
    assert "Importing it wrote into the pipe" in told(first)


def test_a_wrong_answer_shows_the_smallest_call_and_why_it_matters_and_the_hint(grade: Grade) -> None:
    wrong, _ = grade("def double(number): return number * number" + "\n" + GOOD_TOTAL)
    assert [line.split()[0] for line in explain(wrong, width=100)] == [
        "Call",
        "Yours",
        "Expected",
        "Why",
        "Hint",
    ]
    assert "Hint Twice, not squared." in told(wrong)  # double(2) is right by accident, so double(3) is shown


def test_the_line_that_failed_is_given_in_the_students_own_file_not_in_a_library(grade: Grade) -> None:
    outcome, _ = grade("import json\ndef double(number):\n    return json.loads('{')")
    assert "Line 3 return json.loads('{')" in told(outcome)


def test_a_changed_argument_is_named(grade: Grade) -> None:
    _, total = grade(GOOD_DOUBLE + "def total(numbers):\n    numbers.sort()\n    return sum(numbers)")
    assert total.points == 0
    assert "changes its argument `numbers`" in told(total)


def test_a_value_that_lives_between_calls_is_named_as_the_cause(grade: Grade) -> None:
    text = "def double(number, seen=[]):\n    seen.append(number)\n    return 2 * seen[0]\n"
    outcome, _ = grade(text + GOOD_TOTAL)
    assert "remembers something from earlier calls" in told(outcome)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def double(number)\n    return 1", "SyntaxError: expected ':' Line 1 def double(number)"),
        ("import nonesuch", "ModuleNotFoundError: No module named 'nonesuch' Line 1 import nonesuch"),
        ("\n\nx = 1 / 0", "ZeroDivisionError: division by zero Line 3 x = 1 / 0"),
        ("import os\nos._exit(0)", "Importing it ended the whole Python process."),
        ("def double(n):\n  if n:\n\treturn 1\n        return 2", "Error"),
        ("x = '\udcff'", "cannot be imported"),
    ],
)
def test_a_file_that_cannot_be_imported_is_told_once_for_all_tasks(
    grade: Grade, text: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Path.write_text
    lenient: Any = lambda path, text, encoding: write(path, text, encoding=encoding, errors="surrogateescape")  # noqa: E731
    monkeypatch.setattr(Path, "write_text", lenient)
    outcomes = grade(text)
    assert [outcome.points for outcome in outcomes] == [0, 0]
    assert words in told(outcomes[0])
    lines = card("Exercise", outcomes, width=88)
    assert sum("cannot be imported" in line for line in lines) == 1


@pytest.mark.parametrize("text", ["# Übung\n", "x = 1\n\n\ny = 'Übung'\n"])
def test_a_file_that_python_refuses_for_its_encoding_is_refused_here_too(tmp_path: Path, text: str) -> None:
    path = tmp_path / "my_answer.py"
    path.write_text(text + GOOD_DOUBLE, encoding="latin-1")
    assert subprocess.run([sys.executable, str(path)], capture_output=True, check=False).returncode != 0
    worker = Worker(path)
    try:
        outcome = _outcome(double_is_twice, worker, PATIENCE_S)
    finally:
        worker.stop()
    line = next(number for number, line in enumerate(text.splitlines(), 1) if "Ü" in line)
    assert f"byte 0xdc is not UTF-8. Save the file in the encoding UTF-8. Line {line} " in told(outcome)


def test_a_file_that_names_its_encoding_is_read_in_it(tmp_path: Path) -> None:
    path = tmp_path / "my_answer.py"
    path.write_text("# coding: latin-1, Übung\n" + GOOD_DOUBLE, encoding="latin-1")
    worker = Worker(path)
    try:
        assert _outcome(double_is_twice, worker, PATIENCE_S).points == 2
    finally:
        worker.stop()


def test_an_import_that_never_ends_is_stopped(grade: Grade) -> None:
    first, second = grade("while True:\n    pass", limit_s=1)
    assert "Importing it was not over after 1 seconds." in told(first)
    assert second.wrong is not None


def test_an_endless_loop_is_stopped_at_the_limit_and_the_next_check_runs(tmp_path: Path) -> None:
    path = tmp_path / "my_answer.py"
    path.write_text(
        GOOD_DOUBLE + "def total(numbers):\n    print('still here')\n    while True:\n        pass", "utf-8"
    )
    worker = Worker(path)
    try:
        assert _outcome(double_is_twice, worker, PATIENCE_S).points == 2
        stuck = _outcome(total_is_the_sum, worker, 0.5)
        assert "still running after 0.5 seconds, the limit of a check" in told(stuck)
        assert "You printed still here" in told(stuck)
        assert _outcome(double_is_twice, worker, PATIENCE_S).points == 2
    finally:
        worker.stop()


def test_a_solution_may_have_helper_files_and_leaves_no_litter(grade: Grade, tmp_path: Path) -> None:
    (tmp_path / "my_helpers.py").write_text("def twice(n): return 2 * n\n", encoding="utf-8")
    text = "from my_helpers import twice\ndef double(number): return twice(number)\n" + GOOD_TOTAL
    assert [outcome.points for outcome in grade(text)] == [2, 3]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["my_answer.py", "my_helpers.py"]


def test_what_subclasses_of_plain_types_hold_is_what_counts(grade: Grade) -> None:
    text = "from enum import IntEnum\nclass N(IntEnum):\n    FOUR = 4\n    SIX = 6\n"
    assert grade(text + "def double(number): return N(2 * number)\n" + GOOD_TOTAL)[0].points == 2


def test_only_the_first_mistake_of_a_task_is_explained(grade: Grade) -> None:
    outcomes = grade("def double(number): return 5\ndef total(numbers): return 5")
    text = "\n".join(card("Exercise", [*outcomes, replace(outcomes[1])], width=88))
    assert text.count("Yours           5") == 2
    assert text.count("All of them.") == 1
    assert "(first the one above)" in text


def test_a_check_that_was_not_run_is_worth_nothing() -> None:
    found = check_of(double_is_twice)
    assert found is not None
    assert Outcome(found, was_run=False).points == 0
    lines = card("Exercise", [Outcome(found, was_run=False)], width=60)
    assert lines[-1].split() == ["Score", "not", "run"]  # "0 of 2" would look like a verdict


def test_forms_are_exact_down_to_the_leaves() -> None:
    ways = list_of(list_of(is_int))
    assert ways([[1], []])
    assert not ways([(1,)])
    assert not ways([[True]])
    assert dict_of(is_int, is_int)({1: 2})
    assert not dict_of(is_int, is_int)({"1": 2})


def test_machines_are_written_as_they_are_typed_and_on_one_line() -> None:
    assert show_machine("a*b") == 'machine("a*b")'
    assert show_machine(r"\d") == r'machine(r"\d")'
    assert edges(machine("a*b")) == "1 –a→ 1, 1 –b→ 2; 2 accepts"
    assert edges(machine("é")) == "1 –⟨C3⟩→ 3, 3 –⟨A9⟩→ 2; 2 accepts"
    assert walked(machine("ab"), State(1), b"ac") == "1 –a→ 2 –c→ DEAD"
    assert typed([b"a", b"'", b"\xf0"]) == repr([b"a", b"'", b"\xf0"])
    assert typed([b"a"]) == '[b"a"]'


# ---- plain pytest, as a student runs it -----------------------------------------------------------


def pytest_says(*arguments: str, at: Path = ROOT, **environment: str) -> tuple[int, list[str]]:
    """The exit code and the lines of `pytest`, in a terminal of 80 columns."""
    leave_out = ["-p", "no:cacheprovider", "-p", "no:hypothesispytest"]  # the second is slow to start
    command = [sys.executable, "-m", "pytest", *leave_out, *arguments]
    variables = {"COLUMNS": "80", "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1"}
    result = subprocess.run(
        command,
        cwd=at,
        env=os.environ | variables | environment,
        capture_output=True,
        encoding="utf-8",
        timeout=200,
        check=False,
    )
    return result.returncode, (result.stdout + result.stderr).splitlines()


def score(lines: list[str]) -> str:
    (line,) = [line for line in lines if line.startswith("Score")]
    return line.removeprefix("Score").strip()


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The folder of exercise 03, copied out of the repository."""
    copy = tmp_path / "my exercise"
    shutil.copytree(FOLDER, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def test_the_score_card_ends_the_run_and_is_no_wider_than_the_terminal() -> None:
    code, lines = pytest_says(
        "exercises/03_tokens_are_not_characters", "--solution", str(FOLDER / "starter.py")
    )
    assert code == 1
    assert score(lines) == "0 of 10"
    assert lines[-2].startswith("Score")  # pytest's own count is the last line
    assert "FAILURES" not in "\n".join(lines)
    card_at = lines.index("Exercise 03 · Tokens are not characters")  # the path is too long for one line
    assert lines[card_at + 1] == str(FOLDER / "starter.py")
    assert max(map(len, lines[card_at + 2 :])) <= 80


def test_the_card_names_the_file_as_it_was_given_and_one_task_alone_gives_a_card_of_that_task() -> None:
    answer = "exercises/instructor/03_tokens_are_not_characters.py"
    _, lines = pytest_says(
        "exercises/03_tokens_are_not_characters", f"--solution={answer}", "-k", "build_index"
    )
    assert answer in lines
    assert score(lines) == "4 of 4"
    assert any(line.endswith("some of the checks") for line in lines)


def test_a_short_name_stands_beside_the_title() -> None:
    _, lines = pytest_says("exercises/03_tokens_are_not_characters", "-k", "walk_token")
    assert "Exercise 03 · Tokens are not characters · starter.py · some of the checks" in lines


def test_without_pytest_timeout_the_exercises_are_graded_all_the_same() -> None:
    _, lines = pytest_says(
        "exercises/03_tokens_are_not_characters", f"--solution={ANSWER}", "-p", "no:timeout"
    )
    assert score(lines) == "10 of 10"


def test_where_nothing_ran_nothing_is_scored() -> None:
    _, lines = pytest_says("exercises/03_tokens_are_not_characters", "-o", "no_such_setting=1")
    text = "\n".join(lines)
    assert "nothing was graded: pytest stopped before the first check" in text
    assert "pip install" in text
    assert "Score" not in text
    assert "0 of" not in text


def test_a_list_of_the_checks_is_no_score() -> None:
    _, lines = pytest_says("exercises/03_tokens_are_not_characters", "--collect-only", "-q")
    assert not {"Score", "nothing"} & {line.partition(" ")[0] for line in lines}


def test_several_files_each_get_a_card_and_a_line_in_the_table(copied: Path) -> None:
    for name, file in {"anna": ANSWER, "ben": FOLDER / "starter.py"}.items():
        (copied / name).mkdir()
        shutil.copy(file, copied / name / "starter.py")
    code, lines = pytest_says("--solution=anna/starter.py", "--solution=ben/starter.py", at=copied)
    assert code == 1
    assert [line.split()[1] for line in lines if line.startswith("Score")] == ["10", "0"]
    table = lines[lines.index("All files") + 1 :]
    assert table[:2] == ["  10 of 10  anna/starter.py", "   0 of 10  ben/starter.py"]
    titles = [line for line in lines if line.startswith("Exercise 03")]
    assert [title.rpartition(" · ")[2] for title in titles] == ["anna/starter.py", "ben/starter.py"]


def test_pytest_inside_the_folder_of_the_exercise_works_too() -> None:
    code, lines = pytest_says(f"--solution={ANSWER}", at=FOLDER)
    assert (code, score(lines)) == (0, "10 of 10")


def test_a_copy_of_the_folder_is_graded_where_it_lies(copied: Path) -> None:
    code, lines = pytest_says(at=copied)
    assert (code, score(lines)) == (1, "0 of 10")


def test_a_file_in_a_copy_of_the_folder_is_named_from_there(copied: Path) -> None:
    shutil.copy(ANSWER, copied / "my_answer.py")
    code, lines = pytest_says("--solution=my_answer.py", at=copied)
    assert (code, score(lines)) == (0, "10 of 10")


def test_the_environment_variable_names_the_solution_even_in_a_copy(copied: Path) -> None:
    greedy = FOLDER / "mutants" / "greedy_longest_match.py"
    code, lines = pytest_says(at=copied, MINIDECODER_SOLUTION=str(greedy))
    assert (code, score(lines)) == (1, "8 of 10")
    text = "\n".join(lines)
    assert 'segmentations(b"aa", [b"", b"a", b"aa"])' in text
    assert "Traceback" not in text
    assert "AssertionError" not in text


def test_a_file_that_is_not_there_is_one_clear_line() -> None:
    code, lines = pytest_says("exercises/03_tokens_are_not_characters", "--solution=nowhere.py")
    assert code == 4
    assert any("there is no file" in line and "nowhere.py" in line for line in lines)


def test_beside_other_tests_failures_are_listed_as_pytest_lists_them(tmp_path: Path) -> None:
    other = tmp_path / "test_other.py"
    other.write_text("def test_fails():\n    assert 'left' == 'right'\n", encoding="utf-8")
    _, lines = pytest_says(str(other), str(FOLDER), f"--solution={FOLDER / 'starter.py'}")
    text = "\n".join(lines)
    assert "'left' == 'right'" in text
    assert "not written yet: walk_token" in text
    assert score(lines) == "0 of 10"
