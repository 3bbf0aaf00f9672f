"""Film 03: tokens jump over the price machine, and the state decides which may.

`python -m manim -ql animations/s03_tokens_are_not_characters.py TokensAreNotCharacters`
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from manim import DOWN, LEFT, RIGHT, UP, Animation, FadeIn, FadeOut, GrowFromEdge, LaggedStart, VGroup

from animations.film import Film
from animations.machine import MachineDrawing, StateCircle
from animations.mobjects import Bead, MaskRow, Shutter, TokenBlock, frame, side_by_side, vocabulary_row
from animations.plan import Beat, Plan
from animations.plan_s03 import PATTERN, TOKENS, WALK_S, WAYS, tell, walk_seconds
from animations.style import ACCEPT, LIVE, MUTED, RIGHT_EDGE, TITLE_Y, mono
from minidecoder.errors import UsageError
from minidecoder.lens.trace import TraceStep

TAPE_Y, ROW_Y = 2.5, -2.36
# What the machine may take: above it the lane of the tokens, below it room for a cross.
STAGE, STAGE_Y = (12.6, 2.33), -0.03
MASK_Y = {"mask 1": -1.42, "mask 2": -2.32}
LOWER, LIFT = 0.7, 0.5  # the machine rises when the vocabulary enters, and again for the masks
WIDEST_ROW = 12.6  # of the vocabulary, beside which the mask has the name of its state


class TokensAreNotCharacters(Film):
    """Change these three, and the film tells the same story about another machine."""

    pattern: str = PATTERN
    tokens: Sequence[str] = TOKENS
    ways: Sequence[Sequence[str]] = WAYS

    def prepare(self) -> Plan:
        self.story = tell(self.pattern, self.tokens, self.ways)
        cuts = [[step.label for step in run.steps if not step.is_eos] for run in self.story.ways]
        self.strips = [blocks.set_y(TAPE_Y) for blocks in side_by_side(cuts)]
        self.row = vocabulary_row(self.story.vocabulary).move_to([0, ROW_Y, 0])
        if self.row.width > WIDEST_ROW:
            raise UsageError("these tokens do not fit side by side in a film: take fewer, or shorter ones")
        self.drawing = MachineDrawing(self.story.machine, *STAGE).shift((STAGE_Y - LOWER) * UP)
        self.start = self.story.machine.states[0].name
        self.masks: list[MaskRow] = []
        self.texts = VGroup()
        return self.story.plan

    # Chapter 1: the rule, one character at a time.

    def show_rule(self, beat: Beat) -> None:
        self.rule = mono(self.story.pattern, 52).move_to(0.6 * UP)
        self.letters = VGroup(*map(Bead, self.story.text)).arrange(RIGHT, buff=0.08).move_to(0.7 * DOWN)
        self.enter(self.rule)
        self.enter(self.letters)

    def show_machine(self, beat: Beat) -> None:
        corner = (
            mono(self.story.pattern, 24, MUTED).move_to([0, TITLE_Y, 0]).align_to([RIGHT_EDGE, 0, 0], RIGHT)
        )
        up = self.letters.animate.move_to([0, TAPE_Y - LOWER, 0])
        self.play(self.rule.animate.become(corner), up, run_time=0.8)
        parts: list[Animation] = [FadeIn(self.drawing.entry)]
        for name, state in self.drawing.states.items():
            parts.append(FadeIn(state, scale=0.7))
            parts += [FadeIn(e) for (source, _), e in self.drawing.edges.items() if source == name]
        self.play(LaggedStart(*parts, lag_ratio=0.35), run_time=2.6)

    def show_walk(self, beat: Beat) -> None:
        self.place_marker(self.start)
        moves = [move for step in beat.steps for move in step.path]
        pace = walk_seconds(self.story.text) / len(moves) / WALK_S
        for bead, move in zip(self.letters, moves, strict=True):
            traveller = bead.copy().lit().set_z_index(10)
            bead.read()
            self.play(traveller.animate.move_to(self.hover(self.at)), run_time=0.25 * pace)
            self.jump(move.state, traveller, 0.4 * pace)
            self.play(FadeOut(traveller), run_time=0.15 * pace)

    def show_match(self, beat: Beat) -> None:
        self.ring_once(self.at)
        self.play(*(bead.circle.animate.set_stroke(ACCEPT) for bead in self.letters), run_time=0.4)

    # Chapter 2: the same text in tokens.

    def show_tokens(self, beat: Beat) -> None:
        self.drawing.rest()
        self.play(*self.leave(), run_time=0.3)
        self.play(VGroup(self.drawing, self.letters).animate.shift(LOWER * UP), run_time=0.5)
        rising = (FadeIn(block, shift=0.3 * UP) for block in self.row)
        self.play(LaggedStart(*rising, lag_ratio=0.15), run_time=1.6)
        self.play(FadeOut(self.letters), run_time=self.ENTER_S)

    def show_token(self, beat: Beat) -> None:
        (step,) = beat.steps
        if beat.name == "token 1":
            self.place_marker(self.start)
        self.join(step, way=0)

    def join(self, step: TraceStep, way: int, pace: float = 1.0) -> None:
        """A token jumps, and joins the text at the top."""
        self.write(step, self.strips[way][len(self.written(way))], pace)

    def written(self, way: int) -> list[TokenBlock]:
        return [block for block in self.strips[way] if block in self.mobjects]

    def show_end(self, beat: Beat) -> None:
        self.drawing.rest()
        self.ending = self.block(beat.steps[0].label)
        self.play(self.ending.animate.move_to(self.hover(self.at)), run_time=0.6)
        self.ending.ringed(ACCEPT)
        self.ring_once(self.at)

    # Chapter 3: other tokens, the same text.

    def open_again(self, beat: Beat) -> list[Animation]:
        return [FadeOut(self.ending), *self.arrive(self.start)]

    def show_again(self, beat: Beat) -> None:
        for step in beat.steps:
            self.join(step, way=1, pace=0.7)

    def show_lives(self, beat: Beat) -> None:
        for step in beat.steps:
            self.join(step, way=1)
        self.ring_once(self.at)  # the whole text is written: this state accepts

    def show_ways(self, beat: Beat) -> None:
        self.drawing.rest()
        for blocks in self.strips[2:]:
            self.enter(blocks)
        self.frames = VGroup(*(frame(blocks, color=ACCEPT) for blocks in self.strips))
        self.play(LaggedStart(*map(FadeIn, self.frames), lag_ratio=0.5), run_time=0.9)

    # Chapter 4: the same token, another state.

    def open_back(self, beat: Beat) -> list[Animation]:
        kept = self.strips[0][: self.story.contrast.dies_at]
        gone = [block for blocks in self.strips for block in blocks if block not in kept]
        return [*map(FadeOut, [self.frames, *gone]), *self.arrive(self.story.contrast.dies.state or "")]

    def show_back(self, beat: Beat) -> None:
        self.victim = self.block(self.story.contrast.label)
        self.play(self.victim.animate.move_to(self.hover(self.at)), run_time=0.6)

    def show_dies(self, beat: Beat) -> None:
        dead, home = self.story.contrast.dead, self.at
        self.run_token(self.victim, [move.state for move in dead.path[:-1]])
        self.enter(missing := self.drawing.missing(self.at, dead.label[len(dead.path) - 1]))
        self.wait(0.4)
        self.victim.killed(len(dead.path) - 1).set_z_index(10)
        self.wait(0.9)
        self.fall(self.victim)
        self.victim.shift(self.hover(home) - self.victim.panel.get_center())
        self.drawing.rest()
        self.play(FadeOut(missing), *self.arrive(home), run_time=0.6)

    def show_contrast(self, beat: Beat) -> None:
        self.enter(self.victim)
        self.survivor = self.block(self.story.contrast.label).move_to(self.victim.panel).set_z_index(9)
        home = self.hover(self.story.contrast.lives.state or "")
        apart = home[0] - self.victim.panel.get_x()  # above neighbouring states long tokens would touch
        home[0] += np.sign(apart) * max(0, self.survivor.width + 0.15 - abs(apart))
        self.play(self.survivor.animate.move_to(home), run_time=0.8)
        self.survivor.ringed(LIVE)
        self.play(*(b.animate.read() for b in self.survivor.beads), run_time=0.3)

    # Chapter 5: one mask for each state.

    def open_mask(self, beat: Beat) -> list[Animation]:
        """The vocabulary becomes the row of the state, as the caption names it."""
        (step,) = beat.steps
        name, row = step.state or "", MaskRow(self.row, step.candidates)
        home = row.copy().move_to([0.5, MASK_Y[beat.name], 0])
        label = FadeIn(StateCircle(name, False, 0.36).next_to(home, LEFT, buff=0.3))
        self.masks.append(row)
        if len(self.masks) > 1:
            moved = [FadeOut(self.texts), *self.arrive(name)]
            return [FadeIn(row.move_to(home), shift=0.3 * DOWN), label, *moved]
        gone = map(FadeOut, [self.victim, self.survivor, *self.written(0)])
        self.remove(*self.row)
        return [*gone, row.animate.move_to(home), label, *self.arrive(name, LIFT)]

    def show_mask(self, beat: Beat) -> None:
        row = self.masks[-1]
        self.enter(self.so_far(self.at))
        shutters = (GrowFromEdge(Shutter(block), UP) for block in row.shut)
        self.play(LaggedStart(*shutters, lag_ratio=0.12), run_time=1.0)
        self.play(*(block.panel.animate.set_stroke(LIVE, 5) for block in row.open), run_time=0.3)

    def so_far(self, name: str) -> VGroup:
        """The text that leads to the state, above it."""
        contrast = self.story.contrast
        way, count = (1, contrast.lives_at) if len(self.masks) == 1 else (0, contrast.dies_at)
        self.texts = self.strips[way][:count].copy().scale(0.8).move_to(self.hover(name))
        return self.texts

    def show_last(self, beat: Beat) -> None:
        self.enter(frame(*(row.of(self.story.contrast.label) for row in self.masks)))
