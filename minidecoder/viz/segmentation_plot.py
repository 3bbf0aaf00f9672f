"""All ways to spell one text with the tokens of a vocabulary, as a tree of blocks over its bytes.

    segmentation_tree("12.50", vocabulary, constraint)

A block is a token and as wide as its bytes; ways that begin alike share their blocks. With a constraint a
token that it blocks there has a dashed edge and a cross, and what would follow it is faint.

Left out: which way a tokenizer takes. Cost: counting is O(bytes x tokens that fit); drawing stops at 15 ways.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from minidecoder.decoding.constraint import Constraint
from minidecoder.errors import UsageError
from minidecoder.lens.labels import show_bytes, show_token
from minidecoder.tokens.vocabulary import Vocabulary
from minidecoder.viz.chart import MAX_ROWS, WIDTH, add_note, lay_out, mono, plotly_objects, shown
from minidecoder.viz.theme import MONO, Palette, ThemeName, palette

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["count_segmentations", "segmentation_tree", "segmentations"]

Fate = Literal["lives", "dies", "unreached"]
_ROW_PX: Final = 46
_MOST_BYTES: Final = 400
_CHAR_PX: Final = 9


class _Block(NamedTuple):
    """Bytes `start` to `end`, rows `first` to `last`, and what the constraint says of it."""

    start: int
    end: int
    first: int
    last: int
    fate: Fate


def segmentations(text: str | bytes, vocabulary: Vocabulary) -> Iterator[tuple[int, ...]]:
    """Every way as a tuple of ids, those with long first tokens first; one at a time, as there may be
    exponentially many. `UsageError` for a text of more than 400 bytes."""
    data = _bytes(text)
    counts, ways = _table(data, vocabulary)

    def from_(at: int, taken: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if at == len(data):
            yield taken
            return
        for token_id, end in ways[at]:
            if counts[end]:
                yield from from_(end, (*taken, token_id))

    return from_(0, ())


def count_segmentations(text: str | bytes, vocabulary: Vocabulary) -> int:
    """How many ways there are, exactly, however many."""
    return _table(_bytes(text), vocabulary)[0][0]


def _bytes(text: str | bytes) -> bytes:
    if not isinstance(text, str | bytes):
        raise UsageError(f"a text is str or bytes, not {type(text).__name__}")
    data = text.encode() if isinstance(text, str) else text
    if not 0 < len(data) <= _MOST_BYTES:
        raise UsageError(f"a text of {len(data):,} bytes: the tree is of texts of 1 to {_MOST_BYTES} bytes")
    return data


def _table(data: bytes, vocabulary: Vocabulary) -> tuple[list[int], list[list[tuple[int, int]]]]:
    """From each place: the number of ways to the end, and the tokens that fit with where they end."""
    if not isinstance(vocabulary, Vocabulary):
        raise UsageError(f"vocabulary: a Vocabulary, not {type(vocabulary).__name__}")
    by_bytes: dict[bytes, list[int]] = {}
    for token_id, token in enumerate(vocabulary.token_bytes):
        if token and token in data:
            by_bytes.setdefault(token, []).append(token_id)
    counts = [0] * len(data) + [1]
    ways: list[list[tuple[int, int]]] = [[] for _ in range(len(data) + 1)]
    for at in reversed(range(len(data))):
        for end in range(len(data), at, -1):
            for token_id in by_bytes.get(data[at:end], ()):
                ways[at].append((token_id, end))
                counts[at] += counts[end]
    return counts, ways


def segmentation_tree(
    text: str | bytes,
    vocabulary: Vocabulary,
    constraint: Constraint | None = None,
    *,
    rows: int = MAX_ROWS,
    title: str | None = None,
    theme: ThemeName = "light",
) -> go.Figure:
    """The tree, at most `rows` ways. `UsageError` for a text that is empty, long or cannot be spelled."""
    go, colours = plotly_objects(), palette(theme)
    data, count = _bytes(text), count_segmentations(text, vocabulary)
    if not count:
        raise UsageError(f"the vocabulary cannot spell {show_bytes(data)!r:.60}")
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise UsageError(f"rows={rows!r:.40}: a figure has at least one row")
    found = [way for way, _ in zip(segmentations(text, vocabulary), range(rows), strict=False)]
    legal = [_legal_tokens(way, constraint) for way in found]
    figure = go.Figure(_head(go, data, colours))
    for block, token_id in _blocks(found, legal, vocabulary):
        _add_block(figure, block, show_token(vocabulary, token_id), (WIDTH - 60) / len(data), colours)
    blocked = any(kept < len(way) for kept, way in zip(legal, found, strict=True))
    key = "a block is a token, as wide as its bytes" + (" · dashed, ✕: blocked" if blocked else "")
    finding = _finding(data, count, found, legal, constraint)
    lay_out(figure, title or finding, key, _ROW_PX * (len(found) + 1), colours)
    figure.update_xaxes(range=[-0.05, len(data) + 0.05], visible=False)
    figure.update_yaxes(range=[len(found) - 0.5, -1.4], visible=False)
    if count > len(found):
        hidden = count - len(found)
        add_note(figure, f"and {hidden:,} more way{'' if hidden == 1 else 's'}", colours)
    return figure


def _legal_tokens(way: tuple[int, ...], constraint: Constraint | None) -> int:
    """How many tokens of the way the constraint lets through; all without one."""
    if constraint is None:
        return len(way)
    matcher = constraint.matcher()
    return next((i for i, token_id in enumerate(way) if not matcher.accept_token(token_id)), len(way))


def _blocks(
    found: list[tuple[int, ...]], legal: list[int], vocabulary: Vocabulary
) -> Iterator[tuple[_Block, int]]:
    """The blocks with their tokens; one that several ways share comes once."""
    for row, way in enumerate(found):
        at = 0
        for place, token_id in enumerate(way):
            prefix, end = way[: place + 1], at + len(vocabulary.token_bytes[token_id])
            if row == 0 or found[row - 1][: place + 1] != prefix:
                last = row
                while last + 1 < len(found) and found[last + 1][: place + 1] == prefix:
                    last += 1
                fate: Fate = "lives" if place < legal[row] else "dies" if place == legal[row] else "unreached"
                yield _Block(at, end, row, last, fate), token_id
            at = end


def _add_block(figure: go.Figure, block: _Block, label: str, pixels: float, colours: Palette) -> None:
    """`pixels`: the width of a byte."""
    fill = {"lives": colours.strip if block.start % 2 == 0 else colours.strip_alt}.get(
        block.fate, colours.paper
    )
    ink = {"lives": colours.ink, "dies": colours.dead, "unreached": colours.muted}[block.fate]
    ring = {"lives": colours.muted, "dies": colours.dead, "unreached": colours.resting}[block.fate]
    figure.add_shape(
        type="rect",
        **{
            "x0": block.start + 0.02,
            "x1": block.end - 0.02,
            "y0": block.first - 0.42,
            "y1": block.last + 0.42,
        },
        fillcolor=fill,
        line={"color": ring, "width": 1.5, "dash": "dash" if block.fate == "dies" else "solid"},
    )
    room = int(pixels * (block.end - block.start) / _CHAR_PX)
    text = shown(label, max(1, room - (2 if block.fate == "dies" else 0)))
    if block.fate == "dies":
        text = f"✕ <s>{text}</s>" if room > 3 else "✕"
    figure.add_annotation(
        x=(block.start + block.end) / 2,
        y=(block.first + block.last) / 2,
        text=f"<span style='color:{ink}'>{text if room else ''}</span>",
        font={"family": MONO, "size": 15},
        hovertext=shown(label, 60),
        showarrow=False,
    )


def _head(go: Any, data: bytes, colours: Palette) -> Any:
    """The bytes of the text above the blocks, each character once."""
    texts, places, at = [], [], 0
    for char in data.decode("utf-8", "surrogateescape"):
        size = len(char.encode("utf-8", "surrogateescape"))
        texts.append(shown(show_bytes(data[at : at + size])))
        places.append(at + size / 2)
        at += size
    return go.Scatter(
        mode="text",
        x=places,
        y=[-1] * len(places),
        text=texts,
        textfont={"family": MONO, "size": 18, "color": colours.muted},
        hoverinfo="skip",
    )


def _finding(
    data: bytes, count: int, found: list[tuple[int, ...]], legal: list[int], constraint: Constraint | None
) -> str:
    ways = "one way" if count == 1 else f"{count:,} ways"
    said = f"{mono(show_bytes(data))} can be spelled in {ways}"
    if constraint is None or count > len(found):
        return said
    whole = sum(kept == len(way) for kept, way in zip(legal, found, strict=True))
    if whole == count:
        return f"{said}, and the mask allows {'it' if count == 1 else 'each of them'}"
    return f"{said}; the mask allows {whole if whole else 'none of them'}"
