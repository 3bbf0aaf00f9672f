"""What the film of lesson 03 says: tokens are not characters.

From a pattern, a vocabulary and two ways to write one text come the recorded runs, the token that is
legal in one state and dies in another, and the beats. Nothing is known here but how to say it; states,
moves, counts and the dying byte are read from the traces.

Left out: pictures (`s03_tokens_are_not_characters`). `python -m animations.plan_s03` prints the transcript.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import minidecoder as md
from animations.plan import LAST_FRAME_S, Beat, Plan, faults, route, scripted_trace
from minidecoder.decoding.constraint import Constraint
from minidecoder.errors import UsageError
from minidecoder.lens.trace import Candidate, Machine, Trace, TraceStep

__all__ = ["PATTERN", "TOKENS", "WALK_S", "WAYS", "Story", "segmentations", "tell", "walk_seconds"]

PATTERN = r"[0-9]+\.[0-9]{2}"
TOKENS = ("</s>", "1", "12", ".", ".5", "50", "0", "5", "1.")  # the first one ends the text
WALK_S = 0.8  # a character
WAYS = (("12", ".5", "0"), ("12", ".", "50"))


@dataclass(frozen=True)
class Story:
    """`ways`: the runs, one for each segmentation of `text`, the two that are walked first.
    `contrast`: the token of the second run that dies in a state of the first."""

    plan: Plan
    pattern: str
    text: str
    machine: Machine
    ways: tuple[Trace, ...]
    contrast: Contrast

    @property
    def vocabulary(self) -> list[Candidate]:
        return sorted(self.ways[0].steps[0].candidates, key=lambda token: token.token_id)


@dataclass(frozen=True)
class Contrast:
    """The token at step `lives_at` of the second run is tried, and `dead`, at step `dies_at` of the first."""

    lives_at: int
    dies_at: int
    lives: TraceStep
    dies: TraceStep
    dead: Candidate

    @property
    def label(self) -> str:
        return self.dead.label


def tell(
    pattern: str = PATTERN, tokens: Sequence[str] = TOKENS, ways: Sequence[Sequence[str]] = WAYS
) -> Story:
    """The story for these parameters. Raises UsageError where they do not make one."""
    constraint = md.compile_regex(pattern, md.Vocabulary.from_tokens(list(tokens), eos=tokens[0]))
    first, second = (tuple(way) for way in ways)
    if first == second:
        raise UsageError(f"the film needs two different ways, not twice {'|'.join(first)}")
    text = "".join(first)
    others = [way for way in segmentations(constraint, text) if way not in (first, second)]
    runs = tuple(scripted_trace(constraint, way) for way in (first, second, *others))
    if runs[1].text != text:
        raise UsageError(f"two ways of writing one text: {text!r} and {runs[1].text!r} differ")
    machine = runs[0].machine
    assert machine is not None  # there was a constraint
    _check_beads(constraint, runs[0])
    contrast, shown = find_contrast(runs[0], runs[1]), shown_text(runs[0])
    plan = Plan("Tokens are not characters", tuple(_beats(shown, runs, contrast)))
    if wrong := faults(plan):
        raise UsageError("; ".join(wrong))
    return Story(plan, pattern, shown, machine, runs, contrast)


def shown_text(run: Trace) -> str:
    """What a run writes, a visible sign for each character."""
    return "".join(step.label for step in run.steps if not step.is_eos)


def _check_beads(constraint: Constraint, run: Trace) -> None:
    for token in run.steps[0].candidates:
        if token.kind != "eos" and len(token.label) != len(constraint.vocabulary.token_bytes[token.token_id]):
            fault = f"the token {token.label} has no bead for each of its bytes"
            raise UsageError(f"{fault}: a film takes ASCII characters that have a sign of their own")


def segmentations(constraint: Constraint, text: str) -> Iterator[tuple[str, ...]]:
    """Every way to cut a text into tokens that the constraint takes, one after the other, to the end."""
    vocabulary = constraint.vocabulary
    pieces = {vocabulary.text(i): i for i in range(len(vocabulary)) if vocabulary.token_bytes[i]}

    def cut(rest: str) -> Iterator[tuple[str, ...]]:
        if not rest:
            yield ()
        for piece in pieces:
            if rest.startswith(piece):
                yield from ((piece, *after) for after in cut(rest[len(piece) :]))

    for way in cut(text):
        matcher = constraint.matcher()
        if all(matcher.accept_token(pieces[piece]) for piece in way) and matcher.is_accepting:
            yield way


def find_contrast(first: Trace, second: Trace) -> Contrast:
    """The token of `second` that gets furthest before it dies in a state of `first`."""
    found = []
    for lives_at, lives in enumerate(second.steps):
        for dies_at, dies in enumerate(first.steps):
            dead = next((c for c in dies.candidates if c.label == lives.label and not c.allowed), None)
            if dead and len(dead.path) > 1:  # it dies inside the token, not at its first byte
                found.append(Contrast(lives_at, dies_at, lives, dies, dead))
    if not found:
        raise UsageError(f"no token of {second.text!r} dies half way in a state of the first run")
    # A state that some text leads to tells more than the start.
    return max(found, key=lambda c: (len(c.dead.path), c.dies_at > 0, c.lives_at))


def _beats(text: str, runs: Sequence[Trace], contrast: Contrast) -> Iterator[Beat]:
    first, second = (tuple(step for step in run.steps if not step.is_eos) for run in runs[:2])
    yield Beat("rule", f"The answer must match this pattern, as `{text}` does.", 4.5, first, "rule")
    yield Beat("machine", "The pattern as a machine: each arrow reads one character.", 5.7)
    seconds = 2.85 + walk_seconds(text)
    yield Beat("walk", f"Read `{text}`. The filled circle is the current state.", seconds, first)
    last = first[-1].state_after
    yield Beat("match", f"It ends in the double ring, {last}: a full match.", 3.5, first)
    yield Beat("tokens", "But a model does not write characters. It writes tokens.", 5.1, chapter="tokens")
    for k, step in enumerate(first, 1):
        yield Beat(f"token {k}", _says(step, runs[0]), 3.7 + 0.6 * len(step.path), (step,))
    end, name = runs[0].steps[-1], runs[0].steps[-1].label.removeprefix("■ ")
    yield Beat("end", f"`{name}` ends the text. It is legal only in the double ring.", 4.2, (end,))
    yield from _second_way(text, second, len(runs), contrast)
    yield from _two_states(first, contrast)
    yield from _masks(runs[0].vocabulary_size, contrast)


def walk_seconds(text: str) -> float:
    """How long the machine reads a text, one character after the other: a long one goes faster."""
    return WALK_S * min(len(text), 5)


def _says(step: TraceStep, run: Trace) -> str:
    states, count = route(step, step), len(step.path)
    assert run.machine is not None
    labels = {(edge.source, edge.target): edge.label for edge in run.machine.edges}
    parts = len({labels[move] for move in pairwise(states)})
    does = "makes 1 move" if count == 1 else f"makes {count} moves at once"
    if parts > 1:
        does = f"spans {parts} parts of the pattern"
    return f"`{step.label}` {does}: {' → '.join(states)}."


def _second_way(text: str, second: Sequence[TraceStep], count: int, contrast: Contrast) -> Iterator[Beat]:
    before, after = second[: contrast.lives_at], second[contrast.lives_at :]
    seconds = 2.5 + 0.7 * len(before) + 0.4 * sum(len(step.path) for step in before)
    yield Beat("again", "The same text, made of other tokens.", seconds, tuple(before), "ways")
    moves = " → ".join(route(contrast.lives, contrast.lives))
    seconds = 2.9 + len(after) + 0.6 * sum(len(step.path) for step in after)
    yield Beat(
        "lives", f"In {contrast.lives.state}, `{contrast.label}` is legal: {moves}.", seconds, tuple(after)
    )
    yield Beat("ways", f"`{text}` has {count} segmentations. All are legal.", 4.2, tuple(second))


def _two_states(first: Sequence[TraceStep], contrast: Contrast) -> Iterator[Beat]:
    dies, dead = contrast.dies, contrast.dead
    so_far = " and ".join(f"`{step.label}`" for step in first[: contrast.dies_at])
    whence = f"after {so_far}" if so_far else "where the text begins"
    before = first[: contrast.dies_at + 1]
    caption = f"Back to {dies.state}, {whence}. Try `{dead.label}` here."
    yield Beat("back", caption, 4.2, tuple(before), "states")
    moves = " → ".join(route(dies, dead)[:-1])
    done, byte = dead.label[: len(dead.path) - 1], dead.label[len(dead.path) - 1]
    caption = f"`{done}` moves {moves}. No arrow there reads `{byte}`: dead."
    yield Beat("dies", caption, 4.9 + 0.6 * len(dead.path), (dies,))
    caption = f"Same token: legal in {contrast.lives.state}, dead in {dies.state}. The state decides."
    yield Beat("contrast", caption, 4.2, (contrast.lives, dies))


def _masks(size: int, contrast: Contrast) -> Iterator[Beat]:
    lives, dies = contrast.lives, contrast.dies
    caption = f"The mask of {lives.state}: {lives.allowed_count} of {size} tokens may follow."
    yield Beat("mask 1", caption, 4.8, (lives,), "mask")
    caption = f"The mask of {dies.state}: {dies.allowed_count} of {size}. The others get probability 0."
    yield Beat("mask 2", caption, 4.6, (dies,))
    yield Beat("last", "The state picks the mask. The model picks from what is left.", 2.9 + LAST_FRAME_S)


def main() -> None:
    try:
        print(tell().plan.transcript(), flush=True)
    except BrokenPipeError:  # the reader, `head` perhaps, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the flush at exit complains


if __name__ == "__main__":
    main()
