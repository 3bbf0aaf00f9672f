"""The site as a visitor has it: a folder, opened by double-click, with the network cut.

MINIDECODER_SCREENSHOTS=folder keeps pictures. Left out: the player's own behaviour (`test_player_browser`).
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import nbformat
import pytest

from minidecoder.viz import player
from minidecoder.viz.theme import PALETTES, contrast
from tests import notebook_runner as runner
from tests import recorded_runs as runs
from tests.browser import absent, chromium, visit
from tests.notebook_runner import PNG, RECORDING, ROOT, SVG, code_cells
from website import films
from website.__main__ import main
from website.build import MARKER, build
from website.markdown import Prose
from website.outputs import cell_output
from website.shelf import Shelf, SiteError

PROJECTOR, PHONE = (1280, 720), (390, 844)
LESSON = "lessons/03_tokens_are_not_characters.html"
pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("built") / "a site").folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


def pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def picture(page: Any, name: str) -> None:
    if folder := os.environ.get("MINIDECODER_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder, f"site-{name}.png"))


# ---------------------------------------------------------------- links and pictures, read from the files


class Links(HTMLParser):
    """What a page points to, and what in it can be pointed to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.found: list[tuple[str, str, str]] = []
        self.ids: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name in ("href", "src", "poster", "srcset", "data", "action", "xlink:href"):
                self.found.append((tag, name, value or ""))


def broken(site: Path) -> list[str]:
    """Links to files or places that are not there, and anything but a link that leads out of the folder."""
    parsed = {page: Links(page) for page in pages(site)}
    found = []
    for page, links in parsed.items():
        for tag, name, value in links.found:
            parts = urlsplit(value)
            if parts.scheme == "data" or (tag == "a" and parts.scheme == "https"):
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            outside = parts.scheme or parts.netloc or not target.is_relative_to(site.resolve())
            lost = parts.fragment and target in parsed and parts.fragment not in parsed[target].ids
            if outside or not target.is_file() or lost:
                found.append(f"{page.relative_to(site)}: {tag} {name}={value}")
    return found


def test_every_link_leads_to_a_file_and_a_place_that_are_there(site: Path) -> None:
    assert broken(site.resolve()) == []
    links = [link for page in pages(site) for link in Links(page).found]
    assert sum("#" in value for _, _, value in links) > 10
    assert sum(tag == "a" for tag, _, _ in links) > 30


@pytest.mark.parametrize(
    "bad", ["gone.html", "#nowhere", "http://example.org/x.js", "../../etc", "//example.org"]
)
def test_the_check_of_links_sees_a_broken_one(site: Path, tmp_path: Path, bad: str) -> None:
    copy = Path(shutil.copytree(site, tmp_path / "copy"))
    page = copy / "index.html"
    page.write_text(page.read_text(encoding="utf-8").replace("</main>", f'<a href="{bad}">x</a></main>'))
    assert len(broken(copy)) == 1


def test_ids_are_given_once_a_page(site: Path) -> None:
    for page in pages(site):
        ids = Links(page).ids
        assert len(ids) == len(set(ids)), page


def test_all_lessons_are_there_and_the_first_page_leads_to_them(site: Path) -> None:
    index = (site / "index.html").read_text(encoding="utf-8")
    for path in runner.notebooks():
        assert f'href="lessons/{path.stem}.html"' in index
        assert (site / "lessons" / f"{path.stem}.html").is_file()
    assert re.search(r"03 · 45 minutes", index)
    assert 'href="files/exercises/03_tokens_are_not_characters/README.md.html"' in index
    assert 'href="files/animations/README.md.html#03-tokens-are-not-characters"' in index


def test_no_answers_are_on_the_site(site: Path) -> None:
    names = [path.as_posix() for path in site.rglob("*")]
    assert not [name for name in names if "instructor" in name or "mutants" in name]


def test_a_policy_on_every_page_names_its_scripts_and_forbids_the_rest(site: Path) -> None:
    for page in pages(site):
        text = page.read_text(encoding="utf-8")
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)
        assert policy
        assert "default-src 'none'" in policy[1]
        assert not re.search(r"https?:", policy[1])
        if "play" not in page.parts:
            assert "'sha256-" in policy[1]
            assert "script-src 'unsafe-inline'" not in policy[1]
        assert str(ROOT) not in text
        assert os.path.expanduser("~") + "/" not in text


