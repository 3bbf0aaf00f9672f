"""What else than a character machine can be drawn: NFAs, machines over tokens, stacks, rules of a grammar."""

from __future__ import annotations

import re
from collections import deque
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import minidecoder as md
from minidecoder.automaton import DEAD, State
from minidecoder.decoding.constraint import Constraint
from minidecoder.errors import UsageError
from minidecoder.grammar.compiler import compile_pushdown
from minidecoder.regex.dfa import determinise
from minidecoder.regex.nfa import build_nfa
from minidecoder.regex.syntax import parse
from minidecoder.viz.diagram import diagram_of
from minidecoder.viz.graph import Drawing, draw, draw_stack, rule_machine, token_machine
from minidecoder.viz.neighbourhood import fold
from tests import recorded_runs as runs

SVG = "{http://www.w3.org/2000/svg}"
PRICE = md.compile_regex(runs.PRICE, md.Vocabulary.from_tokens(runs.PRICE_TOKENS, eos="</s>"))
AGE = md.compile_regex(runs.AGE, md.Vocabulary.from_tokens(runs.AGE_TOKENS, eos="</s>"))
LISTS = 'root ::= list\nlist ::= "[" (item ("," item)*)? "]"\nitem ::= list | number | "x"{2,9}\nnumber ::= [0-9]+\n'


def grammar(text: str = LISTS) -> Constraint:
    vocabulary = md.Vocabulary.from_tokens(["</s>", *"[],0123456789x", "[[", "]]", "],["], eos=0)
    index = compile_pushdown(text, vocabulary)
    return Constraint(text, vocabulary, index.automaton, index)


def by_id(drawing: Drawing) -> dict[str, ElementTree.Element]:
    return {e.attrib["id"]: e for e in ElementTree.fromstring(drawing.svg).iter() if "id" in e.attrib}


def texts(element: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in element.iter(SVG + "text")]


# -- NFA ------------------------------------------------------------------------------------------------


def test_an_nfa_has_all_of_its_states_and_its_free_moves_are_dotted() -> None:
    nfa = build_nfa(parse(runs.AGE))
    found = by_id(draw(nfa, live=["q16", "q17"]))
    assert {n for n in found if n.startswith("state-")} == {f"state-q{n}" for n in range(28)}
    assert {n for n, e in found.items() if "live" in e.get("class", "").split()} == {"state-q16", "state-q17"}
    for source, reads, target in nfa.moves():
        edge = found[f"edge-q{source}-q{target}"]
        assert ("free" in edge.attrib["class"].split()) == (reads is None)
        dotted = any("stroke-dasharray" in e.attrib for e in edge.iter())
        assert dotted == (reads is None)
        assert texts(edge)[0].count("ε") == (reads is None)


def test_the_three_machines_of_the_lesson_have_28_13_and_12_states() -> None:
    nfa = build_nfa(parse(runs.AGE))
    drawn = [len(diagram_of(machine).states) for machine in (nfa, determinise(nfa), AGE)]
    assert drawn == [28, 13, 12]


def test_an_assertion_is_drawn_as_a_free_move_with_its_sign() -> None:
    edges = {arc.label: arc.kind for arc in diagram_of(build_nfa(parse(r"\bab\Z"))).edges}
    assert edges[r"\b"] == edges[r"\Z"] == "free"
    assert edges["a"] == "reads"
    assert draw(build_nfa(parse(r"\bab\Z"))).svg


def test_a_state_of_an_nfa_may_be_given_by_its_number() -> None:
    nfa = build_nfa(parse("a|b"))
    assert draw(nfa, live=0).svg == draw(nfa, live="q0").svg
    assert draw(nfa, live=sorted(nfa.closure([nfa.start]))).svg


# -- tokens ---------------------------------------------------------------------------------------------


def reachable(constraint: Constraint) -> set[tuple[str, str, str]]:
    """Every move of one token between states that tokens reach, walked byte by byte: no index, no classes."""
    automaton, vocabulary = constraint.automaton, constraint.vocabulary
    seen, pending, moves = {automaton.start}, deque([automaton.start]), set()
    while pending:
        state = pending.popleft()
        for token_id, data in enumerate(vocabulary.token_bytes):
            target = state
            for byte in data:
                target = automaton.step(target, byte) if target != DEAD else DEAD
            if data and target != DEAD:
                moves.add((automaton.name(state), vocabulary.text(token_id), automaton.name(target)))
                if target not in seen:
                    seen.add(target)
                    pending.append(target)
    return moves


