"""The pytest plugin: the `solution` fixture, and a score card at the end of the run.

    pytest exercises/03_tokens_are_not_characters
    pytest exercises/03_tokens_are_not_characters --solution=anna.py --solution=ben.py

The solutions are each `--solution`, else the file that MINIDECODER_SOLUTION names, else `starter.py`
beside the checks. In a run of checks alone the cards take the place of pytest's own list of failures.
Points come from the verdict of each check and from nothing that the solution prints; a check without
a verdict is worth nothing. Left out: runs with several processes (xdist) list failures, without a card.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from exercises.checks import Wrong, check_of
from exercises.feedback import Outcome, card, explain, visible
from exercises.grading import Workers, outcome_of

_WIDEST: Final = 88
_INSTALL: Final = 'python -m pip install -e ".[notebooks]"'


class _File(NamedTuple):
    shown: str  # as the user wrote it: several students hand in a `starter.py`
    path: Path


@dataclass
class _Graded:
    title: str
    solution: _File
    outcome: Outcome


_WORKERS: Final = pytest.StashKey[Workers]()
_GRADED: Final = pytest.StashKey[dict[str, _Graded]]()  # by node id
_IN_PART: Final = pytest.StashKey[bool]()  # whether -k left checks out


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    group = parser.getgroup("exercises")
    group.addoption(
        "--solution",
        metavar="FILE",
        action="append",
        help="the file to grade instead of starter.py; may be given several times",
    )
    # subtle: the project's own settings have a `timeout`, which strict pytest refuses to a student who
    # has no pytest-timeout. Exercises have limits of their own, so here it may go unheeded.
    if not pluginmanager.hasplugin("timeout"):
        parser.addini("timeout", "unheeded: pytest-timeout is not here")


@pytest.fixture
def solution(request: pytest.FixtureRequest) -> _File:
    """The file to grade; `pytest_pyfunc_call` reaches it through a process of its own."""
    if check_of(request.function) is None:
        raise pytest.UsageError(f"{request.node.name} uses the solution fixture and is no @check")
    return _file_of(request.node)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each check once for each file, where there are several."""
    if check_of(metafunc.function):
        files = _files(metafunc.config, metafunc.definition.path.parent)
        if len(files) > 1:
            metafunc.parametrize("solution", files, indirect=True, ids=[file.shown for file in files])


def _files(config: pytest.Config, folder: Path) -> list[_File]:
    # subtle: where no conftest.py brought this plugin, it comes too late to add an option.
    named = getattr(config.option, "solution", None) or [os.environ.get("MINIDECODER_SOLUTION")]
    start = config.invocation_params.dir
    files = [
        _File(name, start / name) if name else _File("starter.py", folder / "starter.py") for name in named
    ]
    return list(dict.fromkeys(files))


def _file_of(item: pytest.Item) -> _File:
    files = _files(item.config, item.path.parent)
    call: Any = getattr(item, "callspec", None)
    file: _File = call.params["solution"] if call else files[0]
    if not file.path.is_file():
        raise pytest.UsageError(f"there is no file {visible(str(file.path))} to grade")
    return file


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    for item in items:
        item.config.stash[_IN_PART] = True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One file after the other, so that no more than one has processes."""
    if any(check_of(getattr(item, "function", None)) for item in items):
        items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    call: Any = getattr(item, "callspec", None)
    if not check_of(getattr(item, "function", None)) or call is None:
        return 0
    return _files(item.config, item.path.parent).index(call.params["solution"])


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note every check as not yet run, and find the solutions before the first of them is."""
    config = session.config
    graded = config.stash.setdefault(_GRADED, {})
    for item in session.items:
        if check := check_of(getattr(item, "function", None)):
            title = getattr(getattr(item, "module", None), "TITLE", item.path.parent.name)
            graded[item.nodeid] = _Graded(title, _file_of(item), Outcome(check, was_run=False))
    if graded and len(graded) == len(session.items) and not hasattr(config, "workerinput"):
        config.option.tbstyle = "no"  # the card says all that the list of failures would
        reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
        reporter.reportchars = ""


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a check; None, so that pytest does as ever, for any other test."""
    graded = pyfuncitem.config.stash.get(_GRADED, {}).get(pyfuncitem.nodeid)
    if graded is None:
        return None
    workers = pyfuncitem.config.stash.setdefault(_WORKERS, Workers())
    graded.outcome = outcome_of(pyfuncitem.obj, workers, graded.solution.path)
    if graded.outcome.wrong:
        raise graded.outcome.wrong
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    graded = item.config.stash.get(_GRADED, {}).get(item.nodeid)
    if graded is None or call.excinfo is None:
        return report
    error = call.excinfo.value
    if not isinstance(error, Wrong):
        graded.outcome = Outcome(graded.outcome.check, _broken(error))
    report.longrepr = "\n".join(explain(graded.outcome, width=_width()))
    return report


def _broken(error: BaseException) -> Wrong:
    text = f"the check itself broke, please report it. {type(error).__name__}: {error}"
    return Wrong([("Not your fault", text)], kind="form")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    graded = list(config.stash.get(_GRADED, {}).values())
    if config.option.collectonly or not graded:
        return
    for line in _cards(graded, in_part=config.stash.get(_IN_PART, False)):
        terminalreporter.write_line(line, **_markup(line))


def _cards(graded: Sequence[_Graded], *, in_part: bool) -> list[str]:
    if not any(one.outcome.was_run for one in graded):
        return [
            "",
            "nothing was graded: pytest stopped before the first check, and says why above.",
            f"If something is not installed, in the top folder: {_INSTALL}",
        ]
    together: dict[tuple[str, _File], list[Outcome]] = {}
    by_file: dict[_File, list[Outcome]] = {}
    for one in graded:
        together.setdefault((one.title, one.solution), []).append(one.outcome)
        by_file.setdefault(one.solution, []).append(one.outcome)
    lines: list[str] = []
    for (title, file), outcomes in together.items():
        part = " · some of the checks" if in_part else ""
        shown = visible(file.shown)
        heading = f"{title} · {shown}{part}"
        fits = len(heading) <= _width()
        lines += ["", *([] if fits else [f"{title}{part}"])]
        lines += card(heading if fits else shown, outcomes, width=_width())
    return lines + (_table(by_file) if len(by_file) > 1 else [])


def _table(by_file: dict[_File, list[Outcome]]) -> list[str]:
    lines = ["", "All files"]
    for file, outcomes in by_file.items():
        got, most = sum(o.points for o in outcomes), sum(o.check.points for o in outcomes)
        lines.append(f"  {got:2} of {most}  {visible(file.shown)}")
    return lines


def _markup(line: str) -> dict[str, bool]:
    sign = line[2:3] if line.startswith("  ") else ""  # a check's own row: not what a student printed
    bold = line.startswith(("Exercise", "Task", "Score", "All files", "nothing"))
    return {"green": sign == "✓", "red": sign == "✗", "bold": bold}


def _width() -> int:
    return min(_WIDEST, shutil.get_terminal_size((_WIDEST, 24)).columns)


def pytest_unconfigure(config: pytest.Config) -> None:
    if workers := config.stash.get(_WORKERS, None):
        workers.stop()
