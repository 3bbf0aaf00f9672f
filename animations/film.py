"""The scene that plays a plan: caption, chapter and subtitle of each beat, then the beat's own method.

A film subclasses `Film`, gives `prepare()`, and has one method `show_<name>` for each beat; `open_<name>`,
where there is one, brings what the caption speaks of on stage together with it. Each beat takes exactly
its planned seconds: what its methods leave is the pause after the claim, at least `PAUSE_S`.
The shared motions are here too: a token flies to the live state and jumps along the arrows, and a
dead one falls away.

Left out: what a film says (`plan_s03`) and shows (`s03_tokens_are_not_characters`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import numpy as np
from manim import (
    DOWN,
    RIGHT,
    UP,
    Animation,
    Arc,
    FadeIn,
    FadeOut,
    Line,
    Mobject,
    MoveAlongPath,
    Scene,
    Text,
    UpdateFromAlphaFunc,
    VGroup,
    VMobject,
    config,
    rush_into,
    smooth,
)
from manim.utils.rate_functions import squish_rate_func

from animations.machine import MachineDrawing, Marker
from animations.mobjects import Bead, TokenBlock
from animations.plan import Beat, Plan, spoken
from animations.style import (
    BACKGROUND,
    CAPTION_BASE,
    CAPTION_SIZE,
    INK,
    LEFT_EDGE,
    LIVE,
    TITLE_Y,
    prose,
    sans,
)
from minidecoder.lens.trace import TraceStep

__all__ = ["Film"]

TITLE_SIZE: Final = 30.0
HOVER: Final = 0.49  # where a token waits: its middle, above all of the machine


class Film(Scene):
    """A scene made of the beats of a plan."""

    PAUSE_S, READ_S, CAPTION_S = 1.0, 0.7, 0.4
    OPENING_S, ENTER_S, JUMP_S = 0.7, 0.5, 0.55

    drawing: MachineDrawing
    marker: Marker
    at: str  # the live state
    row: VGroup  # the vocabulary

    def prepare(self) -> Plan:
        """Make what the film needs before its first frame, and its plan."""
        raise NotImplementedError("a film has a plan")

    def opening(self, beat: Beat) -> list[Animation]:
        """What changes together with the caption, so that words are never ahead of the picture."""
        opens = getattr(self, beat.method.replace("show_", "open_"), None)
        return opens(beat) if opens else []

    def construct(self) -> None:
        self.camera.background_color = BACKGROUND
        plan = self.prepare()
        self.caption: Text | None = None
        self.title = sans(plan.title, TITLE_SIZE).move_to([0, TITLE_Y, 0]).align_to([LEFT_EDGE, 0, 0], -RIGHT)
        self.add(self.title)
        for beat in plan.beats:
            self.play_beat(beat)

    def play_beat(self, beat: Beat) -> None:
        if beat.chapter:
            self.next_section(beat.chapter)
        end, plays = self.time + beat.seconds, self.renderer.num_plays
        self.subtitle(beat)
        self.say(beat.caption, self.opening(beat))
        getattr(self, beat.method)(beat)
        pause = end - self.time
        rounding = (self.renderer.num_plays - plays) / config.frame_rate  # each ends on a whole frame
        if pause + rounding < self.PAUSE_S:
            raise ValueError(f"beat {beat.name!r} needs {self.PAUSE_S - pause:.1f} s more for its pause")
        self.wait(pause)

    def subtitle(self, beat: Beat) -> None:
        # subtle: beats end on whole frames, so one may end before its planned second; two subtitles at
        # once would jump on the screen.
        earlier = self.renderer.file_writer.subcaptions
        if earlier:
            earlier[-1].end = min(earlier[-1].end, timedelta(seconds=float(self.time)))
        self.add_subcaption(spoken(beat.caption), duration=beat.seconds)

    def say(self, caption: str, opening: Sequence[Animation] = ()) -> None:
        """Change the caption, and leave a moment to begin to read before anything moves."""
        new = prose(caption, CAPTION_SIZE).set_x(0)
        new.shift((CAPTION_BASE - new[0].get_bottom()[1]) * UP)  # every caption on the same line
        # One goes before the other comes: two sentences on one line cannot be read.
        first, then = (squish_rate_func(smooth, start, start + 0.5) for start in (0, 0.5))
        old = [FadeOut(self.caption, rate_func=first)] if self.caption else []
        seconds = self.OPENING_S if opening else self.CAPTION_S
        self.play(*old, FadeIn(new, rate_func=then), *opening, run_time=seconds)
        self.caption = new
        self.wait(self.READ_S)

    def enter(self, *mobjects: Mobject, seconds: float | None = None) -> None:
        self.play(*map(FadeIn, mobjects), run_time=seconds or self.ENTER_S)

    # The machine at work.

    def place_marker(self, state: str) -> None:
        """Make a state the live one, without a move along the arrows."""
        self.play(*self.arrive(state), run_time=self.ENTER_S)

    def arrive(self, state: str, lift: float = 0) -> list[Animation]:
        """A state becomes the live one, while the machine rises by `lift`."""
        rise = lift * UP
        old = [FadeOut(self.marker, shift=rise)] if self.is_anywhere else []
        self.marker, self.at = Marker(self.drawing.states[state]).shift(rise), state
        new = FadeIn(self.marker, scale=0.5, shift=rise)
        return [*old, new, self.drawing.animate.shift(rise).inked(state)]

    def leave(self) -> list[Animation]:
        """No state is live any more."""
        return [FadeOut(self.marker), self._ink(self.at, INK)] if self.is_anywhere else []

    @property
    def is_anywhere(self) -> bool:
        return hasattr(self, "marker") and self.marker in self.mobjects

    def hover(self, state: str) -> np.ndarray:
        """Above a state, on the lane of the tokens: no label of the machine reaches it."""
        return np.array([self.drawing.states[state].get_x(), self.drawing.get_top()[1] + HOVER, 0])

    def jump(self, target: str, carried: Mobject, seconds: float | None = None) -> None:
        """The marker glides along one arrow, and what caused it goes with it above."""
        source, edge = self.at, self.drawing.edges[self.at, target]
        edge.set_color(LIVE)
        here, there = self.hover(source), self.hover(target)
        loops = source == target
        path = (
            Arc(0.16, np.pi * 1.5, 2 * np.pi - 0.01).shift(here + 0.16 * UP) if loops else Line(here, there)
        )
        # A name changes while the marker covers it: on the empty circle it would be dark on dark.
        inks = [] if loops else [self._ink(source, INK, 0, 0.25), self._ink(target, BACKGROUND, 0.75, 1)]
        moves = [self._slide(edge.route), MoveAlongPath(carried, path), *inks]
        self.play(*moves, run_time=seconds or self.JUMP_S)
        self.at = target

    def run_token(self, block: TokenBlock, states: Sequence[str], seconds: float | None = None) -> None:
        """A token jumps from state to state, one bead a jump. `states` as far as it lives."""
        for bead, target in zip(block.beads, states, strict=False):
            assert isinstance(bead, Bead)
            bead.lit()
            self.jump(target, block, seconds)
            bead.read()

    def block(self, label: str) -> TokenBlock:
        """A copy of a vocabulary block, ready to travel above everything else."""
        return next(block for block in self.row if block.label == label).copy().set_z_index(10)

    def write(self, step: TraceStep, target: TokenBlock, pace: float = 1.0) -> None:
        """A token rises from the vocabulary, jumps over the machine, and comes to rest as `target`."""
        self.drawing.rest()
        block = self.block(step.label)
        self.play(block.animate.move_to(self.hover(self.at)), run_time=0.5 * pace)
        self.run_token(block, [move.state for move in step.path], self.JUMP_S * pace)
        self.play(block.animate.move_to(target), run_time=0.5 * pace)
        self.remove(block)
        self.add(target)

    def ring_once(self, state: str) -> None:
        ring = self.drawing.states[state].ring
        self.play(ring.copy().animate.scale(1.5).set_stroke(opacity=0).set_fill(opacity=0), run_time=0.7)

    def fall(self, block: TokenBlock) -> None:
        """A dead token falls away, behind the machine, and stands again where it was, unseen."""
        falling = block.copy().set_z_index(-1)
        self.remove(block)
        self.add(falling)
        away = FadeOut(falling, shift=1.6 * DOWN, rate_func=rush_into)
        self.play(away, run_time=0.8)

    def _slide(self, route: VMobject) -> Animation:
        """Along the route, small on the way so that labels stay readable, full at both ends."""

        def at(marker: Mobject, share: float) -> None:
            marker.set(width=self.marker.full * (1 - 0.62 * np.sin(np.pi * share)))
            marker.move_to(route.point_from_proportion(share))

        return UpdateFromAlphaFunc(self.marker, at)

    def _ink(self, state: str, color: str, begin: float = 0, end: float = 1) -> Animation:
        share = squish_rate_func(smooth, begin, end)
        return self.drawing.states[state].label.animate(rate_func=share).set_color(color)