@pytest.mark.parametrize("constraint", [PRICE, AGE], ids=["price", "age"])
def test_the_edges_of_a_token_machine_are_the_moves_of_all_tokens(constraint: Constraint) -> None:
    diagram = token_machine(constraint)
    found = {
        (arc.source, token.replace("␣", " "), arc.target)
        for arc in diagram.edges
        if arc.kind == "tokens"
        for token in (arc.title.split(": ", 1)[1] if "tokens: " in arc.title else arc.title).split(" ")
    }
    assert found == reachable(constraint)


def test_states_in_which_no_token_ever_stops_are_not_in_a_token_machine() -> None:
    names = {state.name for state in token_machine(AGE).states} - {"end"}
    assert names == {f"s{i}" for i in range(12)} - {"s4"}


def test_tokens_of_one_edge_are_a_group_and_eos_leads_to_an_end_of_its_own() -> None:
    found = by_id(draw(token_machine(PRICE), live="s1"))
    assert texts(found["edge-s1-s1"]) == ["5 tokens: 1 12 50 …"]
    assert texts(found["edge-s1-s2"]) == ["2 tokens: . 1."]
    assert texts(found["edge-s1-s3"]) == [".5"]
    assert texts(found["edge-s4-end"]) == ["■ </s>"]
    assert [n for n in found if n.endswith("-end")] == [
        "state-end",
        "edge-s4-end",
    ] or "edge-s0-end" not in found
    title = found["edge-s1-s1"].find(SVG + "title")
    assert title is not None
    assert title.text == "s1 → s1: 5 tokens: 1 12 50 0 5"


def test_a_state_is_found_by_its_number_as_a_matcher_has_it() -> None:
    matcher = PRICE.matcher()
    assert matcher.accept_string("12.")
    assert "live" in by_id(draw(token_machine(PRICE), live=matcher.state))["state-s2"].attrib["class"]


def test_a_grammar_is_explored_as_far_as_asked_and_the_rest_is_counted() -> None:
    diagram = token_machine(grammar(), max_states=9)
    assert [state.name for state in diagram.states][:9] == [f"c{i}" for i in range(9)]
    assert diagram.left_out > 0
    assert f"{diagram.left_out:,} more states are not drawn" in draw(diagram).svg


def test_tokens_that_look_like_markup_are_text_in_a_token_machine() -> None:
    vocabulary = md.Vocabulary.from_tokens([*runs.HOSTILE_TOKENS, "x" * 300, "שלום", "😀"], eos=0)
    drawing = draw(token_machine(md.compile_regex("(?s:.){1,400}", vocabulary), max_states=5))
    assert "<img" not in drawing.svg
    assert "<b>" not in drawing.svg
    assert max(len(text) for text in texts(ElementTree.fromstring(drawing.svg))) <= 40


# -- stacks ---------------------------------------------------------------------------------------------


def test_a_stack_is_a_column_with_the_innermost_rule_on_top_and_live() -> None:
    matcher = grammar().matcher()
    assert matcher.accept_string("[1,[2")
    frames = matcher.constraint.automaton.open_rules(matcher.state)  # type: ignore[attr-defined]
    drawing = draw_stack(matcher)
    found = by_id(drawing)
    heights = [
        float(found[f"frame-{i}"].find(SVG + "polygon").attrib["points"].split(",")[1].split(" ")[0])
        for i in range(len(frames))
    ]  # type: ignore[union-attr]
    assert heights == sorted(heights, reverse=True), "the root is lowest"
    assert [n for n, e in found.items() if "live" in e.attrib["class"].split()] == [
        f"frame-{len(frames) - 1}"
    ]
    written = texts(ElementTree.fromstring(drawing.svg))
    assert [frame.split(":")[0] for frame in reversed(frames)] == [
        t for t in written if t in ("root", "list", "item", "number")
    ][::-1]
    assert drawing.text.splitlines()[0] == f"● {frames[-1]}"
    assert draw_stack(frames).svg == drawing.svg


def test_what_a_token_pushed_has_a_bold_ring_and_what_went_is_counted() -> None:
    drawing = draw_stack(("root:s1", "list:s2", "number:s1"), before=("root:s1", "item:s0", "list:s3"))
    found = by_id(drawing)
    assert [n for n, e in found.items() if "pushed" in e.attrib["class"].split()] == ["frame-1", "frame-2"]
    assert "2 frames gone, 2 new" in drawing.svg


def test_a_deep_stack_leaves_out_its_middle_and_counts_it() -> None:
    matcher = grammar().matcher()
    assert matcher.accept_string("[" * 1_000)
    drawing = draw_stack(matcher)
    count = len(drawing.text.splitlines())
    frames = [n for n in by_id(drawing) if n.startswith("frame-")]
    assert len(frames) == 11
    assert f"… {count - 11:,} more …" in drawing.svg


