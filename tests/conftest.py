"""What several test modules share: the real model, loaded once in a session."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from minidecoder.errors import MissingDependencyError
from minidecoder.models import CausalLM, load_smollm2
from minidecoder.models.smollm2_files import where

# A shared machine may stand still for a second: no test judges by the clock.
settings.register_profile("minidecoder", deadline=None)
settings.load_profile("minidecoder")


@pytest.fixture(scope="session")
def smollm2() -> CausalLM:
    """SmolLM2 from this user's cache. Where it is not installed: skip, or fail if nothing may be skipped."""
    if where().wheel is None:
        return _absent("SmolLM2 is not installed: python -m minidecoder model install")
    try:
        return load_smollm2()
    except MissingDependencyError as fault:
        return _absent(str(fault))


def _absent(reason: str) -> CausalLM:
    if os.environ.get("MINIDECODER_REQUIRE_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)
