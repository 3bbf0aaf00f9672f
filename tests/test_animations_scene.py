"""Film 03 as manim builds it: what stands where at the end of each beat, and one real render."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

try:
    import manim
except ImportError as fault:  # cairo or pango missing ends here too
    reason = f"manim cannot be imported ({fault}): pip install 'minidecoder[animations]'"
    if os.environ.get("MINIDECODER_REQUIRE_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason, allow_module_level=True)

from animations import style
from animations.machine import MachineDrawing
from animations.mobjects import MaskRow, Shutter, TokenBlock, side_by_side
from animations.plan import Beat, Plan, spoken
from animations.plan_s03 import TOKENS, WAYS, tell
from animations.s03_tokens_are_not_characters import LIFT, STAGE, TokensAreNotCharacters
from minidecoder.errors import UsageError
from minidecoder.lens.trace import draw_machine
from minidecoder.regex.compiler import compile_dfa

ROOT = Path(__file__).resolve().parents[1]
FILM = "animations/s03_tokens_are_not_characters.py"
HALF_WIDTH, HALF_HEIGHT = 64 / 9, 4.0
ABOUT = 0.02


class Clock(TokensAreNotCharacters):
    pattern = "[0-9]{2}:[0-9]{2}"
    tokens = ("<eos>", "1", "12", ":", ":3", "30", "0", "3")
    ways = (("12", ":3", "0"), ("12", ":", "30"))


@dataclass(frozen=True)
class Box:
    """Where something stands: its name, its edges, and its font size where it is a text."""

    name: str
    left: float
    right: float
    bottom: float
    top: float
    size: float = 0.0
    is_caption: bool = False

    def overlaps(self, other: Box) -> bool:
        across = min(self.right, other.right) - max(self.left, other.left)
        return across > ABOUT and min(self.top, other.top) - max(self.bottom, other.bottom) > ABOUT


@dataclass(frozen=True)
class Moment:
    """What stands where when a motion ends: all texts, the blocks of tokens, and where the machine is."""

    beat: str
    texts: list[Box]
    blocks: list[Box]
    machine: list[Box]


@dataclass
class Showing:
    """A film that was played without drawing a frame."""

    scene: TokensAreNotCharacters
    plan: Plan
    shapes: dict[str, list[Box]] = field(default_factory=dict)  # by beat
    texts: dict[str, list[Box]] = field(default_factory=dict)
    lengths: dict[str, float] = field(default_factory=dict)
    sections: list[str] = field(default_factory=list)
    captioned: dict[str, tuple[str, list[type]]] = field(default_factory=dict)  # as each caption has come
    moments: list[Moment] = field(default_factory=list)  # after every single motion
    texts_made: int = 0


def measured(mobject: Any, caption: Any) -> Box:
    points = mobject.get_points_defining_boundary()
    low, high = points.min(axis=0), points.max(axis=0)
    name = getattr(mobject, "original_text", type(mobject).__name__)
    size = mobject.font_size if isinstance(mobject, manim.Text) else 0.0
    return Box(name, low[0], high[0], low[1], high[1], size, mobject is caption)


def parts_of(drawing: MachineDrawing) -> list[Any]:
    """What a token must not hide: circles, labels and arrows."""
    edges = drawing.edges.values()
    return [
        *(s.ring for s in drawing.states.values()),
        *(e.label for e in edges),
        *(e.arrow.curve for e in edges),
    ]


def touching(drawing: MachineDrawing) -> list[str]:
    """Labels of a machine that lie on an arrow, on a circle or on each other, the arrows seen point by point."""
    found = []
    edges = list(drawing.edges.values())
    boxes = [measured(edge.label, None) for edge in edges]
    curves = [edge.arrow.curve for edge in edges]
    points = [c.point_from_proportion(share) for c in curves for share in np.linspace(0, 1, 60)]
    points += [corner for edge in edges for corner in edge.arrow[1].get_vertices()]
    for box in boxes:
        inside = [p for p in points if box.left < p[0] < box.right and box.bottom < p[1] < box.top]
        found += [f"{box.name} lies on an arrow"] * bool(inside)
        for name, state in drawing.states.items():
            x, y, _ = state.ring.get_center()
            nearest = np.clip(x, box.left, box.right) - x, np.clip(y, box.bottom, box.top) - y
            found += [f"{box.name} lies on {name}"] * bool(np.hypot(*nearest) < state.ring.width / 2)
    found += [f"{a.name} lies on {b.name}" for a, b in combinations(boxes, 2) if a.overlaps(b)]
    return found


def play(scene_class: type[TokensAreNotCharacters], folder: Path) -> Showing:
    """Every beat of the film, looked at when it ends."""
    showing = Showing(None, None)  # type: ignore[arg-type]

    class Watched(scene_class):  # type: ignore[misc, valid-type]
        def play_beat(self, beat: Beat) -> None:
            self.beat, before = beat.name, self.time
            super().play_beat(beat)
            seen = [part for mobject in self.mobjects for part in mobject.get_family() if part.has_points()]
            texts = [p for m in self.mobjects for p in m.get_family() if isinstance(p, manim.Text)]
            caption = set(map(id, self.caption.get_family()))
            boxes = [measured(part, part if id(part) in caption else None) for part in seen]
            showing.shapes[beat.name] = boxes
            showing.texts[beat.name] = [measured(text, self.caption) for text in texts]
            showing.lengths[beat.name] = self.time - before

        def play(self, *moves: Any, **options: Any) -> None:
            super().play(*moves, **options)
            family = [part for mobject in self.mobjects for part in mobject.get_family()]
            texts = [measured(part, None) for part in family if isinstance(part, manim.Text)]
            blocks = [measured(part.panel, None) for part in family if isinstance(part, TokenBlock)]
            is_there = self.drawing in self.mobjects
            machine = [measured(part, None) for part in parts_of(self.drawing)] if is_there else []
            showing.moments.append(Moment(self.beat, texts, blocks, machine))

        def say(self, caption: str, *rest: Any) -> None:
            super().say(caption, *rest)
            kinds = [type(mobject) for mobject in self.mobjects]
            showing.captioned[caption] = (getattr(self, "at", ""), kinds)

        def next_section(self, name: str = "", *rest: Any) -> None:
            showing.sections.append(name)
            super().next_section(name, *rest)

        def prepare(self) -> Plan:
            showing.plan = super().prepare()
            return showing.plan

    settings = {"frame_rate": 60, "dry_run": True, "media_dir": str(folder), "progress_bar": "none"}
    with manim.tempconfig(settings), pytest.MonkeyPatch.context() as patch:
        make = manim.Text.__init__

        def counted(self: Any, *args: Any, **kwargs: Any) -> None:
            showing.texts_made += 1
            make(self, *args, **kwargs)

        patch.setattr(manim.Text, "__init__", counted)
        showing.scene = Watched(skip_animations=True)
        showing.scene.render()
    return showing


class Signed(TokensAreNotCharacters):
    pattern = r"-?[0-9]+(\.[0-9]+)?"  # an arrow passes over a state
    tokens = ("</s>", "-", "1", "-1", ".", ".5", "1.", "5", "1.5")
    ways = (("-1", ".5"), ("-", "1.", "5"))


FILMS = [TokensAreNotCharacters, Clock, Signed]


@pytest.fixture(scope="module", params=FILMS, ids=["price", "clock", "signed"])
def showing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Showing:
    return play(request.param, tmp_path_factory.mktemp("media"))


def everything(boxes: dict[str, list[Box]]) -> Iterator[tuple[str, Box]]:
    for beat, found in boxes.items():
        assert found
        yield from ((beat, box) for box in found)


def test_the_film_takes_the_time_that_was_planned(showing: Showing) -> None:
    assert showing.lengths == pytest.approx({beat.name: beat.seconds for beat in showing.plan.beats})
    assert showing.scene.time == pytest.approx(showing.plan.seconds)


def test_nothing_stands_outside_the_frame(showing: Showing) -> None:
    for beat, box in everything(showing.shapes):
        inside = max(-box.left, box.right) <= HALF_WIDTH and max(-box.bottom, box.top) <= HALF_HEIGHT
        assert inside, (beat, box)


def test_the_caption_has_its_band_for_itself_and_stays_in_it(showing: Showing) -> None:
    low, high = style.BAND
    for beat, box in everything(showing.shapes):
        if box.is_caption:
            assert low < box.bottom < box.top < high, (beat, box)
            assert max(-box.left, box.right) <= 6.6, (beat, box)
        else:
            assert box.bottom >= high - ABOUT, (beat, box)


def test_no_two_texts_overlap(showing: Showing) -> None:
    for beat, texts in showing.texts.items():
        assert [(a, b) for a, b in combinations(texts, 2) if a.overlaps(b)] == [], beat


def test_no_two_texts_overlap_when_any_motion_ends(showing: Showing) -> None:
    assert len(showing.moments) > 50
    for moment in showing.moments:
        assert [(a, b) for a, b in combinations(moment.texts, 2) if a.overlaps(b)] == [], moment.beat


def test_no_token_comes_to_rest_on_the_machine(showing: Showing) -> None:
    seen = 0
    for moment in showing.moments:
        seen += bool(moment.blocks and moment.machine)
        hidden = [(block, part) for block in moment.blocks for part in moment.machine if block.overlaps(part)]
        assert hidden == [], moment.beat
    assert seen > 30


def test_no_label_lies_on_an_arrow_a_circle_or_another_label(showing: Showing) -> None:
    assert touching(showing.scene.drawing) == []


@pytest.mark.parametrize("pattern", ["-?[0-9]+(\\.[0-9]+)?", "[a-z]+@[a-z]+\\.[a-z]{2,3}", "a|b", "a[^b]*b"])
def test_no_label_of_another_machine_touches_anything(pattern: str, tmp_path: Path) -> None:
    with manim.tempconfig({"media_dir": str(tmp_path)}):
        assert touching(MachineDrawing(draw_machine(compile_dfa(pattern)), *STAGE)) == []


def test_a_label_that_lies_on_something_is_found(tmp_path: Path) -> None:
    with manim.tempconfig({"media_dir": str(tmp_path)}):
        drawing = MachineDrawing(draw_machine(compile_dfa(r"[0-9]+\.[0-9]{2}")), *STAGE)
        edge = drawing.edges["s0", "s1"]
        for target, complaint in (
            (edge.arrow.curve, "0–9 lies on an arrow"),
            (drawing.states["s1"].ring, "0–9 lies on s1"),
            (drawing.edges["s1", "s2"].label, "0–9 lies on 0."),
        ):
            edge.label.move_to(target)
            assert complaint in touching(drawing)


def test_the_marker_goes_from_centre_to_centre_along_the_arrow(tmp_path: Path) -> None:
    with manim.tempconfig({"media_dir": str(tmp_path)}):
        drawing = MachineDrawing(draw_machine(compile_dfa("-?[0-9]+(\\.[0-9]+)?")), *STAGE)
    for (source, target), edge in drawing.edges.items():
        ends = drawing.states[source].ring.get_center(), drawing.states[target].ring.get_center()
        assert np.allclose(edge.route.get_start(), ends[0])
        assert np.allclose(edge.route.get_end(), ends[1])
        middle = edge.arrow.curve.point_from_proportion(0.5)
        way = [edge.route.point_from_proportion(share) for share in np.linspace(0, 1, 400)]
        assert min(np.linalg.norm(middle - point) for point in way) < 0.02


@pytest.mark.parametrize(
    ("tokens", "ways", "complaint"),
    [
        ((*TOKENS, *(f"{n}" for n in range(100, 106))), WAYS, "do not fit side by side"),
        (
            ("E", "12", "1234567", "34567", ".", ".5", "50", "0"),
            (("1234567", ".5", "0"), ("12", "34567", ".", "50")),
            "characters do not fit on one line",
        ),
    ],
)
def test_what_does_not_fit_a_frame_is_refused(tokens: Any, ways: Any, complaint: str, tmp_path: Path) -> None:
    class Wide(TokensAreNotCharacters):
        pass

    Wide.tokens, Wide.ways = tokens, ways
    settings = {"frame_rate": 60, "dry_run": True, "media_dir": str(tmp_path), "progress_bar": "none"}
    with manim.tempconfig(settings), pytest.raises(UsageError, match=complaint):
        Wide(skip_animations=True).render()


def test_two_ways_too_long_to_stand_side_by_side_are_refused(tmp_path: Path) -> None:
    with manim.tempconfig({"media_dir": str(tmp_path)}):
        assert len(side_by_side([["12", ".5"], ["1", "2.5"], ["1", "2", ".", "5"]])) == 3
        assert len(side_by_side([["123", "456"], ["123456"], ["1", "2", "3456"]])) == 2
        with pytest.raises(UsageError, match="two ways of writing 123456789012"):
            side_by_side([["123456", "789012"], ["123456789012"]])


def test_no_text_is_too_small_for_the_last_row(showing: Showing) -> None:
    for beat, box in everything(showing.texts):
        assert box.size >= style.MIN_SIZE - ABOUT, (beat, box)


def test_a_font_size_of_18_is_24_points_on_a_1080p_frame(tmp_path: Path) -> None:
    with manim.tempconfig({"media_dir": str(tmp_path)}):
        ten = style.mono("M" * 11, style.MIN_SIZE)
    advance = (ten[10].get_x() - ten[0].get_x()) / 10  # DejaVu Sans Mono: 0.602 of its height
    pixels = advance / 0.602 * 1080 / 8
    assert 0 <= pixels - 24 * 96 / 72 < 2


def test_no_caption_is_ahead_of_the_picture(showing: Showing) -> None:
    beats = {beat.name: beat for beat in showing.plan.beats}
    contrast = showing.scene.story.contrast
    at = {name: showing.captioned[beats[name].caption] for name in ("back", "mask 1", "mask 2")}
    assert at["back"][0] == at["mask 2"][0] == contrast.dies.state
    assert at["mask 1"][0] == contrast.lives.state
    assert [at[name][1].count(MaskRow) for name in ("back", "mask 1", "mask 2")] == [0, 1, 2]


def test_a_token_that_the_mask_shuts_stays_readable(tmp_path: Path) -> None:
    with manim.tempconfig({"media_dir": str(tmp_path)}):
        for label in (".", ".5", "1."):
            block = TokenBlock(label)
            _, _, mark = Shutter(block)
            corner = measured(mark, None)
            assert [b for b in block.beads if measured(b.letter[-1], None).overlaps(corner)] == []


def test_a_dot_is_no_speck(tmp_path: Path) -> None:
    with manim.tempconfig({"media_dir": str(tmp_path)}):
        dot, digit = style.mono(".", 24)[-1], style.mono("0", 24)[0]
    assert dot.height * 480 / 8 > 4  # pixels of a draft
    assert dot.height > digit.height / 3


def test_a_dash_stays_a_dash(tmp_path: Path) -> None:
    with manim.tempconfig({"media_dir": str(tmp_path)}):
        dash, digit = style.mono("-", 24)[-1], style.mono("0", 24)[0]
    assert dash.width < digit.width
    assert dash.height < digit.height / 4


def test_the_dead_token_ends_above_the_state_where_it_was_tried(showing: Showing) -> None:
    scene = showing.scene
    dies = scene.drawing.states[scene.story.contrast.dies.state]
    assert scene.victim.panel.get_x() == pytest.approx(dies.get_x())
    low = scene.victim.panel.get_bottom()[1] + LIFT  # the machine has risen since
    assert low > max(dies.get_top()[1], *(edge.label.get_top()[1] for edge in scene.drawing.edges.values()))


def test_few_text_objects_are_made(showing: Showing) -> None:
    assert 0 < showing.texts_made <= 200


def test_sections_are_the_chapters_and_subtitles_the_captions(showing: Showing) -> None:
    writer = showing.scene.renderer.file_writer
    assert showing.sections == [beat.chapter for beat in showing.plan.beats if beat.chapter]
    assert [line.content for line in writer.subcaptions] == [spoken(b.caption) for b in showing.plan.beats]
    for earlier, later in zip(writer.subcaptions, writer.subcaptions[1:], strict=False):
        assert earlier.end <= later.start


def test_a_beat_without_time_for_its_pause_is_refused(tmp_path: Path) -> None:
    class Hasty(TokensAreNotCharacters):
        def prepare(self) -> Plan:
            plan = super().prepare()
            return replace(plan, beats=(replace(plan.beats[0], seconds=2.5),))

    settings = {"frame_rate": 60, "dry_run": True, "media_dir": str(tmp_path), "progress_bar": "none"}
    with manim.tempconfig(settings), pytest.raises(ValueError, match=r"'rule' needs 0\.\d s more"):
        Hasty(skip_animations=True).render()


@pytest.mark.timeout(900)
def test_a_real_render_has_its_film_its_subtitles_and_its_chapters(tmp_path: Path) -> None:
    options = [
        "--config_file",
        "animations/manim.cfg",
        "-ql",
        "--progress_bar",
        "none",
        "--media_dir",
        tmp_path,
    ]
    command = [sys.executable, "-m", "manim", *map(str, options), FILM, "TokensAreNotCharacters"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    film = next(tmp_path.glob("videos/*/480p15/TokensAreNotCharacters.mp4"))
    plan = tell().plan

    import av

    with av.open(str(film)) as container:
        assert container.duration is not None
        assert container.duration / av.time_base == pytest.approx(plan.seconds, abs=2)
        assert container.streams.video[0].width == 854
    subtitles = film.with_suffix(".srt").read_text(encoding="utf-8")
    assert subtitles.count("-->") == len(plan.beats)
    assert spoken(plan.beats[-1].caption) in subtitles
    times = re.findall(r"\d\d:\d\d:\d\d,\d{3}", subtitles)
    assert times == sorted(times)  # no two at once
    chapters = json.loads(next(film.parent.glob("sections/*.json")).read_text(encoding="utf-8"))
    assert len(chapters) == sum(bool(beat.chapter) for beat in plan.beats)
