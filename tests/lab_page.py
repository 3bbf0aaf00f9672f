"""The lab on a page of its own: its modules in Chromium, its session in this process, one message each way.

What JupyterLab adds, the comm and the restart of a kernel, `test_lab_in_jupyterlab` looks at.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from minidecoder.viz.lab import lab_module, lab_style
from minidecoder.viz.lab_session import LabSession
from tests.browser import visit

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>the lab</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body { margin: 0; background: var(--paper); } %s</style></head>
<body><main id="lab"></main><script type="module">%s
const heard = new Map();
const model = {
  get: () => undefined,
  on: (name, callback) => heard.set(name, callback),
  off: (name) => heard.delete(name),
  send: async (message) => {
    await new Promise((resolve) => setTimeout(resolve, window.delay ?? 0));
    if (!window.isBusy) heard.get("msg:custom")?.(await window.kernel(message));
  },
};
window.restart = () => heard.get("comm_live_update")?.();
renderLab({ model, el: document.getElementById("lab") });
</script></body></html>"""


class Lab:
    """An open lab. `answers`: (what was asked, milliseconds in the kernel)."""

    def __init__(self, page: Any, session: LabSession) -> None:
        self.page, self.session = page, session
        self.answers: list[tuple[str, float]] = []

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        begin = time.perf_counter()
        answer = {"id": message["id"], **self.session.handle(message)}
        json.dumps(answer, allow_nan=False)
        self.answers.append((message["do"], 1000 * (time.perf_counter() - begin)))
        return answer

    def ready(self) -> None:
        """Wait until nothing is asked any more and nothing moves."""
        self.page.wait_for_timeout(60)
        self.page.wait_for_function(
            "() => { const lab = document.querySelector('.mdl');"
            " return lab.dataset.busy !== 'yes' && lab.querySelector('.mdp')"
            " && ![...lab.querySelectorAll('.mdp')].some((p) => p.dataset.moving === 'yes'); }"
        )

    def type_text(self, text: str) -> None:
        """Put `text` in the place of the constraint, and wait for the answer."""
        self.page.locator(".mdl textarea").fill(text)
        self.page.wait_for_timeout(420)
        self.ready()

    def choose(self, name: str, value: str) -> None:
        self.page.locator(f".mdl select[aria-label='{name}']").select_option(value)
        self.ready()

    def step(self, times: int = 1) -> None:
        for _ in range(times):
            self.page.locator(".mdp button.next").click()
            self.ready()

    def row(self, label: str) -> Any:
        """The row of a token, by its label."""
        return self.page.locator(".mdp .rows .row").filter(has=self.page.locator(f".token[title='{label}']"))

    @property
    def text(self) -> str:
        return str(self.page.locator(".mdp .strip").first.inner_text()).split("\nreads")[0].replace("\n", "")

    @property
    def status(self) -> str:
        return str(self.page.locator(".mdl .status").inner_text())


@contextmanager
def open_lab(browser: Any, folder: Path, **options: Any) -> Iterator[Lab]:
    """A lab in a window; afterwards nothing was asked for elsewhere, and nothing went wrong on the page."""
    form = options.pop("form", {})
    file = folder / "lab.html"
    file.write_text(PAGE % (lab_style(), lab_module()), encoding="utf-8")
    blank = folder / "blank.html"
    blank.write_text("<!doctype html><title>…</title>", encoding="utf-8")
    with visit(browser, blank, **options) as opened:
        lab = Lab(opened.page, LabSession(form))
        opened.page.expose_function("kernel", lab.answer)
        opened.page.goto(file.as_uri())
        lab.ready()
        yield lab


SHOWS = (
    "The lab after two tokens of a price: the form with model, pattern, prompt and the order of the sampling "
    "steps; under it the machine, the tokens before and after the mask, and why 50 is blocked"
)


def store_picture() -> None:
    """Write notebooks/lab.png, the lab after `12` and `.5` with `50` asked about, and store it in lab.ipynb as
    the output that a reader without a kernel sees."""
    import base64
    import tempfile

    import nbformat

    from tests.browser import chromium
    from tests.notebook_runner import FOLDER

    with (
        chromium() as browser,
        tempfile.TemporaryDirectory() as folder,
        open_lab(browser, Path(folder), width=1120, height=720, device_scale_factor=1.5) as lab,
    ):
        for label in ("12", ".5"):
            lab.row(label).click()
            lab.page.locator(".mdl .take").click()
            lab.ready()
        lab.row("50").click()
        picture = lab.page.locator(".mdl").screenshot(path=str(FOLDER / "lab.png"))
        text = lab.session.still()[1]
    notebook = nbformat.read(FOLDER / "lab.ipynb", as_version=4)
    (cell,) = (cell for cell in notebook.cells if cell.cell_type == "code")
    data = {"image/png": base64.b64encode(picture).decode(), "text/plain": text}
    alt = {"image/png": {"alt": SHOWS}}
    cell.outputs = [nbformat.v4.new_output("execute_result", data, metadata=alt, execution_count=1)]
    cell.execution_count = 1
    nbformat.validate(notebook)
    (FOLDER / "lab.ipynb").write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


if __name__ == "__main__":
    store_picture()
