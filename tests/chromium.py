"""Which Chromium, and how it is started without a network of its own: for tests and for stored pictures."""

from __future__ import annotations

import shutil

__all__ = ["ARGUMENTS", "program"]

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-sync",
]


def program() -> str | None:
    """The program, or None where there is none."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