# ---------------------------------------------------------------- in a browser


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [PROJECTOR, PHONE], ids=["projector", "phone"])
def test_every_page_opens_fits_and_is_accessible(
    site: Path, browser: Any, size: tuple[int, int], theme: str
) -> None:
    """`visit` fails on any request outside the folder, any fault on the console, any dialog."""
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        absent("axe-playwright-python is not installed: pip install axe-playwright-python")
    for file in pages(site):
        with visit(browser, file, width=size[0], height=size[1], color_scheme=theme) as opened:
            page, name = opened.page, file.relative_to(site).as_posix()
            page.wait_for_timeout(150)
            if "play/" not in name:
                assert page.get_attribute("html", "data-theme") == theme
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
            images = page.evaluate("[...document.images].map((i) => [i.naturalWidth, i.alt])")
            assert all(width > 50 and alt for width, alt in images), name
            found = Axe().run(page).response["violations"]
            serious = [v for v in found if v["impact"] in ("serious", "critical")]
            assert [(name, v["id"], [n["html"][:150] for n in v["nodes"]][:3]) for v in serious] == []
            picture(page, f"{name.replace('/', '-')}-{size[0]}-{theme}")


@pytest.mark.parametrize("path", runner.notebooks(), ids=lambda path: path.stem)
def test_a_lesson_shows_every_picture_and_every_player_of_its_notebook(
    site: Path, browser: Any, path: Path
) -> None:
    outputs = [output.get("data", {}) for cell in code_cells(runner.read(path)) for output in cell.outputs]
    recorded = [data for data in outputs if RECORDING in data]
    drawn = [data for data in outputs if SVG in data and RECORDING not in data]
    shot = [data for data in outputs if PNG in data and not {RECORDING, SVG} & set(data)]
    with visit(browser, site / "lessons" / f"{path.stem}.html") as opened:
        page = opened.page
        assert page.locator(".player > .mdp").count() == len(recorded) > 0
        drawings = page.locator(".drawing > svg")
        assert drawings.count() == len(drawn)
        assert page.locator(".outputs .shot img").count() == len(shot)
        for drawing in drawings.all():
            assert drawing.bounding_box()["width"] > 100
            assert drawing.get_attribute("aria-label")
        shown = page.inner_text("main")
        for cell in code_cells(runner.read(path)):
            assert cell.source.splitlines()[0] in shown
            for output in cell.outputs:
                if output.output_type == "stream":
                    assert output.text.strip("\n").splitlines()[0] in shown


def test_a_live_player_in_a_lesson_steps_by_click_and_by_key(site: Path, browser: Any) -> None:
    with visit(browser, site / LESSON) as opened:
        page = opened.page
        page.click(".player .mdp .next")
        page.wait_for_selector(".mdp[data-step='1'][data-moving=no]")
        page.focus(".player .mdp")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(".mdp[data-step='2'][data-moving=no]")
        page.locator(".mdp .row.blocked").first.click()
        assert page.inner_text(".mdp .why").startswith("50 dies at byte 2 of 2")
        page.keyboard.press("ArrowLeft")
        page.wait_for_selector(".mdp[data-step='1']")
        box = page.locator(".player .mdp").bounding_box()
        assert box["height"] < 720, "in a lesson it is a part of the page, not the window"
        picture(page, "lesson-player")


def test_the_first_page_can_be_stepped_at_once(site: Path, browser: Any) -> None:
    with visit(browser, site / "index.html") as opened:
        page = opened.page
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(".mdp[data-step='1']")
        assert page.evaluate("scrollY") == 0
        assert page.locator(".mdp .controls").bounding_box()["y"] < 720, "the buttons are in sight"


def test_the_button_turns_the_page_and_its_players_and_the_next_page_remembers(
    site: Path, browser: Any
) -> None:
    def themes() -> list[str]:
        found: list[str] = page.evaluate(
            "[document.documentElement, document.querySelector('.mdp')].map((node) => node.dataset.theme)"
        )
        return found

    with visit(browser, site / "index.html", color_scheme="light") as opened:
        page = opened.page
        assert themes() == ["light", "light"]
        page.click(".bar .theme")
        assert themes() == ["dark", "dark"]
        page.click(f"a[href='{LESSON}']")
        page.wait_for_url(f"**/{LESSON}")
        assert themes() == ["dark", "dark"]
        page.click(".bar .theme")
        assert themes() == ["light", "light"]
        page.click(".side a >> nth=2")
        assert urlsplit(page.url).fragment
        page.click(".bar .home")
        page.wait_for_url("**/index.html")


