"""Libraries that some tests compare with: absent, their tests are skipped, or fail where nothing may be."""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest

__all__ = ["need"]


def need(module: str, extra: str = "peers") -> Any:
    """The imported module. Absent: skip, or fail if MINIDECODER_REQUIRE_ALL=1."""
    try:
        return importlib.import_module(module)
    except ImportError as fault:
        reason = f"{module} is not installed ({fault}): pip install 'minidecoder[{extra}]'"
        if os.environ.get("MINIDECODER_REQUIRE_ALL") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
