"""The byte machine reads exactly the UTF-8 encodings of what the character machine reads."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minidecoder.automaton import DEAD, Automaton, walk
from minidecoder.regex.compiler import compile_dfa
from minidecoder.regex.utf8 import ByteDFA, lower_to_bytes
from tests.strategies import patterns

BORDERS = [
    0,
    0x7F,
    0x80,
    0x7FF,
    0x800,
    0xFFF,
    0x1000,
    0xD7FF,
    0xE000,
    0xFFFF,
    0x10000,
    0x3FFFF,
    0x40000,
    0x10FFFF,
]
SETS = [
    ".",
    r"\w",
    r"\W",
    r"\d",
    r"\s",
    "[^a]",
    "[^é]",
    "[😀-🙏]",
    "[\x80-\xff܀-ऀ\uffff-\U00010001]",
    "[\ue000-\uffff]",
]


def accepts(machine: ByteDFA, data: bytes) -> bool:
    path = [machine.start, *walk(machine, machine.start, data)]
    return machine.is_accepting(path[-1])


@pytest.mark.parametrize("pattern", SETS)
def test_every_border_of_utf8_is_cut_where_the_set_is(pattern: str) -> None:
    machine, compiled = lower_to_bytes(compile_dfa(pattern)), re.compile(pattern)
    for border in [*BORDERS, *range(0x60, 0x1000), *range(0x1F5F0, 0x1F660)]:
        for code_point in {max(border - 1, 0), border, min(border + 1, 0x10FFFF)} - set(
            range(0xD800, 0xE000)
        ):
            char = chr(code_point)
            assert accepts(machine, char.encode()) == bool(compiled.fullmatch(char)), hex(code_point)


@settings(max_examples=300)
@given(st.sampled_from(SETS), st.binary(min_size=1, max_size=4))
def test_bytes_that_are_no_utf8_are_never_accepted(pattern: str, data: bytes) -> None:
    try:
        expected = re.fullmatch(pattern, data.decode()) is not None
    except UnicodeDecodeError:
        expected = False
    assert accepts(lower_to_bytes(compile_dfa(pattern)), data) == expected


@settings(max_examples=100)
@given(patterns(), st.lists(st.text("ab1é😀z\n", max_size=5), max_size=8))
def test_byte_and_character_machines_agree_state_by_state(pattern: str, texts: list[str]) -> None:
    dfa = compile_dfa(pattern)
    machine = lower_to_bytes(dfa)
    for text in texts:
        state = dfa.start
        for char in text:
            after = [state, *walk(machine, state, char.encode())][-1]
            state = dfa.step(state, char)
            assert after == state, "a character state keeps its number"


def test_states_inside_a_character_are_shared_and_named_b() -> None:
    machine = lower_to_bytes(compile_dfa("[😀-🙏]+"))
    path = walk(machine, machine.start, "😀".encode())
    assert [machine.name(state) for state in path] == ["b2", "b1", "b0", "s1"] or [
        machine.name(state)[0] for state in path
    ] == ["b", "b", "b", "s"]
    assert machine.name(machine.start) == "s0"
    assert machine.name(DEAD) == "dead"
    assert walk(machine, machine.start, b"\xf0\x9f\x98\xff")[-1] == DEAD


def test_the_byte_machine_is_an_automaton_and_small() -> None:
    machine = lower_to_bytes(compile_dfa(".{1,100}"))
    assert isinstance(machine, Automaton)
    assert len(machine) == 801  # 101 between characters, 7 inside each of 100
    assert len(lower_to_bytes(compile_dfa(r"[0-9]+\.[0-9]{2}"))) == 5


def test_live_bytes_are_those_that_can_still_match() -> None:
    machine = lower_to_bytes(compile_dfa("aé|b"))
    assert machine.live_bytes(machine.start) == [ord("a"), ord("b")]
    assert machine.live_bytes(walk(machine, machine.start, b"a")[-1]) == ["é".encode()[0]]
    assert machine.live_bytes(walk(machine, machine.start, b"b")[-1]) == []
    assert machine.live_bytes(DEAD) == []
