"""Looking a token up, among all of a vocabulary, in any step of a run of the lab.

    find(run, 2, ".5", "any", 40)     what contains it, the likeliest first; before those what is just that
    "#50" an id · "\\xC3" or "⟨C3⟩" a byte · ␣ ⏎ ⇥ as labels show them, or the characters themselves

Left out: steps that recorded a token already (the page's `search.mjs`). Cost: O(V) label comparisons, 15 ms
for 131,072 tokens, and a verdict for each token that is given back.
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from minidecoder.decoding.loop import Step
from minidecoder.errors import UsageError
from minidecoder.lens.codec import to_plain
from minidecoder.lens.labels import show_byte
from minidecoder.lens.trace import Candidate
from minidecoder.tokens.bitmask import unpack
from minidecoder.viz.lab_run import LiveRun
from minidecoder.viz.lab_sources import Loaded

__all__ = ["FILTERS", "find"]

FILTERS: Final = ("any", "allowed", "blocked", "part of a character", "special")
_BYTE: Final = re.compile(r"\\x([0-9A-Fa-f]{2})|⟨([0-9A-Fa-f]{2})⟩")


def find(run: LiveRun, at: int, query: str, filter_: str, limit: int) -> tuple[dict[str, list[Any]], int]:
    """The tokens that a query and a filter leave after `at` tokens, the first `limit` of them by column, as a
    trace has its candidates, and how many there are. `UsageError` where nothing follows."""
    count = len(run.steps)
    if not 0 <= at <= count:
        raise UsageError(f"at={at}: the run has {count} tokens")
    if at == count and not run.stuck:
        raise UsageError("nothing follows here: the run has ended")
    step = run.rewindable.look(at)
    rank = np.where(_filtered(run.loaded, step, filter_), _ranks(run.loaded, query), 0)
    ids = np.flatnonzero(rank)
    logits = np.zeros(len(rank)) if step.draw is None else step.draw.before
    ids = ids[np.lexsort((ids, -logits[ids], -rank[ids]))]
    found = run.recorder.candidates_of(step, ids[:limit].tolist())
    columns = {
        item.name: [to_plain(getattr(candidate, item.name)) for candidate in found]
        for item in fields(Candidate)
    }
    return columns, len(ids)


def _ranks(loaded: Loaded, query: str) -> NDArray[np.int8]:
    """int8 (V,): 3 for a token that the query names exactly, 2 for a label that contains it, 1 for a byte
    inside a whole character, where no label shows it, and 0 for all others."""
    width, wanted = len(loaded.vocabulary), _as_label(query)
    if re.fullmatch(r"#[0-9]{1,9}", query):
        return np.where(np.arange(width) == int(query[1:]), 3, 0).astype(np.int8)
    if not wanted:
        return np.ones(width, np.int8)
    folded, data = wanted.lower(), _bytes_of(query)
    found = np.array([2 * (folded in label) for label in loaded.folded], np.int8)
    found[[i for i in np.flatnonzero(found) if loaded.labels[i] == wanted]] = 3
    if data:
        held = np.array([data in spelled for spelled in loaded.spelled])
        found[held & (found == 0)] = 1
    return found


def _filtered(loaded: Loaded, step: Step, name: str) -> NDArray[np.bool_]:
    """bool (V,)."""
    pieces = loaded.vocabulary.token_bytes
    match name:
        case "allowed":
            return unpack(step.bitmask, len(pieces))
        case "blocked":
            return ~unpack(step.bitmask, len(pieces))
        case "part of a character":
            return np.array([_is_cut(data) for data in pieces])
        case "special":
            return np.array([not data for data in pieces])
    return np.ones(len(pieces), bool)


def _as_label(query: str) -> str:
    """The query as a label would show it."""
    query = query.replace("\\n", "⏎").replace("\\t", "⇥")
    query = query.replace("\n", "⏎").replace("\t", "⇥").replace(" ", "␣")
    return _BYTE.sub(lambda found: show_byte(int(found[1] or found[2], 16)), query)


def _bytes_of(query: str) -> str:
    """The bytes that a query names, if it names nothing else, as characters below 256."""
    if not re.fullmatch(f"(?:{_BYTE.pattern})+", query):
        return ""
    return "".join(chr(int(one or other, 16)) for one, other in _BYTE.findall(query))


def _is_cut(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return False