def test_without_scripts_the_picture_of_the_player_is_there(site: Path, browser: Any) -> None:
    for theme, paper in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(18, 21, 28)")):
        context = browser.new_context(java_script_enabled=False, color_scheme=theme)
        page = context.new_page()
        page.goto((site / LESSON).as_uri())
        image = page.locator(".player noscript img, .player img")
        assert image.count() == 1
        assert image.bounding_box()["width"] > 300
        assert page.locator("nav.side summary").is_visible()
        assert page.locator("body").evaluate("(b) => getComputedStyle(b).backgroundColor") == paper
        context.close()


def test_the_colours_of_programs_can_be_read_on_their_panel() -> None:
    style = (ROOT / "website" / "site.css").read_text(encoding="utf-8")
    roles = set(re.findall(r"^\.code .*?color: var\(--(\w+)\)", style, re.MULTILINE))
    assert {"live", "accepting", "eos", "muted", "dead"} <= roles
    for palette in PALETTES.values():
        for role in roles | {"ink"}:
            assert contrast(getattr(palette, role), palette.panel) >= 4.5, role


# ---------------------------------------------------------------- another repository, made here


def markdown(text: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_markdown_cell(text)


def code(source: str, *outputs: nbformat.NotebookNode) -> nbformat.NotebookNode:
    return nbformat.v4.new_code_cell(source, outputs=list(outputs))


def result(**data: Any) -> nbformat.NotebookNode:
    return nbformat.v4.new_output("display_data", data={k.replace("__", "/"): v for k, v in data.items()})


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The smallest repository that has a site."""
    root = tmp_path / "repository"
    for folder in ("notebooks", "animations", "exercises/01_a/mutants"):
        (root / folder).mkdir(parents=True)
    head = "| idea | module | notebook | exercise | film | minutes |\n| - | - | - | - | - | - |\n"
    row = "| one idea | | [01](notebooks/01_a.ipynb) | [01](exercises/01_a) | [s01](animations/s01_a.py) | 30 |\n"
    (root / "README.md").write_text(f"# x\n\n**What it\nis.**\n\n## The ladder\n\n{head}{row}\n## More\n")
    (root / "animations/README.md").write_text("# Films\n\n## 01 The first\n\n- 0:00 Words.\n")
    (root / "animations/s01_a.py").write_text("film = 1\n")
    (root / "exercises/01_a/README.md").write_text("# E\n\nThe lesson is `notebooks/01_a.ipynb`.\n")
    (root / "exercises/01_a/starter.py").write_text("answer = '</pre><b>'\n")
    (root / "exercises/01_a/mutants/wrong.py").write_text("no = 1\n")
    write_lesson(root)
    return root


def write_lesson(root: Path, *cells: nbformat.NotebookNode, name: str = "01_a") -> None:
    notebook = nbformat.v4.new_notebook(cells=[markdown("# A claim: of two parts"), *cells])
    (root / "notebooks" / f"{name}.ipynb").write_text(nbformat.writes(notebook), encoding="utf-8")


def built_lesson(root: Path, *cells: nbformat.NotebookNode) -> str:
    write_lesson(root, *cells)
    return (build(root.parent / "out", root).folder / "lessons/01_a.html").read_text(encoding="utf-8")


def test_hostile_text_stays_text_wherever_it_stands(repository: Path, browser: Any) -> None:
    hostile = runs.HOSTILE
    recording = player.recording_of(runs.hostile(), runs.price())
    traceback = nbformat.v4.new_output(
        "error", ename="E", evalue=hostile, traceback=[f"\x1b[31m{hostile}\x1b[0m"]
    )
    png = result(image__png=base64.b64encode(b"\x89PNG").decode())
    png.metadata[PNG] = {"alt": hostile + '"><script>alert(2)</script>'}
    built_lesson(
        repository,
        code(f"x = '{hostile}'", nbformat.v4.new_output("stream", name="stdout", text=hostile), traceback),
        code(
            "y", result(text__plain=hostile), result(text__html=f"<table><tr><td>{hostile}</td></tr></table>")
        ),
        code("z", nbformat.v4.new_output("display_data", data={RECORDING: recording, "text/plain": hostile})),
        markdown(f"`{hostile}` and [a link](https://example.org/'\"><img>)"),
    )
    context = browser.new_context()
    page, dialogs = context.new_page(), []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.goto((repository.parent / "out/lessons/01_a.html").as_uri())
    page.wait_for_timeout(300)
    assert dialogs == []
    assert page.locator("pre img, code img, .player img").count() == 0
    assert page.inner_text("main").count(hostile) >= 4
    assert page.locator(".player > .mdp.pair").count() == 1
    context.close()
    assert cell_output(png).count("<") == 3, "p, img, and the end of p: what the words hold is escaped"


def test_two_players_on_one_page_step_each_for_itself(repository: Path, browser: Any) -> None:
    shown = [
        nbformat.v4.new_output(
            "display_data", data={RECORDING: player.recording_of(run), "text/plain": "a run"}
        )
        for run in (runs.price(), runs.age())
    ]
    built_lesson(repository, code("a", shown[0]), code("b", shown[1]))
    with visit(browser, repository.parent / "out/lessons/01_a.html") as opened:
        page = opened.page
        page.click(".mdp .next >> nth=1")
        page.wait_for_selector(".player >> nth=1 >> .mdp[data-step='1']")
        steps = page.evaluate("[...document.querySelectorAll('.mdp')].map((node) => node.dataset.step)")
        assert steps == ["0", "1"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda recording: recording.pop("svg"),
        lambda recording: recording["shown"].pop(),
        lambda recording: recording["trace"].update(schema_version=99),
        lambda recording: recording["trace"].pop("steps"),
        lambda recording: recording.update(other={"trace": {}}),
    ],
)
def test_a_recording_of_another_version_is_an_error_and_not_an_empty_page(
    repository: Path, spoil: Callable[[dict[str, Any]], Any]
) -> None:
    recording = player.recording_of(runs.price())
    spoil(recording)
    shown = nbformat.v4.new_output("display_data", data={RECORDING: recording, "text/plain": "a run"})
    with pytest.raises(SiteError, match=r"01_a\.ipynb, cell 1: a recording cannot be read .*make notebooks"):
        built_lesson(repository, code("a", shown))


def test_a_drawing_takes_the_colours_of_the_page_and_drops_its_ids(repository: Path) -> None:
    svg = '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="9" aria-label="m"><g id="s0"><path stroke="#1D2330" fill="#ffffff"/></g></svg>'
    page = built_lesson(repository, code("a", result(**{"image__svg+xml": svg})))
    assert '<path stroke="var(--ink)" fill="var(--paper)"/>' in page
    assert 'id="s0"' not in page
    refers = svg.replace('fill="#ffffff"', 'fill="url(#s0)"')
    assert 'id="s0"' in built_lesson(repository, code("a", result(**{"image__svg+xml": refers})))


def test_headings_that_read_the_same_have_ids_of_their_own_and_links_reach_the_files(
    repository: Path,
) -> None:
    text = "## Same\n\n## Same\n\n## `a` & b\n\n[the exercise](../exercises/01_a/README.md#e) [dir](../exercises/01_a)"
    more = (
        "[wrong](../exercises/01_a/mutants/wrong.py) [itself](01_a.ipynb#same-1) [out](https://example.org)"
    )
    page = built_lesson(repository, markdown(text), markdown(more))
    assert re.findall(r'<h2 id="([^"]+)"', page) == ["same", "same-1", "a-b"]
    assert 'href="../files/exercises/01_a/README.md.html#e"' in page
    assert 'href="../files/exercises/01_a/README.md.html">dir' in page
    assert "wrong (<code>../exercises/01_a/mutants/wrong.py</code>)" in page
    assert 'href="01_a.html#same-1"' in page
    assert broken((repository.parent / "out").resolve()) == []
    exercise = (repository.parent / "out/files/exercises/01_a/README.md.html").read_text(encoding="utf-8")
    assert 'href="../../../lessons/01_a.html"><code>notebooks/01_a.ipynb</code>' in exercise
    starter = (repository.parent / "out/files/exercises/01_a/starter.py.html").read_text(encoding="utf-8")
    assert "&lt;/pre&gt;&lt;b&gt;" in starter


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("what is $x^2$?", r"01_a.ipynb, cell 1: a formula \(\$x\^2\$\)"),
        ("$$\nx\n$$", "cell 1: a formula"),
        ("a <b>word</b>", "cell 1: HTML in Markdown"),
        ("<div>\n\nx</div>", "cell 1: HTML in Markdown"),
        ("[gone](../nothing.md)", "cell 1: .*nothing.md.* leads to no file"),
        ("[out](../../outside.md)", "leads to no file"),
        ("[run](javascript:alert(1))", "leads to no file"),
        ("![a picture](gone.png)", "cell 1: the picture 'gone.png'"),
    ],
)
def test_what_a_page_cannot_show_is_an_error_that_names_the_cell(
    repository: Path, text: str, said: str
) -> None:
    (repository.parent / "outside.md").touch()
    with pytest.raises(SiteError, match=said):
        built_lesson(repository, markdown(text))
    assert not (repository.parent / "out").exists()


def test_money_and_comments_are_no_formulas_and_no_html(repository: Path) -> None:
    page = built_lesson(repository, markdown(r"It costs \$5, or `$6$`. <!-- a note -->"))
    assert "It costs $5" in page
    assert "a note" not in page


@pytest.mark.parametrize("bad", ["", "{}", "not json", '{"cells": 3, "nbformat": 4, "metadata": {}}'])
def test_a_file_that_is_no_notebook_is_named(repository: Path, bad: str) -> None:
    (repository / "notebooks/02_b.ipynb").write_text(bad)
    with pytest.raises(SiteError, match=r"notebooks/02_b\.ipynb"):
        build(repository.parent / "out", repository)


def test_a_lesson_without_a_title_and_a_course_without_lessons_are_named(repository: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[markdown("no heading")])
    (repository / "notebooks/01_a.ipynb").write_text(nbformat.writes(notebook))
    with pytest.raises(SiteError, match=r"01_a\.ipynb: the first cell"):
        build(repository.parent / "out", repository)
    (repository / "notebooks/01_a.ipynb").unlink()
    with pytest.raises(SiteError, match="no lesson"):
        build(repository.parent / "out", repository)


# ---------------------------------------------------------------- the folder


def test_a_folder_that_it_did_not_make_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis.html").write_text("mine")
    assert main(["--out", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert re.match(r"minidecoder: .* holds files that make site did not write", said)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.html"]
    for out in (tmp_path / "thesis.html", ROOT):
        with pytest.raises(SiteError, match="--out DIR"):
            build(out)


def test_its_own_folder_is_replaced_whole_and_kept_where_a_build_fails(repository: Path) -> None:
    out = repository.parent / "out"
    build(out, repository)
    (out / "lessons/stale.html").touch()
    build(out, repository)
    assert not (out / "lessons/stale.html").exists()
    before = (out / "lessons/01_a.html").read_bytes()
    with pytest.raises(SiteError):
        built_lesson(repository, markdown("$x$"))
    assert (out / "lessons/01_a.html").read_bytes() == before
    assert (out / MARKER).is_file()
    assert {path.name for path in repository.parent.iterdir()} == {"out", "repository"}, (
        "nothing is left beside it"
    )
    assert out.stat().st_mode & 0o755 == 0o755, "a web server may read it"


def test_what_was_laid_beside_its_pages_is_not_lost(repository: Path) -> None:
    out = repository.parent / "out"
    build(out, repository)
    (out / ".git").mkdir()  # as who publishes the folder has it
    with pytest.raises(SiteError, match=r"did not write \(\.git\)"):
        build(out, repository)
    assert (out / ".git").is_dir()
    assert (out / "index.html").is_file()


def test_two_points_in_a_way_lead_where_they_say(repository: Path) -> None:
    (repository.parent / "mine.txt").touch()
    with pytest.raises(SiteError, match="did not write"):
        build(repository.parent / "new" / "..", repository)
    assert not (repository.parent / "new").exists()
    assert build(repository.parent / "new" / ".." / "out", repository).folder == repository.parent / "out"


def test_the_program_says_where_the_site_lies(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "website", "--out", str(tmp_path / "a b")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == (tmp_path / "a b" / "index.html").as_uri()
    assert done.stderr == ""


# ---------------------------------------------------------------- films


def test_a_film_that_was_not_rendered_is_no_dead_link(repository: Path) -> None:
    build(repository.parent / "out", repository)
    index = (repository.parent / "out/index.html").read_text(encoding="utf-8")
    assert "<code>make videos</code> renders <cite>01 A claim</cite>" in index
    assert "<video" not in index
    assert "What the films say, in words" in index


def render(folder: Path, write: Callable[[Any], None] | None = None) -> None:
    """A second of film, as manim would lay it down."""
    av = pytest.importorskip("av", reason="PyAV comes with manim")
    np = pytest.importorskip("numpy")
    folder.mkdir(parents=True)
    with av.open(str(folder / "First.mp4"), "w") as container:
        stream = container.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 320, 180, "yuv420p"
        for shade in range(10):
            frame = av.VideoFrame.from_ndarray(np.full((180, 320, 3), 20 * shade, np.uint8), format="rgb24")
            for packet in stream.encode(frame):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    srt = "1\n00:00:00,000 --> 00:00:00,400\nA token, <b>a jump</b>\n\n2\n00:00:00,400 --> 00:00:01,000\nTwo, three\n"
    (folder / "First.srt").write_text(srt, encoding="utf-8")


def test_a_rendered_film_plays_with_captions_and_a_still(repository: Path, browser: Any) -> None:
    render(repository / "media/videos/s01_a/480p15")
    render(repository / "media/videos/s01_a/1080p60")
    chapters = repository / "media/videos/s01_a/1080p60/sections"
    chapters.mkdir()
    (chapters / "x.mp4").touch()
    film = films.find_film(repository, "s01_a")
    assert film is not None
    assert film.file.parent.name == "1080p60"
    build(repository.parent / "out", repository)
    assert (repository.parent / "out/films/s01_a.mp4").read_bytes() == film.file.read_bytes()
    for page_name in ("index.html", "lessons/01_a.html"):
        with visit(browser, repository.parent / "out" / page_name) as opened:
            page = opened.page
            assert page.get_attribute("video", "preload") == "none"
            assert page.get_attribute("video", "poster").startswith("data:image/jpeg;base64,")
            seen = page.evaluate("""async () => { const film = document.querySelector("video");
                film.muted = true; film.textTracks[0].mode = "showing"; film.preload = "auto"; film.load();
                await new Promise((done, lost) => { film.onloadeddata = done; film.onerror = () => lost(film.error.message); });
                for (let i = 0; i < 50 && !film.textTracks[0].cues?.length; i++) await new Promise((go) => setTimeout(go, 50));
                return [film.videoWidth, [...film.textTracks[0].cues].map((cue) => [cue.startTime, cue.text])]; }""")
            assert seen == [320, [[0, "A token, <b>a jump</b>"], [0.4, "Two, three"]]]
    assert "make videos" not in (repository.parent / "out/index.html").read_text(encoding="utf-8")


def test_captions_keep_their_words_and_change_only_the_times() -> None:
    srt = "\ufeff1\r\n00:01:02,345 --> 00:01:04,000\r\n1,234 tokens, at 00:00:01,000\r\n"
    assert films.vtt(srt.lstrip("\ufeff")).splitlines() == [
        "WEBVTT",
        "",
        "1",
        "00:01:02.345 --> 00:01:04.000",
        "1,234 tokens, at 00:00:01,000",
    ]


def test_recordings_are_stored_and_compared_with_the_notebook() -> None:
    (lesson,) = runner.notebooks(["03"])
    before, after = runner.read(lesson), runner.read(lesson)
    assert runner.differences(before, after) == []
    (output,) = [o for cell in code_cells(after) for o in cell.outputs if RECORDING in o.get("data", {})]
    changed = json.loads(json.dumps(output.data[RECORDING]).replace('"s3"', '"s2"'))
    output.data[RECORDING] = nbformat.from_dict(changed)
    assert len(runner.differences(before, after)) == 1


def test_prose_of_one_page_counts_its_headings_over_all_cells() -> None:
    prose = Prose(Shelf(ROOT), "README.md", "x.html")
    prose.html("## A")
    prose.html("## A\n\n### A 1")
    assert [heading.id for heading in prose.headings] == ["a", "a-1", "a-1-1"]


def test_a_picture_with_hostile_data_and_sizes_stays_a_picture() -> None:
    data = {"image/png": 'AAAA"><script>x</script>', "text/plain": ""}
    about = {"image/png": {"width": "wide", "height": 1e400, "alt": ["<b>"]}}
    shown = cell_output({"output_type": "display_data", "data": data, "metadata": about})
    assert "<script" not in shown
    assert "<b>" not in shown
    assert "width=" not in shown
    assert "height=" not in shown
