"""The format of traces: small, exact, described by a schema, and refused where it cannot have happened."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import minidecoder as md
from minidecoder.decoding.sampling import mask_row, softmax
from minidecoder.lens.explain import Kind
from minidecoder.lens.trace import CANDIDATES, SCHEMA_VERSION, TraceRecorder, draw_machine
from minidecoder.lens.trace_data import FINISH_REASONS, KINDS, Machine, MachineEdge
from minidecoder.lens.trace_schema import trace_schema
from minidecoder.lens.trace_size import MOST_BYTES, fit
from minidecoder.models.ngram import NGramModel
from minidecoder.models.tiny_bpe import load_tiny_bpe, tiny_corpus
from minidecoder.models.toy import UniformModel
from tests import recorded_runs as runs
from tests.optional import need

RUNS = ("price", "age", "emoji", "hostile", "free", "nested")
Data = dict[str, Any]


@pytest.fixture(scope="module")
def validator() -> Any:
    jsonschema = need("jsonschema", "dev")
    jsonschema.Draft202012Validator.check_schema(trace_schema())
    return jsonschema.Draft202012Validator(trace_schema())


@pytest.mark.parametrize("name", RUNS)
def test_a_trace_goes_through_json_exactly_and_fits_the_schema(name: str, validator: Any) -> None:
    trace: md.Trace = getattr(runs, name)()
    text = trace.to_json()
    assert md.Trace.from_json(text) == trace
    assert md.Trace.from_json(text).to_json() == text
    assert text.isascii()
    assert list(validator.iter_errors(json.loads(text))) == []


def test_the_schema_names_what_the_code_knows() -> None:
    schema = trace_schema()
    candidates = schema["$defs"]["candidates"]["properties"]
    assert schema["properties"]["schema_version"] == {"const": SCHEMA_VERSION}
    assert set(candidates["verdict"]["items"]["enum"]) == {*Kind.__members__, None}
    assert tuple(candidates["kind"]["items"]["enum"]) == KINDS
    assert tuple(schema["properties"]["finish_reason"]["enum"]) == FINISH_REASONS
    schema.clear()
    assert trace_schema(), "each caller has a copy"


# -- grammars and sampled runs ----------------------------------------------------------------------


def test_a_run_under_a_grammar_carries_its_stack_and_no_machine() -> None:
    trace = runs.nested()
    assert trace.text == '[[1,"é"],true]'
    assert trace.machine is None
    assert trace.pattern == runs.JSON_GRAMMAR
    stacks = [[name.partition(":")[0] for name in step.stack] for step in trace.steps]
    assert all(stack[0] == "root" for stack in stacks[:-1])
    depths = [stack.count("array") for stack in stacks]
    assert [step.label for step in trace.steps] == [
        "[",
        "[",
        "1",
        ",",
        '"',
        "é",
        '"',
        "],",
        "true",
        "]",
        "■ </s>",
    ]
    assert depths[1:9] == [1, 2, 2, 2, 2, 2, 2, 1]
    assert stacks[5][-1] == "string"
    assert all(step.state for step in trace.steps)
    blocked = [c for step in trace.steps for c in step.candidates if c.verdict == "DEAD_AT_BYTE"]
    assert blocked
    assert all("line " in candidate.why for candidate in blocked)
    (half,) = (step for step in trace.steps if step.label == "é")
    assert [move.state for move in half.path] == ["string:b0", "string:s1"]


@pytest.mark.parametrize("grammar", [True, False])
def test_sampled_runs_on_a_real_tokenizer_are_exact_and_fit_the_schema(grammar: bool, validator: Any) -> None:
    bpe = load_tiny_bpe()
    model = NGramModel(tiny_corpus().split("\n"), bpe.vocabulary, order=3, encode=bpe.encode)
    constraint = md.compile_grammar(runs.JSON_GRAMMAR, bpe.vocabulary) if grammar else None
    sampling = md.Sampling(seed=1, top_k=40, top_p=0.95, min_p=0.001, banned_ids=[65], temperature=0.9)
    run = md.generate(
        model, "", constraint=constraint, vocabulary=bpe.vocabulary, sampling=sampling, max_tokens=40
    )
    assert md.Trace.from_json(run.trace.to_json()) == run.trace
    assert list(validator.iter_errors(json.loads(run.trace.to_json()))) == []
    kinds = {c.verdict for step in run.trace.steps for c in step.candidates}
    assert {"ALLOWED", "CUT_BY_SAMPLING"} <= kinds


def test_a_run_in_a_budget_and_to_a_stop_string_is_recorded_as_it_was() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "a", "b", "[", "]"], eos=0)
    constraint = md.compile_regex(r"(a|\[b{3}\])*", vocabulary)
    run = md.generate(
        UniformModel(5),
        [],
        constraint=constraint,
        sampling=md.Sampling(seed=0),
        max_tokens=3,
        finish_within_budget=True,
    )
    (bracket,) = (c for c in run.trace.steps[0].candidates if c.label == "[")
    assert (bracket.verdict, bracket.allowed, bracket.after) == ("OVER_BUDGET", False, 0)
    assert md.Trace.from_json(run.trace.to_json()) == run.trace
    stopped = md.generate(
        UniformModel(5), [], vocabulary=vocabulary, stop="a", max_tokens=50, sampling=md.Sampling(seed=0)
    )
    assert md.Trace.from_json(stopped.trace.to_json()) == stopped.trace
    assert stopped.trace.finish_reason == "stop"


def test_the_shares_of_a_step_are_those_of_all_logits() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", *(f"{n:03d}" for n in range(500)), *"0123456789"], eos=0)
    constraint = md.compile_regex("[0-4]+", vocabulary)
    recorder = TraceRecorder(vocabulary, constraint, "")
    sampling = md.Sampling(seed=2, top_k=30, temperature=0.7)
    for step in md.stream(Noise(511), [], constraint=constraint, sampling=sampling, max_tokens=5):
        recorder.add(step)
        assert step.draw is not None
        rows = (step.draw.before, mask_row(step.draw.before, step.bitmask), step.draw.after)
        candidates = recorder.steps[-1].candidates
        for name, row in zip(("before", "after", "drawn"), rows, strict=True):
            shares = softmax(row)
            for candidate in candidates:
                assert getattr(candidate, name) == pytest.approx(shares[candidate.token_id], rel=1e-3)
            if name != "drawn":
                best = set(np.argsort(-shares, kind="stable")[:CANDIDATES].tolist())
                assert best <= {candidate.token_id for candidate in candidates}


# -- size -------------------------------------------------------------------------------------------


class Noise:
    """Logits without a favourite that lasts: every step has other candidates."""

    def __init__(self, width: int) -> None:
        self.width = width

    def next_logits(self, token_ids: Sequence[int]) -> NDArray[np.float64]:
        return np.random.default_rng(len(token_ids)).normal(size=self.width)


WIDTH = 131_072


def wide(tokens: Sequence[str | bytes]) -> md.Vocabulary:
    return md.Vocabulary.from_tokens([*tokens, *("</s>",)], eos="</s>", width=WIDTH)


def ordinary() -> Iterator[str]:
    yield from map(chr, range(32, 127))
    yield from (f" w{n}" for n in range(WIDTH - 100))


def long_ones() -> Iterator[str]:
    """Tokens of 120 bytes, of characters that JSON writes as six letters and people see as eight."""
    yield from map(chr, range(32, 127))
    yield from (f"{n:06d}" + "é\u200b\x7f" * 19 for n in range(WIDTH - 100))


WORDS = "(" + "|".join(f"entry number {n * 7919 % 100003}" for n in range(3000)) + ")"
DEEP = (
    'root ::= "[" root "]" | (a_rule_with_a_very_long_name_indeed_that_nobody_would_write ",")* [^\\[\\],]+\n'
)
DEEP += "a_rule_with_a_very_long_name_indeed_that_nobody_would_write ::= [^\\[\\],]*"


@pytest.mark.parametrize(
    ("tokens", "compile_"),
    [
        (ordinary, lambda v: md.compile_regex("[^\n]*", v)),
        (long_ones, lambda v: md.compile_regex("(.|\n)*", v)),
        (long_ones, lambda v: None),
        (ordinary, lambda v: md.compile_regex(WORDS + ".*", v)),
        (ordinary, lambda v: md.compile_grammar(runs.JSON_GRAMMAR, v)),
        (long_ones, lambda v: md.compile_grammar(DEEP, v)),
    ],
    ids=["ordinary", "long tokens", "free", "large machine", "json", "deep grammar"],
)
def test_64_steps_on_131072_tokens_stay_under_200_kb(
    tokens: Callable[[], Iterator[str]], compile_: Callable[[md.Vocabulary], md.Constraint | None]
) -> None:
    vocabulary = wide([*tokens()])
    run = md.generate(
        Noise(WIDTH),
        [],
        constraint=compile_(vocabulary),
        vocabulary=vocabulary,
        sampling=md.Sampling(seed=0, temperature=1.0),
        max_tokens=64,
    )
    trace = replace(run.trace, prompt="")
    text = trace.to_json()
    assert len(text) < 200_000
    assert md.Trace.from_json(text) == trace
    for step in trace.steps:
        assert step.token_id in {c.token_id for c in step.candidates}


def test_what_is_cut_says_so() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "x" * 200, *"[]1"], eos=0)
    grammar = 'root ::= "[" root "]" | [x1]+\n#' + " a remark" * 1000
    constraint = md.compile_grammar(grammar, vocabulary)
    rows = {tuple([2] * k): [0, 0, 9.0, 0, 0] for k in range(40)} | {tuple([2] * 40): [0, 9.0, 0, 0, 0]}
    model = runs.TableModel(5, rows)
    trace = md.generate(TakesText(model), "p" * 9_000, constraint=constraint, max_tokens=41).trace
    assert trace.pattern is not None
    assert trace.pattern.endswith(f"… ({len(grammar):,} characters in all)")
    assert trace.prompt.endswith("… (9,000 characters in all)")
    last = trace.steps[-1]
    assert 4 <= len(last.path) <= 24
    assert len(last.stack) == 12
    assert last.stack[4].startswith("… ")
    assert last.label == "x" * 39 + "…"


class TakesText:
    """A model that takes a text, of which it reads nothing."""

    def __init__(self, model: Any) -> None:
        self.next_logits = model.next_logits

    def encode(self, text: str) -> list[int]:
        return []


def test_a_large_machine_keeps_what_the_run_came_near(validator: Any) -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", *map(chr, range(32, 127))], eos=0)
    constraint = md.compile_regex(WORDS, vocabulary)
    assert constraint.characters is not None
    trace = md.generate(Noise(96), [], constraint=constraint, max_tokens=40).trace
    assert trace.machine is not None
    names = {state.name for state in trace.machine.states}
    assert names >= {step.state for step in trace.steps}
    assert trace.machine.left_out == len(constraint.characters) - len(names) > 400
    assert len(trace.to_json()) < 200_000
    assert list(validator.iter_errors(json.loads(trace.to_json()))) == []


@pytest.mark.parametrize(("letters", "token"), [(500, 8), (1_500, 24), (500, 1)])
def test_of_a_long_chain_all_edges_between_the_states_of_the_run_are_kept(letters: int, token: int) -> None:
    """Of 1,500 states that a run of 64 long tokens came through, 1,100 edges were missing."""
    text = "".join(chr(97 + n * n % 23 + n % 3) for n in range(letters))
    tokens = [text[at : at + token] for at in range(0, letters, token)]
    vocabulary = md.Vocabulary.from_tokens(["</s>", *dict.fromkeys(tokens)], eos=0)
    constraint = md.compile_regex(text + "[0-9]?", vocabulary)
    assert constraint.characters is not None
    trace = md.generate(Noise(len(vocabulary)), [], constraint=constraint, max_tokens=len(tokens)).trace
    assert trace.machine is not None
    names = {state.name for state in trace.machine.states}
    visited = {move.state for step in trace.steps for move in step.path} | {trace.steps[0].state}
    between = [e for e in draw_machine(constraint.characters).edges if {e.source, e.target} <= visited]
    assert len(between) > 400
    assert visited <= names
    assert set(between) <= set(trace.machine.edges)
    assert len(trace.to_json()) < max(200_000, 1_500 * len(trace.steps))


def test_a_machine_in_which_all_states_are_neighbours_stays_small() -> None:
    """64 steps through as many states, and an edge from each to each: more than there is room for."""
    vocabulary = md.Vocabulary.from_tokens(["</s>", "a"], eos=0)
    trace = md.generate(Noise(2), [], constraint=md.compile_regex("a{64}", vocabulary), max_tokens=64).trace
    assert trace.machine is not None
    names = [state.name for state in trace.machine.states]
    edges = tuple(MachineEdge(one, other, "a letter") for one in names for other in names)
    fitted = fit(replace(trace, machine=Machine(trace.machine.states, edges)))
    assert fitted.machine is not None
    assert {state.name for state in fitted.machine.states} == set(names)
    assert 1_000 < len(fitted.machine.edges) < len(edges)
    assert len(fitted.to_json()) < 200_000


def test_a_small_run_leaves_nothing_out_and_a_long_one_says_how_much() -> None:
    assert runs.age().left_out == 0
    vocabulary = wide([*long_ones()])
    constraint = md.compile_regex("(.|\n)*", vocabulary)
    run = md.generate(Noise(WIDTH), [], constraint=constraint, sampling=md.Sampling(seed=0), max_tokens=64)
    kept = sum(len(step.candidates) for step in run.trace.steps)
    assert run.trace.left_out > 0
    assert kept + run.trace.left_out >= 64 * CANDIDATES
    assert MOST_BYTES < 200_000


# -- older versions ---------------------------------------------------------------------------------


def version_1(trace: md.Trace) -> Data:
    """The trace as version 1 wrote it."""
    data: Data = json.loads(trace.to_json())
    data["schema_version"] = 1
    del data["left_out"]
    if data["machine"]:
        del data["machine"]["left_out"]
    for step in data["steps"]:
        del step["stack"]
        columns = step["candidates"]
        del columns["verdict"]
        step["candidates"] = [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ]
        for part in (step, *step["candidates"]):
            part["path"] = [{"byte": byte, "state": state} for byte, state in part["path"]]
    return data


@pytest.mark.parametrize("name", ["price", "age", "emoji", "free"])
def test_a_trace_of_version_1_is_read_and_becomes_one_of_the_present(name: str, validator: Any) -> None:
    trace: md.Trace = getattr(runs, name)()
    old = md.Trace.from_json(json.dumps(version_1(trace)))
    assert old.schema_version == SCHEMA_VERSION
    forgotten = [
        replace(s, candidates=tuple(replace(c, verdict=None) for c in s.candidates)) for s in trace.steps
    ]
    assert old == replace(trace, steps=tuple(forgotten))
    assert list(validator.iter_errors(json.loads(old.to_json()))) == []


@pytest.mark.parametrize("version", [0, 3, -1, "1", 1.0, True, None, [1]])
def test_other_versions_are_refused(version: Any) -> None:
    data = {**json.loads(runs.age().to_json()), "schema_version": version}
    with pytest.raises(md.UsageError, match=r"schema_version is .*, this program reads 1 to 2"):
        md.Trace.from_json(json.dumps(data))


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d.update(steps=5),
        lambda d: d.update(steps=[5]),
        lambda d: d["steps"][0].update(candidates=5),
        lambda d: d["steps"][0].update(candidates=[5]),
        lambda d: d["steps"][0].update(candidates=[]),
        lambda d: d["steps"][0]["candidates"][0].pop("why"),
        lambda d: d["steps"][0]["candidates"][0].update(more=1),
        lambda d: d["steps"][0].update(path=[{"byte": 1}]),
        lambda d: d["steps"][0].update(path=[{"byte": 1, "state": "s0", "more": 1}]),
        lambda d: d["steps"][0].update(path="x"),
        lambda d: d.update(machine=5),
    ],
)
def test_damaged_traces_of_version_1_are_refused(damage: Callable[[Data], object]) -> None:
    data = version_1(runs.age())
    damage(data)
    with pytest.raises(md.UsageError, match=r"Trace\."):
        md.Trace.from_json(json.dumps(data))


# -- what cannot have happened ----------------------------------------------------------------------

Change = Callable[[Data], object]
NONSENSE: list[tuple[str, Change]] = [
    (r"Trace.vocabulary_size", lambda d: d.update(vocabulary_size=-5)),
    (r"Trace.vocabulary_size", lambda d: d.update(vocabulary_size=0)),
    (r"token_id", lambda d: d.update(vocabulary_size=3)),
    (r"Trace.finish_reason", lambda d: d.update(finish_reason="bored")),
    (r"Trace.left_out", lambda d: d.update(left_out=-1)),
    (r"Trace.pattern", lambda d: d.update(pattern=None)),
    (r"machine.states", lambda d: d["machine"].update(states=[], edges=[])),
    (r"machine.states", lambda d: d["machine"]["states"].append(d["machine"]["states"][0])),
    (r"edges\[0\].target", lambda d: d["machine"]["edges"][0].update(target="s99")),
    (r"machine.left_out", lambda d: d["machine"].update(left_out=-1)),
    (r"steps\[1\].state must be 's2'", lambda d: d["steps"][1].update(state="s7")),
    (r"steps\[0\].state", lambda d: d["steps"][0].update(state=None)),
    (r"steps\[0\].is_eos", lambda d: d["steps"][0].update(is_eos=True)),
    (r"allowed_count", lambda d: d["steps"][0].update(allowed_count=99)),
    (r"feasible_mass", lambda d: d["steps"][0].update(feasible_mass=1.5)),
    (r"favourite", lambda d: d["steps"][0].update(favourite=None)),
    (r"favourite", lambda d: d["steps"][0].update(favourite=16)),
    (r"steps\[0\].probability", lambda d: d["steps"][0].update(probability=-0.1)),
    (r"path\[0\].byte", lambda d: d["steps"][0]["path"][0].__setitem__(0, 256)),
    (r"steps\[0\].token_id", lambda d: d["steps"][0].update(token_id=99)),
    (r"steps\[0\].token_id must be one of the cand", lambda d: drop_candidate(d, 3)),
    (r"candidates must be of different ids", lambda d: columns(d)["token_id"].__setitem__(1, columns(d)["token_id"][0])),
    (r"candidates\[2\].token_id", lambda d: columns(d)["token_id"].__setitem__(2, -1)),
    (r"candidates\[0\].kind", lambda d: columns(d)["kind"].__setitem__(0, "word")),
    (r"candidates\[0\].before", lambda d: columns(d)["before"].__setitem__(0, 7.0)),
    (r"candidates\[0\].verdict", lambda d: columns(d)["verdict"].__setitem__(0, "TIRED")),
    (r"candidates\[\d+\].verdict", lambda d: columns(d).update(verdict=["ALLOWED"] * 16)),
]  # fmt: skip
SHAPES: list[tuple[str, Change]] = [
    (r"candidates must have lists of one length", lambda d: columns(d)["why"].pop()),
    (r"candidates must have exactly the fields", lambda d: columns(d).pop("why")),
    (r"candidates must have exactly the fields", lambda d: columns(d).update(BY_COLUMN=[1] * 16)),
    (r"candidates must have exactly the fields", lambda d: d["steps"][0].update(candidates=[])),
    (r"candidates.path\[0\]\[0\] must be a list of byte, state", lambda d: columns(d)["path"].__setitem__(0, [[1]])),
    (r"candidates.path\[0\]\[0\].state must be str", lambda d: columns(d)["path"].__setitem__(0, [[1, 2]])),
    (r"candidates.allowed\[0\] must be bool", lambda d: columns(d)["allowed"].__setitem__(0, "yes")),
    (r"steps\[0\].stack", lambda d: d["steps"][0].update(stack=[1])),
]  # fmt: skip


def columns(data: Data) -> Data:
    return data["steps"][0]["candidates"]  # type: ignore[no-any-return]


def drop_candidate(data: Data, token_id: int) -> None:
    at = columns(data)["token_id"].index(token_id)
    for column in columns(data).values():
        del column[at]


@pytest.mark.parametrize(("place", "damage"), [*NONSENSE, *SHAPES])
def test_what_cannot_have_happened_is_refused_with_its_place(place: str, damage: Change) -> None:
    data = json.loads(runs.age().to_json())
    before = copy.deepcopy(data)
    damage(data)
    assert data != before
    with pytest.raises(md.UsageError, match=place):
        md.Trace.from_json(json.dumps(data))


@pytest.mark.parametrize(("place", "damage"), SHAPES[1:])
def test_the_schema_refuses_wrong_shapes_too(place: str, damage: Change, validator: Any) -> None:
    data = json.loads(runs.age().to_json())
    damage(data)
    assert list(validator.iter_errors(data))


def test_an_interrupted_run_is_a_trace(validator: Any) -> None:
    trace = replace(runs.age(), finish_reason="interrupted", is_complete=False)
    assert md.Trace.from_json(trace.to_json()) == trace
    assert list(validator.iter_errors(json.loads(trace.to_json()))) == []


def test_a_run_of_no_steps_is_a_trace(validator: Any) -> None:
    vocabulary = md.Vocabulary.from_tokens(["a", "</s>"], eos=1)
    constraint = md.compile_regex("a", vocabulary)
    trace = md.generate(UniformModel(2), [], constraint=constraint, max_tokens=0).trace
    assert trace.steps == ()
    assert md.Trace.from_json(trace.to_json()) == trace
    assert list(validator.iter_errors(json.loads(trace.to_json()))) == []
