"""The pytest plugin: the `solution` fixture, and a score card at the end of the run.

    pytest exercises/03_tokens_are_not_characters
    pytest exercises/03_tokens_are_not_characters --solution=my_answer.py

The solution is `--solution`, else the file that MINIDECODER_SOLUTION names, else `starter.py` beside
the checks. In a run of checks alone the card takes the place of pytest's own list of failures.
Points come from the verdict of each check and from nothing that the solution prints; a check without
a verdict is worth nothing. Left out: runs with several processes (xdist) list failures, without a card.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from exercises.checks import Wrong, check_of
from exercises.feedback import Outcome, card, explain
from exercises.solution import Solution, Worker

_WIDEST: Final = 88
_WORKERS: Final = pytest.StashKey[dict[Path, Worker]]()
_GRADED: Final = pytest.StashKey[dict[str, "_Graded"]]()  # by node id

_IN_PART: Final = pytest.StashKey[bool]()  # whether -k left checks out


@dataclass
class _Graded:
    title: str
    solution: Path
    outcome: Outcome


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("exercises")
    group.addoption("--solution", metavar="FILE", help="the file to grade instead of starter.py")


@pytest.fixture
def solution(request: pytest.FixtureRequest) -> Solution:
    """The student's file, reached through a process of its own."""
    check = check_of(request.function)
    if check is None:
        raise pytest.UsageError(f"{request.node.name} uses the solution fixture and is no @check")
    workers = request.config.stash.setdefault(_WORKERS, {})
    path = _solution_path(request.config, request.path.parent)
    return Solution(workers.setdefault(path, Worker(path)), check)


def _solution_path(config: pytest.Config, folder: Path) -> Path:
    # subtle: in a folder copied out of the repository this plugin comes too late to add an option.
    named = getattr(config.option, "solution", None) or os.environ.get("MINIDECODER_SOLUTION")
    path = (config.invocation_params.dir / named) if named else folder / "starter.py"
    if not path.is_file():
        raise pytest.UsageError(f"there is no file {path} to grade")
    return path


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    for item in items:
        item.config.stash[_IN_PART] = True


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note every check as not yet run, and find the solutions before the first of them is."""
    config = session.config
    graded = config.stash.setdefault(_GRADED, {})
    for item in session.items:
        if check := check_of(getattr(item, "function", None)):
            title = getattr(getattr(item, "module", None), "TITLE", item.path.parent.name)
            path = _solution_path(config, item.path.parent)
            graded[item.nodeid] = _Graded(title, path, Outcome(check, was_run=False))
    if graded and len(graded) == len(session.items) and not hasattr(config, "workerinput"):
        config.option.tbstyle = "no"  # the card says all that the list of failures would
        reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
        reporter.reportchars = ""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    graded = item.config.stash.get(_GRADED, {}).get(item.nodeid)
    if graded is None or (call.when != "call" and call.excinfo is None):
        return report
    wrong = _as_wrong(call.excinfo.value if call.excinfo else None)
    graded.outcome = Outcome(graded.outcome.check, wrong)
    if wrong:
        report.longrepr = "\n".join(explain(graded.outcome, width=_width()))
    return report


def _as_wrong(error: BaseException | None) -> Wrong | None:
    if error is None or isinstance(error, Wrong):
        return error
    text = f"the check itself broke, please report it. {type(error).__name__}: {error}"
    return Wrong([("Not your fault", text)], kind="form")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    together: dict[tuple[str, Path], list[Outcome]] = {}
    for graded in config.stash.get(_GRADED, {}).values():
        together.setdefault((graded.title, graded.solution), []).append(graded.outcome)
    part = " · some of the checks" if config.stash.get(_IN_PART, False) else ""
    for (title, path), outcomes in together.items():
        terminalreporter.write_line("")
        for line in card(f"{title} · {path.name}{part}", outcomes, width=_width()):
            terminalreporter.write_line(line, **_markup(line))


def _markup(line: str) -> dict[str, bool]:
    sign = line.strip()[:1]
    return {"green": sign == "✓", "red": sign == "✗", "bold": line.startswith(("Exercise", "Task", "Score"))}


def _width() -> int:
    return min(_WIDEST, shutil.get_terminal_size((_WIDEST, 24)).columns)


def pytest_unconfigure(config: pytest.Config) -> None:
    for worker in config.stash.get(_WORKERS, {}).values():
        worker.stop()
