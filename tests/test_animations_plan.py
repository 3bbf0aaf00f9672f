"""The plan of film 03, without manim: what it says, how fast, and that the package agrees with it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import pytest

import minidecoder as md
from animations import layout
from animations.plan import LAST_FRAME_S, Beat, Plan, faults, route, scripted_trace, spoken
from animations.plan_s03 import PATTERN, TOKENS, WAYS, Story, segmentations, tell
from minidecoder.decoding.constraint import Constraint
from minidecoder.lens.explain import Kind, explain

ROOT = Path(__file__).resolve().parents[1]
CLOCK = (
    r"[0-9]{2}:[0-9]{2}",
    ("<eos>", "1", "12", ":", ":3", "30", "0", "3"),
    (("12", ":3", "0"), ("12", ":", "30")),
)
LETTERS = (r"a{2,3}b", ("END", "a", "aa", "b", "ab"), (("aa", "ab"), ("a", "aa", "b")))


def compiled(pattern: str = PATTERN, tokens: Sequence[str] = TOKENS) -> Constraint:
    return md.compile_regex(pattern, md.Vocabulary.from_tokens(list(tokens), eos=tokens[0]))


@pytest.fixture(scope="module", params=[(PATTERN, TOKENS, WAYS), CLOCK], ids=["price", "clock"])
def film(request: pytest.FixtureRequest) -> tuple[Story, Constraint]:
    pattern, tokens, ways = request.param
    return tell(pattern, tokens, ways), compiled(pattern, tokens)


def chains(beat: Beat) -> Iterator[tuple[str, list[str]]]:
    """(token or character, states) where a caption says that one goes from state to state."""
    found = re.search(r"`([^`]+)`[^`]*?(s\d+(?: → s\d+)+)", beat.caption)
    if found:
        yield found[1], found[2].split(" → ")


def test_the_plan_is_made_without_manim() -> None:
    script = "import sys, animations.plan_s03, animations.layout; print('manim' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_a_film_takes_45_to_90_seconds_and_its_last_frame_stands_still(
    film: tuple[Story, Constraint],
) -> None:
    plan = film[0].plan
    assert 45 <= plan.seconds <= 90
    assert plan.beats[-1].seconds > LAST_FRAME_S


def test_captions_can_be_read_in_their_time_and_fit_on_one_line(film: tuple[Story, Constraint]) -> None:
    for beat in film[0].plan.beats:
        text = spoken(beat.caption)
        assert len(text) <= 17 * beat.seconds
        assert len(text) <= 60
        assert text[0].isupper() or beat.caption[0] == "`"
        assert text[-1] == "."


def test_the_beats_come_in_the_order_of_the_argument(film: tuple[Story, Constraint]) -> None:
    plan = film[0].plan
    assert [beat.chapter for beat in plan.beats if beat.chapter] == [
        "rule",
        "tokens",
        "ways",
        "states",
        "mask",
    ]
    rule, tokens = ["rule", "machine", "walk", "match"], ["tokens", "token 1", "token 2", "token 3", "end"]
    ways, states, mask = (
        ["again", "lives", "ways"],
        ["back", "dies", "contrast"],
        ["mask 1", "mask 2", "last"],
    )
    assert [beat.name for beat in plan.beats] == rule + tokens + ways + states + mask
    assert faults(plan) == []


def test_every_move_in_a_caption_is_a_move_of_the_machine(film: tuple[Story, Constraint]) -> None:
    story, constraint = film
    machine = constraint.characters
    seen = 0
    for beat in story.plan.beats:
        for text, states in chains(beat):
            by_name = {machine.name(state): state for state in range(1, len(machine) + 1)}
            steps = [machine.name(machine.step(by_name[a], c)) for a, c in zip(states, text, strict=False)]
            assert steps == states[1:], beat.caption
            seen += 1
    assert seen >= 5


def test_the_contrast_is_one_token_that_lives_in_one_state_and_dies_in_another(
    film: tuple[Story, Constraint],
) -> None:
    story, constraint = film
    contrast = story.contrast
    kinds = []
    for run, count in ((story.ways[1], contrast.lives_at), (story.ways[0], contrast.dies_at)):
        matcher = constraint.matcher()
        assert all(matcher.accept_token(step.token_id) for step in run.steps[:count])
        kinds.append(explain(matcher, contrast.dead.token_id).kind)
    assert kinds == [Kind.ALLOWED, Kind.DEAD_AT_BYTE]
    captions = " ".join(beat.caption for beat in story.plan.beats)
    assert f"legal in {contrast.lives.state}, dead in {contrast.dies.state}" in captions


def test_the_price_film_tells_of_50_in_s2_and_s3() -> None:
    contrast = tell().contrast
    assert (contrast.label, contrast.lives.state, contrast.dies.state) == ("50", "s2", "s3")
    assert route(contrast.dies, contrast.dead) == ("s3", "s4", "dead")


def test_the_counts_on_screen_are_those_of_the_matcher(film: tuple[Story, Constraint]) -> None:
    story, constraint = film
    for name, run, at in (("mask 1", 1, story.contrast.lives_at), ("mask 2", 0, story.contrast.dies_at)):
        matcher = constraint.matcher()
        for step in story.ways[run].steps[:at]:
            matcher.accept_token(step.token_id)
        beat = next(beat for beat in story.plan.beats if beat.name == name)
        assert f"{len(matcher.allowed_token_ids())} of {len(constraint.vocabulary)}" in beat.caption


def test_the_end_of_the_text_is_legal_only_in_the_double_ring(film: tuple[Story, Constraint]) -> None:
    story, constraint = film
    accepting = {state.name for state in story.machine.states if state.accepting}
    seen = set()
    for run in story.ways:
        for step in run.steps:
            legal = any(c.kind == "eos" and c.allowed for c in step.candidates)
            assert legal == (step.state in accepting)
            seen.add(legal)
    assert seen == {True, False}
    beat = next(beat for beat in story.plan.beats if beat.name == "end")
    name = constraint.vocabulary.text(min(constraint.vocabulary.eos_ids))
    assert beat.caption.startswith(f"`{name}` ends the text.")
    assert beat.steps[0].is_eos


def test_all_segmentations_are_found() -> None:
    pieces = [token for token in TOKENS[1:] if token in "12.50"]
    brute = {way for n in range(1, 6) for way in product(pieces, repeat=n) if "".join(way) == "12.50"}
    assert set(segmentations(compiled(), "12.50")) == brute
    assert len(brute) == 3
    assert [run.text for run in tell().ways] == ["12.50"] * 3


def test_a_text_that_the_pattern_refuses_has_no_segmentation() -> None:
    assert list(segmentations(compiled(), "12.5")) == []


def test_other_letters_give_another_consistent_film() -> None:
    story = tell(*LETTERS)
    assert faults(story.plan) == []
    assert (story.text, story.contrast.label, len(story.ways)) == ("aaab", "aa", 5)
    captions = " ".join(beat.caption for beat in story.plan.beats)
    assert "`aaab` has 5 segmentations" in captions
    assert "`ab` spans 2 parts of the pattern: s2 → s3 → s4." in captions


def test_tokens_that_are_legal_everywhere_make_no_contrast() -> None:
    with pytest.raises(ValueError, match="no token of '12' dies"):
        tell("[0-9]+", ("END", "1", "2", "12"), (("12",), ("1", "2")))


@pytest.mark.parametrize(
    ("ways", "complaint"),
    [
        ((("12", ".5", "0"), ("1", ".", "50")), "differ"),
        ((("12", ".5", "50"), ("12", ".", "50")), "the machine takes"),
        ((("12", ".50"), ("12", ".", "50")), "vocabulary"),
        ((("12", ".", "50"), ("12", ".", "50")), "two different ways"),
    ],
)
def test_parameters_that_make_no_story_are_refused(ways: Sequence[Sequence[str]], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        tell(ways=ways)


def test_a_vocabulary_that_a_trace_does_not_record_whole_is_refused() -> None:
    tokens = [*TOKENS, *(f"x{i}" for i in range(40))]
    with pytest.raises(ValueError, match="16 a step"):
        scripted_trace(compiled(tokens=tokens), WAYS[0])


@pytest.mark.parametrize(
    ("caption", "complaint"),
    [
        ("In s7, `50` is legal.", "names s7"),
        ("In s2, `51` is legal.", "names `51`"),
        ("In s2, `50` is legal: s2 → s4.", "goes s2 → s4"),
        ("x" * 61, "do not fit"),
    ],
)
def test_a_caption_that_the_trace_does_not_bear_out_is_a_fault(caption: str, complaint: str) -> None:
    plan = tell().plan
    at = [beat.name for beat in plan.beats].index("lives")
    beats = list(plan.beats)
    beats[at] = replace(beats[at], caption=caption)
    assert [fault for fault in faults(Plan(plan.title, tuple(beats))) if complaint in fault]


def test_haste_doubled_names_and_a_film_of_the_wrong_length_are_faults() -> None:
    found = faults(Plan("", (Beat("a", "Twenty characters or so", 1), Beat("a", "Yes.", 200))))
    assert [
        word for word in ("too fast", "two beats", "201 s", "no chapter") if word not in " ".join(found)
    ] == []


def test_states_stand_from_left_to_right_with_and_without_graphviz(
    film: tuple[Story, Constraint], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = film[0].machine
    for program in (layout.shutil.which("dot"), None):
        monkeypatch.setattr(layout.shutil, "which", lambda name, program=program: program)
        points = layout.place(machine, 10, 2)
        xs = [points[state.name][0] for state in machine.states]
        assert xs == sorted(xs)
        assert (min(xs), max(xs)) == pytest.approx((-5, 5))
        assert min(right - left for left, right in pairwise(xs)) > 1


def test_branches_stand_below_each_other_without_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout.shutil, "which", lambda name: None)
    trace = scripted_trace(compiled("ax|by", ("E", "a", "x", "b", "y")), ("a", "x"))
    assert trace.machine is not None
    points = layout.place(trace.machine, 10, 2)
    assert len(set(points.values())) == len(points)


def test_the_readme_holds_the_transcript() -> None:
    assert tell().plan.transcript() in (ROOT / "animations" / "README.md").read_text(encoding="utf-8")


def test_the_transcript_stops_quietly_when_its_reader_has_seen_enough() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        command = [sys.executable, "-m", "animations.plan_s03"]
        done = subprocess.run(command, cwd=ROOT, stdout=writing, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writing)
    assert done.stderr == b""


def test_films_stay_short_files() -> None:
    for path in (ROOT / "animations").glob("*.py"):
        lines = path.read_text(encoding="utf-8").count("\n")
        assert lines <= (200 if re.match(r"s\d\d_", path.name) else 250), path.name
