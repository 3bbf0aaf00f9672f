"""The lab: a place to play. `minidecoder.lab()` in a cell of JupyterLab.

    md.lab()                                                 # the price, on nine tokens
    md.lab(source="smollm2", text="(yes|no)", prompt="Is the sky blue?")

A form (model, constraint, prompt, the steps of sampling and their order) and under it the player of a run
that is still open: step, run, pause, go back, take another token by hand and go on. It needs a kernel: the
page asks and `LabSession` answers, so that all that is true of a run is in Python.

Left out: the answers (`lab_session`); drawing (`lab.mjs`, and the player's modules). Cost: a message a click;
see the family `lab` of the benchmark.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from minidecoder.errors import MissingDependencyError
from minidecoder.viz.lab_session import LabSession
from minidecoder.viz.player import player_module, player_style
from minidecoder.viz.theme import css_variables

__all__ = ["lab", "lab_module", "lab_style"]


def lab(**form: Any) -> Any:
    """The lab as a widget. `form`: what its fields hold at first.

    `source` ("nine", "pieces", "tekken", "smollm2"), `kind` ("regex", "schema", "grammar", "free"), `text`,
    `prompt`, `temperature`, `top_k`, `top_p`, `min_p`, `order`, `seed`, `max_tokens`, `beside`. Raises
    `UsageError` for a field that there is not, `MissingDependencyError` where anywidget is not installed.
    """
    return _lab_class()(LabSession(form))


def lab_module() -> str:
    """The page's part: the player's modules and the lab's as one."""
    return player_module("lab_form", "lab_channel", "lab", entry="renderLab")


def lab_style() -> str:
    """The style sheets of both."""
    own = files("minidecoder.viz").joinpath("lab.css").read_text(encoding="utf-8")
    return player_style() + css_variables(".mdl") + own


@cache
def _lab_class() -> type[Any]:
    try:
        import anywidget
    except ImportError:
        raise MissingDependencyError("anywidget", "notebooks") from None

    class Lab(anywidget.AnyWidget):
        """The lab. `session`: what answers; its runs are in Python too."""

        _esm = lab_module()
        _css = lab_style()

        def __init__(self, session: LabSession) -> None:
            self.session = session
            super().__init__()
            self.on_msg(self._answer)

        def _answer(self, widget: Any, message: Any, buffers: Any) -> None:
            asked = message if isinstance(message, Mapping) else {}
            self.send({"id": asked.get("id"), **self.session.handle(asked)})

        def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
            bundle = super()._repr_mimebundle_(**kwargs)
            if bundle is None:
                return None
            svg, text = self.session.still()
            return {**bundle[0], "image/svg+xml": svg, "text/plain": text}, bundle[1]

    return Lab
