"""A headless Chromium with the network cut, for tests that look at a page as a reader does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.chromium import ARGUMENTS, program


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser. Where Playwright or Chromium is missing: skip, or fail if nothing may be skipped."""
    executable = program()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        executable = None
    if executable is None:
        absent("playwright or chromium is not installed: pip install playwright; apt install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield browser
        browser.close()


def absent(reason: str) -> None:
    if os.environ.get("MINIDECODER_REQUIRE_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@dataclass
class Visit:
    """One open page: what it asked for outside of files, and what went wrong on it."""

    page: Any
    requests: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


@contextmanager
def visit(
    browser: Any, file: Path, *, width: int = 1280, height: int = 720, **options: Any
) -> Iterator[Visit]:
    """Open `file` as by double-click. Afterwards: nothing was asked for elsewhere, nothing went wrong."""
    context = browser.new_context(viewport={"width": width, "height": height}, **options)
    opened = Visit(context.new_page())
    page = opened.page

    def only_files(route: Any) -> None:
        if route.request.url.startswith("file:"):
            route.continue_()
        else:
            opened.requests.append(route.request.url)
            route.abort()

    context.route("**/*", only_files)
    page.on("pageerror", lambda error: opened.faults.append(str(error)))
    page.on(
        "console", lambda message: opened.faults.append(message.text) if message.type == "error" else None
    )
    page.on("dialog", lambda dialog: (opened.faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.goto(file.as_uri())
    yield opened
    context.close()
    assert opened.requests == []
    assert opened.faults == [], opened.faults
