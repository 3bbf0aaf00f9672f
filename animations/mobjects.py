"""What films show of tokens: a byte bead, a token block, a text cut into tokens, a mask, a cross.

Each is built from what a trace recorded (`Candidate`). Dead is dashed, crossed and orange; the end of
the text has its sign. No LaTeX anywhere: every letter is a `Text`.

Left out: machines (`machine`), motion (`film`), and beads for bytes that are half a character.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from manim import (
    DOWN,
    LEFT,
    RIGHT,
    UP,
    Circle,
    DashedVMobject,
    Line,
    Mobject,
    RoundedRectangle,
    Square,
    SurroundingRectangle,
    VGroup,
)

from animations.style import BACKGROUND, DEAD, EOS, INK, LIVE, PANELS, RESTING, mono
from minidecoder.errors import UsageError
from minidecoder.lens.trace import Candidate

__all__ = [
    "Bead",
    "MaskRow",
    "Shutter",
    "TokenBlock",
    "cross",
    "frame",
    "side_by_side",
    "strip",
    "vocabulary_row",
]

BEAD_RADIUS, TOKEN_SIZE = 0.27, 24.0
WIDEST, STRIP_GAP, MOST_STRIPS = 13.0, 0.4, 3  # of the ways to cut a text that stand side by side


class Bead(VGroup):
    """One character of a token. It lights up while it moves the machine."""

    def __init__(self, character: str) -> None:
        self.circle = Circle(
            BEAD_RADIUS, color=RESTING, stroke_width=3, fill_color=BACKGROUND, fill_opacity=1
        )
        self.letter = mono(character, TOKEN_SIZE)
        super().__init__(self.circle, self.letter)

    def lit(self) -> Bead:
        return self._painted(LIVE, LIVE, BACKGROUND)

    def read(self) -> Bead:
        return self._painted(BACKGROUND, LIVE, INK)

    def dead(self) -> Bead:
        return self._painted(BACKGROUND, DEAD, DEAD)

    def resting(self) -> Bead:
        return self._painted(BACKGROUND, RESTING, INK)

    def _painted(self, fill: str, ring: str, ink: str) -> Bead:
        self.circle.set_fill(fill).set_stroke(ring)
        self.letter.set_color(ink)
        return self


class TokenBlock(VGroup):
    """A token: a block that travels, with a bead for each character; EOS has none, only its name."""

    def __init__(self, label: str, *, is_eos: bool = False, shade: int = 0) -> None:
        self.beads = VGroup() if is_eos else VGroup(*map(Bead, label)).arrange(RIGHT, buff=0.06)
        inside = _end_sign(label) if is_eos else self.beads
        self.panel = RoundedRectangle(
            corner_radius=0.16,
            width=inside.width + 0.26,
            height=2 * BEAD_RADIUS + 0.24,
            stroke_color=RESTING,
            stroke_width=3,
            fill_color=PANELS[shade % 2],
            fill_opacity=1,
        ).move_to(inside)
        super().__init__(self.panel, inside)
        self.label = label

    def ringed(self, color: str) -> TokenBlock:
        self.panel.set_stroke(color, 5)
        return self

    def killed(self, at: int) -> TokenBlock:
        """Dead at bead number `at`: dashed, and crossed at its corner."""
        self.beads[at].dead()
        self.panel.set_stroke(width=0)
        edge = DashedVMobject(self.panel.copy().set_fill(opacity=0).set_stroke(DEAD, 5), num_dashes=22)
        return self.add(edge, cross().move_to(self.panel.get_corner(UP + RIGHT)))


def _end_sign(label: str) -> VGroup:
    """`■ </s>`: the sign is drawn, because few fonts have it."""
    name = mono(label.removeprefix("■ "), TOKEN_SIZE * 0.85, EOS)
    sign = Square(0.24, fill_color=EOS, fill_opacity=1, stroke_width=0)
    return VGroup(sign, name).arrange(RIGHT, buff=0.12)


def strip(labels: Sequence[str]) -> VGroup:
    """Tokens side by side as they make a text, in two shades so that the cuts show without colour."""
    return VGroup(*(TokenBlock(label, shade=k) for k, label in enumerate(labels))).arrange(RIGHT, buff=0.05)


def side_by_side(cuts: Sequence[Sequence[str]]) -> list[VGroup]:
    """Cuts of one text, each as a `strip`: the first ones, at most three, as many as the frame takes.
    `UsageError` where it does not take two."""
    strips = [strip(labels) for labels in cuts[:MOST_STRIPS]]
    pitch = max(blocks.width for blocks in strips) + STRIP_GAP
    count = min(len(strips), int((WIDEST + STRIP_GAP) / pitch))
    if count < 2:
        remedy = "take a text of some nine characters at most"
        raise UsageError(
            f"two ways of writing {''.join(cuts[0])} do not fit side by side in a film: {remedy}"
        )
    return [blocks.set_x((k - (count - 1) / 2) * pitch) for k, blocks in enumerate(strips[:count])]


class Shutter(VGroup):
    """What comes down over a token that the mask blocks: a little dimmer, its edge dashed, a
    cross on its corner; the token stays readable."""

    def __init__(self, block: TokenBlock) -> None:
        panel = block.panel
        cover = panel.copy().set_fill(BACKGROUND, 0.2).set_stroke(width=0)
        edge = DashedVMobject(panel.copy().set_fill(opacity=0).set_stroke(DEAD, 3), num_dashes=22)
        mark = cross(0.22, 6).move_to(panel.get_corner(UP + RIGHT) + 0.08 * (DOWN + LEFT))
        super().__init__(cover, edge, mark)


def cross(size: float = 0.36, stroke: float = 8) -> VGroup:
    """Dead, for those who do not see colours."""
    rising = Line(DOWN + LEFT, UP + RIGHT, color=DEAD, stroke_width=stroke)
    return VGroup(rising, rising.copy().rotate(np.pi / 2)).scale(size / 2)


def vocabulary_row(tokens: Sequence[Candidate]) -> VGroup:
    """Every token side by side, in the order of the ids."""
    return VGroup(*(TokenBlock(c.label, is_eos=c.kind == "eos") for c in tokens)).arrange(RIGHT, buff=0.14)


def frame(*mobjects: Mobject, color: str = INK) -> SurroundingRectangle:
    return SurroundingRectangle(*mobjects, color=color, buff=0.07, corner_radius=0.2)


class MaskRow(VGroup):
    """A copy of the vocabulary row with a shutter for each token that the mask blocks."""

    def __init__(self, row: VGroup, tokens: Sequence[Candidate]) -> None:
        super().__init__(*row.copy())
        allowed = {token.label: token.allowed for token in tokens}
        self.open = [block for block in self if allowed[block.label]]
        self.shut = [block for block in self if not allowed[block.label]]

    def of(self, label: str) -> TokenBlock:
        return next(block for block in self if block.label == label)