def test_names_from_a_file_are_text_in_a_stack(tmp_path: Path) -> None:
    for theme in ("light", "dark"):
        drawing = draw_stack((runs.HOSTILE, 'a"\\N:s1', "x" * 99, "שלום:s2"), theme=theme)  # type: ignore[arg-type]
        assert "<img" not in drawing.svg
        assert drawing.save(tmp_path / "a.svg").exists()
    assert "the text is complete" in draw_stack(()).svg


@pytest.mark.parametrize("wrong", ["root:s1", 7, None, [1, 2]])
def test_what_is_no_stack_is_told_what_to_pass(wrong: object) -> None:
    with pytest.raises(UsageError, match="a stack is a matcher or names"):
        draw_stack(wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="its machine is finite, and draw"):
        draw_stack(PRICE.matcher())


# -- rules ----------------------------------------------------------------------------------------------


def test_a_rule_is_a_machine_whose_edges_read_characters_or_call_rules() -> None:
    constraint = grammar()
    assert constraint.matcher().accept_string("[1,xx")
    diagram = rule_machine(constraint.automaton, "list")  # type: ignore[arg-type]
    calls = {arc.label for arc in diagram.edges if arc.kind == "calls"}
    reads = {arc.label for arc in diagram.edges if arc.kind == "reads"}
    assert calls == {"↓ item"}
    assert reads == {"[", ",", "]"}
    assert "↓ calls a rule" in draw(diagram, live="s0").svg
    with pytest.raises(UsageError, match="no rule 'nothing' has been entered; those that were: root"):
        rule_machine(constraint.automaton, "nothing")  # type: ignore[arg-type]


def test_every_rule_of_a_grammar_can_be_drawn() -> None:
    constraint = grammar()
    automaton = constraint.automaton
    automaton.machines.open_all()  # type: ignore[attr-defined]
    for machine in automaton.machines.machines:  # type: ignore[attr-defined]
        diagram = rule_machine(automaton, automaton.words.name(machine.rule))  # type: ignore[attr-defined, arg-type]
        assert draw(diagram).svg


def test_a_constraint_without_a_table_of_states_says_what_shows_it() -> None:
    with pytest.raises(UsageError, match=r"draw_stack\(matcher\) .* token_machine\(constraint\)"):
        draw(grammar())


# -- chains ---------------------------------------------------------------------------------------------


def test_folding_keeps_every_edge_and_every_state_once() -> None:
    rng = np.random.default_rng(5)
    for _ in range(40):
        words = {"".join(rng.choice(list("abc"), size=rng.integers(1, 14))) for _ in range(6)}
        diagram = diagram_of(md.compile_regex("|".join(sorted(words)), PRICE_LETTERS).characters)
        folded = fold(diagram)
        beads = [arc.target for chain in folded.chains for arc in chain[:-1]]
        assert sorted([*folded.nodes, *beads]) == sorted(state.name for state in diagram.states)
        edges = [*folded.plain, *(arc for chain in folded.chains for arc in chain)]
        assert sorted(arc.pair for arc in edges) == sorted(arc.pair for arc in diagram.edges)
        assert all(len(chain) > 6 for chain in folded.chains)


PRICE_LETTERS = md.Vocabulary.from_tokens(["</s>", "a", "b", "c"], eos=0)


def test_a_chain_that_leads_back_turns_round_and_still_reads_from_the_left() -> None:
    machine = md.compile_regex("x(abcdefgh)*", md.Vocabulary.from_tokens(["</s>", *"abcdefghxy"], eos=0))
    found = by_id(draw(machine))
    beads = [e for e in found.values() if "bead" in e.get("class", "").split()]
    places = {e.attrib["id"]: float(e.find(SVG + "ellipse").attrib["cx"]) for e in beads}  # type: ignore[union-attr]
    dfa = machine.characters
    assert dfa is not None
    state, row = dfa.walk("x")[-1], []
    for char in "abcdefg":
        state = dfa.step(State(state), char)
        row.append(places[f"state-{dfa.name(state)}"])
    assert row == sorted(row)
    level = {float(e.find(SVG + "ellipse").attrib["cy"]) for e in beads}  # type: ignore[union-attr]
    assert len(level) == 1
    way_back = found[f"edge-{dfa.name(state)}-s1"].find(SVG + "path")
    assert way_back is not None
    heights = [float(pair.split(",")[1]) for pair in re.findall(r"-?[\d.]+,-?[\d.]+", way_back.attrib["d"])]
    assert min(heights) >= min(level) - 1, "it comes back beneath its text, not through it"
    assert max(heights) > max(level) + 10
