"""The README tells the truth: its code prints what it says, its links exist, its ladder is complete."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LINKS = sorted(set(re.findall(r"\]\(([^)#:]+)\)", README)))


def ladder_rows() -> list[list[str]]:
    section = README.split("## The ladder", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def column(index: int) -> list[str]:
    return [target for row in ladder_rows() for target in re.findall(r"\(([^)]+)\)", row[index])]


def expected_lines(code: str) -> list[str]:
    return [line.split("  # ", 1)[1] for line in code.splitlines() if line.startswith("print(")]


def run(code: str) -> list[str]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    return printed.getvalue().splitlines()


def test_the_code_prints_what_the_comments_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, _ = re.findall(r"```python\n(.*?)```", README, re.S)
    monkeypatch.chdir(tmp_path)
    assert run(first + second) == expected_lines(first)
    statements = [line for line in first.splitlines() if line and not line.startswith(("import", "from"))]
    assert len(statements) <= 8
    assert "<html" in (tmp_path / "run.html").read_text(encoding="utf-8").lower()


def test_the_engineers_example_prints_a_number_of_the_pattern(smollm2: object) -> None:
    """The digits may differ with another torch; the form may not."""
    *_, third = re.findall(r"```python\n(.*?)```", README, re.S)
    (printed,) = run("import minidecoder as md\n" + third)
    (shown,) = expected_lines(third)
    form = r"\([0-9]{3}\) [0-9]{3}-[0-9]{4}"
    assert re.fullmatch(form, printed)
    assert re.fullmatch(form, shown)


@pytest.mark.parametrize("target", LINKS)
def test_every_link_leads_somewhere(target: str) -> None:
    assert (ROOT / target).exists()


def test_the_picture_is_the_one_that_lesson_03_stores() -> None:
    from tests.notebook_runner import notebooks, read, signature_picture

    shown, lab = re.findall(r"!\[[^\]]{30,}\]\(([^)]+\.png)\)", README)  # with words for who cannot see them
    assert lab == "notebooks/lab.png"
    assert (ROOT / lab).is_file()
    assert (ROOT / shown).read_bytes() == signature_picture(read(notebooks(["03"])[0]))


def test_the_ladder_names_every_module_and_package_and_nothing_else() -> None:
    package = ROOT / "minidecoder"
    entries = {p.relative_to(ROOT).as_posix() for p in package.iterdir() if (p / "__init__.py").exists()}
    entries |= {p.relative_to(ROOT).as_posix() for p in package.glob("[!_]*.py")}
    assert sorted(column(1)) == sorted(entries)


def test_the_ladder_is_in_the_order_of_the_rungs() -> None:
    order = ["errors", "automaton", "regex", "tokens", "grammar", "schema", "decoding", "models", "lens"]
    order += ["compiling", "structured", "api", "integrations", "viz", "cli"]
    assert [Path(target).stem for target in column(1)] == order


@pytest.mark.parametrize(
    ("cell", "pattern"),
    [(2, "notebooks/[0-9]*.ipynb"), (3, "exercises/[0-9]*"), (4, "animations/s[0-9]*.py")],
)
def test_the_ladder_names_every_lesson_exercise_and_film(cell: int, pattern: str) -> None:
    assert sorted(column(cell)) == sorted(p.relative_to(ROOT).as_posix() for p in ROOT.glob(pattern))


def test_a_lesson_comes_with_its_exercise_its_film_and_its_minutes() -> None:
    for row in ladder_rows():
        filled = [bool(cell) for cell in row[2:]]
        assert all(filled) or not any(filled), row[0]


def test_the_two_commands_are_targets_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    verbs = re.search(r"^VERBS := (.*)$", makefile, re.M)
    assert verbs
    assert set(re.findall(r"^make (\w+)", README, re.M)) | set(re.findall(r"`make (\w+)`", README)) <= set(
        verbs[1].split()
    )


def test_the_commands_it_shows_are_commands() -> None:
    from minidecoder.cli.main import build_parser

    shown = re.findall(r"^python -m minidecoder ([^#\n]+?) *(?:#.*)?$", README, re.M)
    assert len(shown) >= 5
    for words in shown:
        build_parser().parse_args([w.strip("'") for w in re.findall(r"'[^']*'|\S+", words)])
