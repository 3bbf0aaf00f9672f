"""The pictures that are stored beside what only a running notebook can show.

A code host draws no plotly and runs no widget; JupyterLab shows neither, nor SVG, of a notebook that was
not yet run here. A PNG is shown everywhere. Charts are drawn by kaleido, machines and the player by
Chromium. Needed to build the notebooks (`notebook_runner --write`), never to test them.
"""

from __future__ import annotations

import base64
import io
import json
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nbformat import NotebookNode

from tests.chromium import ARGUMENTS, program

SCALE = 1.5  # pixels of a picture for one of the page: sharp on a good screen, and still small


@contextmanager
def browser_page() -> Iterator[Any]:
    """A blank page without a network."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program(), args=ARGUMENTS)
        context = browser.new_context(
            viewport={"width": 960, "height": 580},
            device_scale_factor=SCALE,
            offline=True,
            reduced_motion="reduce",
        )
        yield context.new_page()
        browser.close()


def add_chart(output: NotebookNode, figure: Any) -> None:
    """The picture of a plotly figure (as its JSON says); its title is the alternative text."""
    import plotly.io

    drawn = plotly.io.from_json(json.dumps(figure))
    title = re.sub(r"<br ?/?>", " ", drawn.layout.title.text or "")
    # subtle: JupyterLab shows this picture in its natural size until the chart itself is there: no scale.
    _add(output, drawn.to_image(format="png"), re.sub(r"<[^>]+>", "", title), scale=1)


def add_machine(output: NotebookNode, svg: str, page: Any) -> None:
    """The picture of a drawing; what it says of itself is the alternative text."""
    page.set_content(f"<body style='margin:0'>{svg}</body>")
    drawing = page.locator("svg").first
    _add(output, drawing.screenshot(), drawing.get_attribute("aria-label") or "")


def add_player(output: NotebookNode, widget: dict[str, Any], page: Any) -> None:
    """The player at the step where it has most to tell: the model's favourite is blocked, and why.

    `widget`: the state of the widget: its program, its style and the recording that it was given.
    """
    steps = widget["recording"]["trace"]["steps"]
    telling = next((i for i, step in enumerate(steps) if step["favourite_blocked"]), len(steps) // 2)
    data = json.dumps(widget["recording"]).replace("<", "\\u003c")
    page.set_content(
        f"<style>body {{ margin: 0 }} {widget['_css']}</style><main id='player'></main>"
        f"<script type='module'>{widget['_esm']}\n"
        f"const recording = {data};\n"
        "render({ model: { get: () => recording }, el: document.getElementById('player') });</script>"
    )
    page.locator(".mdp").focus()
    for _ in range(telling):
        page.keyboard.press("ArrowRight")
    columns, shown = steps[telling]["candidates"], widget["recording"]["shown"][telling]
    ids = [columns["token_id"][place] for place in shown]
    if steps[telling]["favourite"] in ids:
        page.locator(".mdp .row").nth(ids.index(steps[telling]["favourite"])).click()
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(500)
    sentence = page.locator(".mdp .why").inner_text()
    alt = f"The player after {telling} of {len(steps)} tokens. {sentence}"
    _add(output, page.locator(".mdp").screenshot(), alt)


def _add(output: NotebookNode, png: bytes, alt: str, scale: float = SCALE) -> None:
    png = _few_colours(png)
    width, height = struct.unpack(">II", png[16:24])
    output.data["image/png"] = base64.b64encode(png).decode() + "\n"
    size = {"width": round(width / scale), "height": round(height / scale)}
    output.metadata["image/png"] = {"alt": alt, **size}


def _few_colours(png: bytes) -> bytes:
    """The same picture with a palette of 64: a sixth of the size, and ours have no gradients. Pillow
    comes with manim; without it the picture stays as it is."""
    try:
        from PIL import Image
    except ImportError:
        return png
    smaller = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").quantize(64).save(smaller, "png", optimize=True)
    return smaller.getvalue()
