"""Plain pytest grades the exercises: `score_card` brings the fixture, the option and the card."""

from __future__ import annotations

import pytest


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.import_plugin("exercises.score_card")
