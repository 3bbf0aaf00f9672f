"""Lets a copy of this folder be graded with `--solution` too, out of reach of the conftest.py above it."""

from __future__ import annotations

import pytest


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.import_plugin("exercises.score_card")
