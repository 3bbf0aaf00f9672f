"""A JupyterLab with no settings but its own, and a browser on it that reaches nothing outside 127.0.0.1.

Left out: what is looked at (`test_notebook_in_jupyterlab`, `test_lab_in_jupyterlab`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.chromium import ARGUMENTS, program
from tests.notebook_runner import FOLDER, ROOT

WAIT_MS = 120_000


def needed(value: Any, reason: str) -> Any:
    """`value`; where there is none the test is skipped, or fails if nothing may be skipped."""
    if value:
        return value
    if os.environ.get("MINIDECODER_REQUIRE_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def jupyterlab(work: Path, notebook: str) -> Iterator[str]:
    """The address of a notebook's copy in a running JupyterLab."""
    needed(find_spec("jupyterlab"), "jupyterlab is not installed")
    needed(find_spec("playwright"), "playwright is not installed")
    needed(program(), "chromium is not installed")
    shutil.copy(FOLDER / notebook, work / notebook)
    port, log = free_port(), work / "server.log"
    options = {"ip": "127.0.0.1", "port": port, "root_dir": work, "port_retries": 0}
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        "--IdentityProvider.token=t",
    ]
    command += [f"--ServerApp.{name}={value}" for name, value in options.items()]
    with log.open("w") as output:
        process = subprocess.Popen(
            command, env=clean_environment(work), stdout=output, stderr=subprocess.STDOUT
        )
    try:
        wait_until_up(f"http://127.0.0.1:{port}/api/status?token=t", process, log)
        yield f"http://127.0.0.1:{port}/lab/tree/{notebook}?token=t&reset"
    finally:
        process.terminate()
        process.wait(timeout=30)


@contextmanager
def opened(address: str) -> Iterator[SimpleNamespace]:
    """The notebook in a window of a projector's size: its `page`, what it asked for `outside`, its `faults`."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program(), args=ARGUMENTS)
        context = browser.new_context(viewport={"width": 1280, "height": 720})
        page, outside, faults = context.new_page(), [], []
        context.route(re.compile(r"^(?!data:|blob:)"), lambda route: only_here(route, outside))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.set_default_timeout(WAIT_MS)
        page.goto(address)
        yield SimpleNamespace(page=page, outside=outside, faults=faults)
        browser.close()


def wait_for_kernel(page: Any) -> None:
    # subtle: before there is a kernel Run All does nothing; the status bar alone tells.
    page.wait_for_selector("#jp-main-statusbar .jp-StatusBar-TextItem:has-text('| Idle')")


def clean_environment(work: Path) -> dict[str, str]:
    folders = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    own = {name: str(work / "home" / name.lower()) for name in folders}
    settings = Path(own["JUPYTER_CONFIG_DIR"], "labconfig")
    settings.mkdir(parents=True)
    no_news = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
    follow_system = {"@jupyterlab/apputils-extension:themes": {"adaptive-theme": True}}
    (settings / "page_config.json").write_text(json.dumps(no_news))
    (settings / "default_setting_overrides.json").write_text(json.dumps(follow_system))
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, **own, "PYTHONPATH": os.pathsep.join(paths)}


def wait_until_up(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=2).close()
            return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()[-2000:]}")


def only_here(route: Any, outside: list[str]) -> None:
    if re.match(r"(http|ws)://127\.0\.0\.1[:/]", route.request.url):
        route.continue_()
    else:
        outside.append(route.request.url)
        route.abort()
