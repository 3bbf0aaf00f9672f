"""Grade one solution against one exercise, without pytest: the way notebooks, tests and graders do it.

    outcomes = grade(folder, path)
    sum(outcome.points for outcome in outcomes)

Left out: an isolated process for the checks themselves. Cost: one worker process, some seconds at most
where nothing hangs.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

from exercises.checks import Wrong, check_of
from exercises.feedback import Outcome
from exercises.solution import Solution, Worker

__all__ = ["checks_in", "grade"]


def checks_in(folder: Path) -> dict[str, Callable[[Solution], None]]:
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
    worker = Worker(path)
    try:
        return {name: _run(function, worker, limit_s) for name, function in checks_in(folder).items()}
    finally:
        worker.stop()


def _run(function: Callable[[Solution], None], worker: Worker, limit_s: float | None) -> Outcome:
    check = check_of(function)
    assert check is not None
    try:
        function(Solution(worker, check, limit_s=limit_s))
    except Wrong as wrong:
        return Outcome(check, wrong)
    return Outcome(check)
