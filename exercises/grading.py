"""Grade one solution against one exercise, without pytest: the way notebooks, tests and graders do it.

    outcomes = grade(folder, path)
    sum(outcome.points for outcome in outcomes.values())

A mistake counts once: a check that fails in a task which builds on another is tried again with a right
function in the place of that one (`outcome_of`). Left out: an isolated process for the checks
themselves. Cost: one or two worker processes, some seconds at most where nothing hangs.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from exercises.checks import Task, Wrong, check_of
from exercises.feedback import Outcome
from exercises.solution import Solution, Worker

__all__ = ["Workers", "checks_in", "grade", "outcome_of"]

CheckFunction: TypeAlias = Callable[[Solution], None]


class Workers:
    """The processes of a run. Those of one file run at a time, for a lecturer may grade a whole class."""

    def __init__(self) -> None:
        self._all: dict[tuple[Path, str], Worker] = {}

    def of(self, path: Path, stand_in: str = "") -> Worker:
        for (other, _), worker in self._all.items():
            if other != path:
                worker.stop()
        return self._all.setdefault((path, stand_in), Worker(path, stand_in))

    def stop(self) -> None:
        for worker in self._all.values():
            worker.stop()


def checks_in(folder: Path) -> dict[str, CheckFunction]:
    """The checks of an exercise, by name, in the order in which they are written."""
    (path,) = folder.glob("test_*.py")
    spec = importlib.util.spec_from_file_location(f"checks_of_{folder.name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: value for name, value in vars(module).items() if check_of(value)}


def grade(folder: Path, path: Path, *, limit_s: float | None = None) -> dict[str, Outcome]:
    """One outcome for each check, by the check's name. `limit_s` overrides the checks' own limits."""
    workers = Workers()
    try:
        return {
            name: outcome_of(function, workers, path, limit_s=limit_s)
            for name, function in checks_in(folder).items()
        }
    finally:
        workers.stop()


def outcome_of(
    function: CheckFunction, workers: Workers, path: Path, *, limit_s: float | None = None
) -> Outcome:
    """The verdict of one check, with a second try where the mistake may lie in the task it builds on."""
    check = check_of(function)
    assert check is not None
    wrong = _tried(function, workers.of(path), limit_s)
    base = check.task.builds_on
    if wrong is None or base is None or not base.stand_in or wrong.kind == "file":
        return Outcome(check, wrong)
    # Where the student's function does not call the other one, the second try fails like the first.
    left = _tried(function, workers.of(path, base.stand_in), limit_s)
    if left is None:
        return Outcome(check, mended=True)
    return Outcome(check, wrong if left.lines == wrong.lines else _noted(left, base))


def _tried(function: CheckFunction, worker: Worker, limit_s: float | None) -> Wrong | None:
    check = check_of(function)
    assert check is not None
    try:
        function(Solution(worker, check, limit_s=limit_s))
    except Wrong as wrong:
        return wrong
    return None


def _noted(left: Wrong, base: Task) -> Wrong:
    """What is wrong even so. Its hint is about this task alone, so it is true."""
    text = f"Task {base.number} has a mistake too. With a right {base.function} in its place, this is left:"
    return Wrong([("Note", text), *left.lines], kind=left.kind, hint=left.hint)
