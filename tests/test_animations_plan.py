"""The plan of film 03, without manim: what it says, how fast, and that the package agrees with it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import pytest

import minidecoder as md
from animations import layout
from animations.plan import LAST_FRAME_S, Beat, Plan, faults, route, scripted_trace, spoken
from animations.plan_s03 import PATTERN, TOKENS, WAYS, Story, segmentations, tell
from minidecoder.decoding.constraint import Constraint
from minidecoder.lens.explain import Kind, explain
from minidecoder.lens.trace import Machine, draw_machine
from minidecoder.regex.compiler import compile_dfa
from minidecoder.viz.graph import draw

SVG = "{http://www.w3.org/2000/svg}"
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


def machine_of(pattern: str) -> Machine:
    return draw_machine(compile_dfa(pattern))


PICTURES = [PATTERN, CLOCK[0], "-?[0-9]+(\\.[0-9]+)?", "[a-z]+@[a-z]+\\.[a-z]{2,3}", "a|b"]


@pytest.mark.parametrize("pattern", PICTURES)
def test_a_machine_stands_in_a_film_as_in_the_picture_of_a_lesson(pattern: str) -> None:
    machine = machine_of(pattern)
    standing = layout.lay_out(machine, 12.6, 2.33)
    pairs, labels = (
        [],
        [],
    )  # (in the picture, in the film): the same up to one scale, one shift, and y upside down
    for part in ElementTree.fromstring(draw(machine).svg).iter(SVG + "g"):
        name = part.get("id", "")
        if name.startswith("state-"):
            ring = part.find(SVG + "ellipse")
            assert ring is not None
            centre = float(ring.attrib["cx"]), float(ring.attrib["cy"])
            pairs.append((centre, standing.at(standing.placed.states[name.removeprefix("state-")])))
        elif name.startswith("edge-s") and name != "edge-start":
            line = standing.placed.lines[tuple(name.split("-")[1:])]
            text, path = part.find(SVG + "text"), part.find(SVG + "path")
            assert text is not None
            assert text.text == line.label
            assert path is not None
            numbers = [float(number) for number in re.findall(r"-?[0-9.]+", path.attrib["d"])]
            assert len(line.points) == len(numbers) // 2
            way = zip(numbers[::2], numbers[1::2], strict=True)
            pairs += [(there, standing.at(here)) for there, here in zip(way, line.points, strict=True)]
            assert line.label_at is not None
            labels.append(((float(text.attrib["x"]), float(text.attrib["y"])), standing.at(line.label_at)))
    assert len(pairs) >= len(machine.states) + 4 * len(machine.edges)
    (x0, y0), (film_x0, film_y0, _) = pairs[0]
    for (x, y), (film_x, film_y, depth) in pairs:
        assert depth == 0
        assert film_x - film_x0 == pytest.approx((x - x0) * standing.scale, abs=0.001)
        assert film_y - film_y0 == pytest.approx((y0 - y) * standing.scale, abs=0.001)
    assert len(labels) == len(machine.edges)
    for (x, y), (film_x, film_y, _) in labels:
        assert film_x - film_x0 == pytest.approx((x - x0) * standing.scale, abs=0.001)
        beneath = (film_y - film_y0) / standing.scale - (y0 - y)  # SVG has the base line, the film the middle
        assert 2 < beneath < 7


@pytest.mark.parametrize("pattern", PICTURES)
def test_a_machine_stays_in_its_box_and_its_labels_readable(pattern: str) -> None:
    standing = layout.lay_out(machine_of(pattern), 12.6, 2.33)
    assert standing.font_size() >= 18
    placed, radius = standing.placed, standing.radius
    for x, y, _ in map(standing.at, placed.states.values()):
        assert abs(x) + radius <= 6.3 + 1e-6
        assert abs(y) + radius <= 1.165 + 1e-6
    for line in placed.lines.values():
        assert all(abs(standing.at(p)[0]) <= 6.31 and abs(standing.at(p)[1]) <= 1.17 for p in line.points)


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        ("(ab|ba){1,9}c", "29 states need .*% more room"),
        ("[a-z]{2}-[0-9]{4}-[0-9]{4}", "11 states of this machine have no circle"),
        ("(" + "|".join(f"{n:03}" for n in range(0, 1000, 7)) + ")", "too large|no circle"),
    ],
)
def test_a_machine_too_large_for_a_film_is_refused_with_what_to_do(pattern: str, complaint: str) -> None:
    with pytest.raises(md.UsageError, match=complaint) as refusal:
        layout.lay_out(machine_of(pattern), 12.6, 2.33)
    assert "a shorter pattern" in str(refusal.value)


@pytest.mark.parametrize("token", ["é", "\x00", "€5"])
def test_a_token_without_a_bead_for_each_byte_is_refused(token: str) -> None:
    with pytest.raises(md.UsageError, match="no bead for each of its bytes"):
        tell(tokens=(*TOKENS, token))


def test_an_address_makes_a_film() -> None:
    tokens = ("</s>", "a", "a@", "@b", "b.", ".de", "de")
    story = tell(r"[a-z]+@[a-z]+\.[a-z]{2}", tokens, (("a", "@b", ".de"), ("a@", "b.", "de")))
    assert (story.text, story.contrast.label) == ("a@b.de", "b.")
    assert (story.contrast.lives.state, story.contrast.dies.state) == ("s2", "s1")
    assert layout.lay_out(story.machine, 12.6, 2.33).font_size() >= 18


def test_a_token_that_dies_only_where_the_text_begins_is_told_so() -> None:
    story = tell("aab", ("E", "ab", "a", "aa", "b"), (("aa", "b"), ("a", "ab")))
    assert story.contrast.dies_at == 0
    assert "Back to s0, where the text begins. Try `ab` here." in [b.caption for b in story.plan.beats]


def test_white_space_in_the_text_is_seen() -> None:
    story = tell(
        "[0-9]+ [0-9]{2}", ("E", "1", "12", " ", " 5", "50", "0"), (("12", " 5", "0"), ("12", " ", "50"))
    )
    assert story.text == "12␣50"
    assert "Read `12␣50`." in " ".join(beat.caption for beat in story.plan.beats)


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
