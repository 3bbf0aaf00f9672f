"""The package is a ladder: a module imports only from rungs below its own, or from its own package."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "minidecoder"

RUNGS: list[set[str]] = [
    {"errors", "automaton"},
    {"regex"},
    {"tokens"},
    {"grammar"},
    {"schema"},
    {"decoding", "models"},
    {"lens", "compiling"},
    {"structured"},
    {"api", "integrations"},
    {"viz"},
    {""},  # minidecoder/__init__.py, the names that `import minidecoder` gives
    {"cli"},
    {"__main__"},
]
NUMPY_ALONE = {"errors", "automaton", "regex", "tokens", "grammar", "schema", "decoding"}

# Within a package the files may be a ladder too: a module imports none that stands to its right.
STEPS = {
    "regex": [
        ["limits"],
        ["charset"],
        ["folding", "tree", "properties"],
        ["cursor"],
        ["flags"],
        ["group"],
        ["syntax"],
        ["ecma", "nfa", "minimise"],
        ["context", "subsets"],
        ["dfa"],
        ["literals", "members", "utf8"],
        ["operations"],
        ["lookahead"],
        ["compiler"],
    ],
    "grammar": [
        ["rules"],
        ["gbnf_lexer", "fixpoint", "printer"],
        ["terminals", "prune"],
        ["ebnf", "checks", "nonempty"],
        ["circles"],
        ["self_recursion"],
        ["left_recursion"],
        ["prepare", "rule_machines", "json_text"],
        ["stacks", "bodies", "spellable"],
        ["places", "pushdown", "relative"],
        ["pushdown_index"],
        ["compiler"],
    ],
    "tokens": [
        ["trie", "bitmask", "ids"],
        ["bitmask_torch"],
        ["vocabulary"],
        ["loaders"],
        ["loaders_transformers"],
        ["dead_ends", "unspellable"],
        ["naive_index", "sweep", "token_classes"],
        ["token_index"],
    ],
}
HEAVY = {"torch", "transformers", "plotly", "ipywidgets", "manim", "rich", "graphviz", "anywidget", "jinja2"}
MOST_LINES, MOST_DOCSTRING_LINES = 300, 14


@cache
def modules() -> dict[str, Path]:
    """Dotted name to file, packages under the name of the package."""
    files = sorted((ROOT / PACKAGE).rglob("*.py"))
    return {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
        for file in files
    }


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(modules()[module].read_text(encoding="utf-8"))


def part(module: str) -> str:
    """The name that stands in `RUNGS`: "regex" for minidecoder.regex.dfa."""
    return module.removeprefix(PACKAGE).removeprefix(".").partition(".")[0]


def rung(module: str) -> int:
    return next(number for number, parts in enumerate(RUNGS) if part(module) in parts)


def imports(module: str, nodes: Iterator[ast.AST]) -> Iterator[str]:
    """The dotted names that import statements name; `from a import b` gives a.b where that is a module."""
    is_package = modules()[module].name == "__init__.py"
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            up = module.split(".")[: len(module.split(".")) - node.level + is_package] if node.level else []
            base = ".".join([*up, *filter(None, [node.module])])
            full = [f"{base}.{alias.name}" for alias in node.names]
            yield from (name if name in modules() else base for name in full)


@cache
def own_imports(module: str) -> frozenset[str]:
    found = imports(module, ast.walk(tree(module)))
    return frozenset(name for name in found if name.partition(".")[0] == PACKAGE) - {module}


def run_at_import(nodes: list[ast.stmt]) -> Iterator[ast.AST]:
    """Statements that run when the module is imported: no function bodies, no `if TYPE_CHECKING`."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from run_at_import(node.orelse)
            continue
        yield node
        for field in ("body", "orelse", "finalbody", "handlers"):
            yield from run_at_import(getattr(node, field, []))


every_module = pytest.mark.parametrize("module", modules())


def test_every_module_stands_on_a_rung() -> None:
    known = set().union(*RUNGS)
    assert {part(module) for module in modules()} <= known


@every_module
def test_a_module_imports_from_lower_rungs_or_its_own_package(module: str) -> None:
    above = {
        name for name in own_imports(module) if part(name) != part(module) and rung(name) >= rung(module)
    }
    assert not above, f"{module} stands on rung {rung(module)} and imports {sorted(above)}"


@pytest.mark.parametrize("package", STEPS)
def test_the_files_of_a_package_are_a_ladder(package: str) -> None:
    """At import time: an operator such as `dfa & dfa` may call what is built above it."""
    height = {
        f"{PACKAGE}.{package}.{name}": step for step, names in enumerate(STEPS[package]) for name in names
    }
    assert set(height) <= set(modules()), "a file that the ladder names is gone"
    for module in height:
        found = imports(module, run_at_import(tree(module).body))
        above = {name for name in found if height.get(name, -1) >= height[module]}
        assert not above, f"{module} imports {sorted(above)}"


def test_no_import_goes_in_a_circle() -> None:
    """At import time: `constraint.matcher()` may import its sibling when it is called."""
    graph = {module: set(imports(module, run_at_import(tree(module).body))) for module in modules()}
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" → ".join(reversed(error.args[1])))


@every_module
def test_lower_rungs_import_the_standard_library_and_numpy_alone(module: str) -> None:
    if part(module) not in NUMPY_ALONE:
        return
    found = {name.partition(".")[0] for name in imports(module, run_at_import(tree(module).body))}
    foreign = found - sys.stdlib_module_names - {"numpy", PACKAGE}
    assert not foreign, f"{module} imports {sorted(foreign)} when it is imported"


@every_module
def test_a_module_is_short(module: str) -> None:
    lines = modules()[module].read_text(encoding="utf-8").count("\n")
    assert lines <= MOST_LINES


@every_module
def test_a_module_says_in_a_few_lines_what_it_is(module: str) -> None:
    docstring = ast.get_docstring(tree(module)) or ""
    lines = [line for line in docstring.splitlines() if line.strip()]
    assert 1 <= len(lines) <= MOST_DOCSTRING_LINES


def test_importing_the_package_brings_in_nothing_heavy() -> None:
    code = f"import sys, {PACKAGE}; print(*sorted({HEAVY!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_the_command_line_starts_without_anything_heavy() -> None:
    code = f"import sys, {PACKAGE}.cli.main; print(*sorted({HEAVY!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
