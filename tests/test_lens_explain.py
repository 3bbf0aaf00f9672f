"""Each verdict is true and the first that applies; of a grammar it names rule, place and what was expected."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import minidecoder as md
from minidecoder.automaton import DEAD, State
from minidecoder.errors import EmptyMaskError, UnsatisfiableConstraintError
from minidecoder.lens.completion import shortest_completion
from minidecoder.lens.expected import SaysExpected
from minidecoder.lens.explain import Explainer, Kind, Verdict, explain, explain_at
from minidecoder.lens.explain_drawn import explain_drawn
from minidecoder.lens.explain_step import explain_step
from minidecoder.lens.nearest import nearest_allowed
from minidecoder.lens.trace import TraceRecorder
from minidecoder.models.toy import TableModel, UniformModel
from tests.recorded_runs import JSON_GRAMMAR, PRICE_TOKENS
from tests.strategies import patterns, vocabularies


class NoiseModel:
    """Logits that depend on the ids and on nothing else; some are -inf."""

    def __init__(self, width: int, seed: int) -> None:
        self.width, self.seed = width, seed

    def next_logits(self, token_ids: Sequence[int]) -> NDArray[np.float64]:
        random = np.random.default_rng([self.seed, *token_ids])
        row = random.normal(size=self.width).round(1)  # so that some are equal
        row[random.random(self.width) < 0.05] = -np.inf
        row[random.integers(self.width)] = 1.0
        return row


samplings = st.builds(
    md.Sampling,
    temperature=st.sampled_from([0.0, 1.0, 2.0, 1e-300]),
    top_k=st.sampled_from([0, 1, 3]),
    top_p=st.sampled_from([1.0, 0.5]),
    min_p=st.sampled_from([0.0, 0.3]),
    min_tokens=st.integers(0, 2),
    banned_ids=st.sets(st.integers(1, 2), max_size=1),
    seed=st.integers(0, 9),
)


def fewest_tokens(machine: Any, tokens: Sequence[bytes], banned: set[int], start: State) -> float:
    """Tokens from a state to the end, EOS counted, by trying all: infinite where there is no way."""
    reached, frontier, steps = {start}, [start], 1
    while frontier:
        if any(machine.is_accepting(state) for state in frontier):
            return steps
        ahead = []
        for state in frontier:
            for token_id, data in enumerate(tokens):
                target = state
                for byte in data:
                    target = machine.step(target, byte)
                if data and token_id not in banned and target != DEAD and target not in reached:
                    reached.add(target)
                    ahead.append(target)
        frontier, steps = ahead, steps + 1
    return float("inf")


def kinds_that_apply(
    constraint: md.Constraint, step: md.Step, text: bytes, token_id: int, banned: set[int]
) -> Iterator[Kind]:
    """The verdicts that are true of a token, in the order of the list, from their definitions alone. Where the
    token was forced there is no row of which a ban or a cut could be told."""
    vocabulary, machine = constraint.vocabulary, constraint.automaton
    if not 0 <= token_id < len(vocabulary):
        yield Kind.NOT_A_TOKEN
        return
    data, is_eos = vocabulary.token_bytes[token_id], token_id in vocabulary.eos_ids
    if not data and not is_eos:
        yield Kind.SPECIAL_TOKEN if token_id in vocabulary.special_text else Kind.NOT_A_TOKEN
        return
    assert step.state is not None
    if is_eos and not whole_match(constraint, text):
        yield Kind.EOS_TOO_EARLY
    if data and all(machine.step(step.state, byte) == DEAD for byte in range(256)):
        yield Kind.ONLY_EOS_LEFT
    state = step.state
    for byte in data:
        state = machine.step(state, byte)
    if data and state == DEAD:
        yield Kind.DEAD_AT_BYTE
    elif data and fewest_tokens(machine, vocabulary.token_bytes, set(), state) == float("inf"):
        yield Kind.DEAD_END
    elif step.budget is not None:
        needed = 1 + (fewest_tokens(machine, vocabulary.token_bytes, banned, state) if data else 0)
        if needed > step.tokens_left:
            yield Kind.OVER_BUDGET
    if step.draw is not None and token_id in banned:
        yield Kind.BANNED
    if (
        step.draw is not None
        and np.isneginf(step.draw.after[token_id])
        and np.isfinite(step.draw.before[token_id])
    ):
        yield Kind.CUT_BY_SAMPLING
    yield Kind.ALLOWED


def whole_match(constraint: md.Constraint, text: bytes) -> bool:
    try:
        return re.fullmatch(constraint.source, text.decode()) is not None
    except UnicodeDecodeError:
        return False


@settings(max_examples=250)
@example(
    "aab?|a(bb){2}",
    md.Vocabulary.from_tokens(["</s>", "a", "b", "ab"], eos=0),
    md.Sampling(seed=0),
    True,
    4,
    0,
)
@given(patterns(), vocabularies(), samplings, st.booleans(), st.integers(1, 4), st.integers(0, 99))
def test_each_verdict_is_the_first_that_is_true(
    pattern: str,
    vocabulary: md.Vocabulary,
    sampling: md.Sampling,
    in_budget: bool,
    max_tokens: int,
    seed: int,
) -> None:
    try:
        constraint = md.compile_regex(pattern, vocabulary)
        steps = md.stream(
            NoiseModel(len(vocabulary), seed),
            [],
            constraint=constraint,
            sampling=sampling,
            max_tokens=max_tokens,
            finish_within_budget=in_budget,
        )
        explainer, text = Explainer(constraint), b""
        for step in steps:
            for token_id in range(-1, len(vocabulary) + 1):
                verdict = explain_drawn(step, token_id, vocabulary, explainer)
                true = kinds_that_apply(constraint, step, text, token_id, set(sampling.banned_ids))
                assert verdict.kind is next(true)
                check_sampling_evidence(step, token_id, verdict)
            text += vocabulary.token_bytes[step.token_id]
    except (UnsatisfiableConstraintError, EmptyMaskError, md.UsageError):
        return  # nothing to explain, or a budget that the shortest text does not fit


def check_sampling_evidence(step: md.Step, token_id: int, verdict: Verdict) -> None:
    if verdict.kind is Kind.OVER_BUDGET:
        assert verdict.tokens_left == step.tokens_left
        assert verdict.tokens_needed is None or verdict.tokens_needed > step.tokens_left
        assert f"{step.tokens_left} are left" in verdict.sentence
    elif verdict.kind is Kind.CUT_BY_SAMPLING:
        assert step.draw is not None
        assert verdict.rule == step.draw.cut_by(token_id)
        row = step.draw.row_before(verdict.rule or "")
        order = sorted(range(len(row)), key=lambda i: (-row[i], i))
        assert verdict.rank == order.index(token_id) + 1
        assert verdict.threshold == getattr(step.draw.sampling, verdict.rule or "")
        if verdict.rule == "top_k":
            assert verdict.rank > (verdict.threshold or 0)
    else:
        assert (verdict.rule, verdict.rank, verdict.threshold) == (None, None, None)


@settings(max_examples=150)
@given(patterns(), vocabularies())
def test_a_completion_completes_in_the_fewest_bytes_or_else_tokens(
    pattern: str, vocabulary: md.Vocabulary
) -> None:
    try:
        constraint = md.compile_regex(pattern, vocabulary)
    except UnsatisfiableConstraintError:
        return
    machine = constraint.automaton
    for state in map(State, range(1, len(machine.table))):  # type: ignore[attr-defined]
        if not constraint.index.is_alive(state):
            continue
        completion, end = shortest_completion(constraint, state), state
        for byte in completion:
            end = machine.step(end, byte)
        assert machine.is_accepting(end)
        reached = {state}  # by fewer bytes
        for _ in completion[1:]:
            reached |= {machine.step(q, byte) for q in reached for byte in machine.live_bytes(q)}
        is_shortest = not completion or not any(machine.is_accepting(q) for q in reached)
        fewest = fewest_tokens(machine, vocabulary.token_bytes, set(), state) - 1
        assert is_shortest or fewest_pieces(completion, vocabulary.token_bytes) == fewest


def fewest_pieces(text: bytes, tokens: Sequence[bytes]) -> float:
    """Into how few tokens a text can be cut."""
    fewest = [0.0] + [float("inf")] * len(text)
    for end in range(1, len(text) + 1):
        fewest[end] = min(fewest[at] + 1 if text[at:end] in tokens else float("inf") for at in range(end))
    return fewest[-1]


# -- sentences --------------------------------------------------------------------------------------


@pytest.fixture
def price() -> md.Constraint:
    return md.compile_regex(r"[0-9]+\.[0-9]{2}", md.Vocabulary.from_tokens(PRICE_TOKENS, eos="</s>"))


def second_step(constraint: md.Constraint, **settings: Any) -> md.Step:
    """The step in s3 after `12.5`, where `0`, `5` and `1` are legal, `5` the likeliest and then `0`."""
    rows = {
        (): [99.0 * (i == 2) for i in range(9)],
        (2,): [99.0 * (i == 4) for i in range(9)],
        (2, 4): [1.0, 0.5, 0, 0, 0, 9.0, 2.0, 3.0, 0],
    }
    sampling = md.Sampling(**settings)
    return [*md.stream(TableModel(9, rows), [], constraint=constraint, max_tokens=4, sampling=sampling)][2]


@pytest.mark.parametrize(
    ("settings", "token_id", "kind", "sentence"),
    [
        ({"temperature": 0}, 6, Kind.CUT_BY_SAMPLING, "`0` is legal but number 2: temperature 0 takes number 1."),
        ({"top_k": 2, "seed": 1}, 1, Kind.CUT_BY_SAMPLING, "`1` is legal but number 3: top_k=2 keeps the 2 likeliest."),
        ({"top_p": 0.5, "seed": 1}, 6, Kind.CUT_BY_SAMPLING, "`0` is legal but number 2: the likelier ones reach top_p=0.5 without it."),
        ({"min_p": 0.2, "seed": 1}, 1, Kind.CUT_BY_SAMPLING, "`1` is legal but number 3: it has 0.082 of the likeliest's probability, below min_p=0.2."),
        ({"banned_ids": [6], "seed": 1}, 6, Kind.BANNED, "`0` is legal but banned by banned_ids."),
        ({"banned_ids": [5], "seed": 1}, 5, Kind.DEAD_AT_BYTE, "`50` dies at byte 2 of 2: `5` moves s3 → s4, where only the end may follow."),
        ({"temperature": 0}, 7, Kind.ALLOWED, "`5` is allowed: s3 → s4."),
        ({"temperature": 0}, 9, Kind.NOT_A_TOKEN, "9 is no id of this vocabulary: ids are 0 to 8."),
    ],
)  # fmt: skip
def test_the_sentences_of_the_sampling(
    price: md.Constraint, settings: dict[str, Any], token_id: int, kind: Kind, sentence: str
) -> None:
    step = second_step(price, **settings)
    verdict = explain_drawn(step, token_id, price.vocabulary, Explainer(price))
    assert (verdict.kind, verdict.sentence) == (kind, sentence)


def test_min_tokens_holds_the_end_back() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "a"], eos=0)
    constraint = md.compile_regex("a*", vocabulary)
    steps = md.stream(
        UniformModel(2), [], constraint=constraint, sampling=md.Sampling(min_tokens=2, seed=0), max_tokens=2
    )
    verdict = explain_drawn(next(steps), 0, vocabulary, Explainer(constraint))
    assert verdict.rule == "min_tokens"
    assert verdict.sentence == "`■ </s>` is legal but held back until min_tokens=2 are written."


def test_a_token_over_the_budget_says_what_it_needs_and_what_is_left() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "a", "b", "[", "]"], eos=0)
    constraint = md.compile_regex(r"a|\[b{3}\]", vocabulary)
    step = next(
        md.stream(UniformModel(5), [], constraint=constraint, max_tokens=4, finish_within_budget=True)
    )
    verdict = explain_drawn(step, 3, vocabulary, Explainer(constraint))
    assert (verdict.kind, verdict.tokens_needed, verdict.tokens_left) == (Kind.OVER_BUDGET, 6, 4)
    assert verdict.sentence == (
        "`[` is allowed: s0 → s1, but over the budget: with it the shortest end takes 6 tokens, and 4 are left."
    )


def test_what_the_model_rules_out_itself_is_allowed_and_said_to_be() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "a", "b"], eos=0)
    constraint = md.compile_regex("[ab]", vocabulary)
    model = TableModel(3, {(): [0, 1, float("-inf")]})
    step = next(md.stream(model, [], constraint=constraint, sampling=md.Sampling(seed=0)))
    verdict = explain_drawn(step, 2, vocabulary, Explainer(constraint))
    assert verdict.is_allowed
    assert verdict.sentence == "`b` is allowed: s0 → s1, but the model itself rules it out."


@pytest.mark.parametrize("wrong", ["5", 1.0, None, True])
def test_what_is_no_id_is_refused(price: md.Constraint, wrong: Any) -> None:
    for ask in (lambda: explain(price.matcher(), wrong), lambda: explain_at(price, State(1), wrong)):
        with pytest.raises(md.UsageError, match="token_id must be a whole number"):
            ask()
    with pytest.raises(md.UsageError, match="explain needs a matcher"):
        explain(price, 1)  # type: ignore[arg-type]


# -- recorded runs ----------------------------------------------------------------------------------


@pytest.fixture
def run(price: md.Constraint) -> md.Run:
    rows = {(): [0.0] * 9, (1,): [0.0] * 9}
    return md.generate(TableModel(9, rows), [], constraint=price, max_tokens=6)


def test_a_trace_knows_the_verdicts_that_it_recorded(run: md.Run) -> None:
    for source in (run.trace, md.Trace.from_json(run.trace.to_json())):
        for index, step in enumerate(source.steps):
            for candidate in step.candidates:
                verdict = explain_step(source, index, candidate.token_id)
                assert (verdict.kind.name, verdict.sentence) == (candidate.verdict, candidate.why)
    with pytest.raises(md.UsageError, match="token 77 in step 0 is not recorded: open in the lab"):
        explain_step(run.trace, 0, 77)
    for index in (-1, len(run.trace.steps)):
        with pytest.raises(md.UsageError, match="the run has steps 0 to"):
            explain_step(run.trace, index, 1)
    with pytest.raises(md.UsageError, match="takes a run or its trace"):
        explain_step("run", 0, 1)  # type: ignore[arg-type]


def test_a_run_knows_more_than_its_trace(run: md.Run) -> None:
    bare = tuple(replace(s, candidates=s.candidates[:1]) for s in run.trace.steps)
    forgetful = replace(run, trace=replace(run.trace, steps=bare))
    told = explain_step(forgetful, 0, 3)
    assert told.sentence == "`.` dies at byte 1 of 1: in s0 only 0–9 may follow."
    with pytest.raises(md.UsageError, match="not recorded"):  # legal, and whether it was cut is not known
        explain_step(forgetful, 0, 2)
    with pytest.raises(md.UsageError, match="not recorded"):
        explain_step(forgetful.trace, 0, 3)


def test_a_free_run_has_verdicts_too() -> None:
    vocabulary = md.Vocabulary.from_tokens(["</s>", "a", "b", "<s>"], eos=0, special=["<s>"], width=5)
    model = TableModel(5, {(): [0, 3, 2, 1, 9]})
    run = md.generate(model, [], vocabulary=vocabulary, max_tokens=1)
    kinds = {token_id: explain_step(run, 0, token_id).kind for token_id in range(5)}
    assert kinds == {
        0: Kind.CUT_BY_SAMPLING,
        1: Kind.ALLOWED,
        2: Kind.CUT_BY_SAMPLING,
        3: Kind.CUT_BY_SAMPLING,  # a special token may be drawn where nothing forbids it
        4: Kind.NOT_A_TOKEN,
    }
    assert explain_step(run.trace, 0, 1).sentence == "`a` is allowed: there is no constraint."


# -- grammars ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def json() -> md.Constraint:
    tokens = [*map(chr, range(32, 127)), "\n", '"}', "],", '":', "true", "</s>"]
    return md.compile_grammar(JSON_GRAMMAR, md.Vocabulary.from_tokens(tokens, eos="</s>"))


def verdict_after(constraint: md.Constraint, text: str, token: str) -> Verdict:
    matcher = constraint.matcher()
    assert not text or matcher.accept_string(text)
    ids = {constraint.vocabulary.text(i): i for i in range(len(constraint.vocabulary))}
    return explain(matcher, ids[token])


def place_of(piece: str) -> str:
    """Where a piece of the grammar stands, found in its text."""
    at = JSON_GRAMMAR.index(piece)
    return f"line {JSON_GRAMMAR.count(chr(10), 0, at) + 1}, column {at - JSON_GRAMMAR.rfind(chr(10), 0, at)}"


def test_a_blocked_token_names_the_rule_its_place_and_what_may_follow(json: md.Constraint) -> None:
    verdict = verdict_after(json, "[[", "}")
    # subtle: the first that is no white space is named with its place.
    assert verdict.sentence.startswith("`}` dies at byte 1 of 1: in ")
    verdict = verdict_after(json, "[[]", "}")
    where = place_of('"," ws value)*)? ws "]"')
    assert verdict.sentence == (
        f"`}}` dies at byte 1 of 1: in array ({where}) only `,`, `]` or white space may follow."
    )
    assert {(piece.text, piece.rule) for piece in verdict.expected} == {
        ('","', "array"),
        ('"]"', "array"),
        (r"[ \t\n\r]", "ws"),
    }
    assert verdict.live_bytes == tuple(sorted(b"\n ,]")), "no token has a tab"


def test_a_token_that_dies_in_its_second_byte_says_after_what(json: md.Constraint) -> None:
    verdict = verdict_after(json, '["ab', '"}')
    assert verdict.sentence.startswith('`"}` dies at byte 2 of 2: after `"`, in array (')
    assert "only `,`, `]` or white space may follow" in verdict.sentence
    assert verdict_after(json, '{"k": "ab', '"}').is_allowed


def test_of_many_pieces_five_are_named(json: md.Constraint) -> None:
    verdict = verdict_after(json, "", "}")
    assert re.search(r"only `.+`(, `.+`){4} and \d more may follow", verdict.sentence)
    assert len(verdict.expected) > 5


def test_in_the_middle_of_a_literal_its_rest_is_expected(json: md.Constraint) -> None:
    assert "only `ue` may follow" in verdict_after(json, "[tr", "x").sentence


@pytest.mark.parametrize("text", ["", "{", '{"a', '{"a": [1', '{"a": [1, {"b": [tr', "[" * 60 + "1", "-"])
def test_the_end_comes_too_early_and_what_is_offered_completes_it(json: md.Constraint, text: str) -> None:
    verdict = verdict_after(json, text, "</s>")
    assert verdict.kind is Kind.EOS_TOO_EARLY
    matcher = json.matcher()
    assert matcher.accept_string(text.encode() + verdict.completion)
    assert matcher.is_accepting
    assert "would complete it" in verdict.sentence


def test_where_no_completion_is_found_none_is_promised(json: md.Constraint) -> None:
    verdict = verdict_after(json, "[" * 5_000 + "1", "</s>")
    assert verdict.completion == b""
    assert "complete it" not in verdict.sentence
    assert "only `,`, `]`" in verdict.sentence


def test_the_end_of_the_text_is_named_among_what_may_follow(json: md.Constraint) -> None:
    assert "white space or the end may follow" in verdict_after(json, "{}", "x").sentence


@settings(max_examples=40)
@given(st.lists(st.integers(0, 100), max_size=12), st.integers(0, 10))
def test_every_verdict_of_a_grammar_agrees_with_the_mask_and_proves_itself(
    json: md.Constraint, drawn: list[int], seed: int
) -> None:
    matcher, machine = json.matcher(), json.automaton
    assert isinstance(machine, SaysExpected)
    for choice in drawn:
        allowed = matcher.allowed_token_ids().tolist()
        matcher.accept_token(allowed[choice * (seed + 1) % len(allowed)])
        if matcher.is_terminated:
            return
    for token_id in range(len(json.vocabulary)):
        verdict = explain(matcher, token_id)
        assert verdict.is_allowed == matcher.is_allowed(token_id)
        if verdict.kind is Kind.DEAD_AT_BYTE:
            data = json.vocabulary.token_bytes[token_id]
            probe = matcher.fork()
            assert len(verdict.path) == 1 or probe.accept_string(data[: len(verdict.path) - 1])
            assert list(verdict.live_bytes) == machine.live_bytes(probe.state)
            assert data[len(verdict.path) - 1] not in verdict.live_bytes
            literals = [p.text[1:-1] for p in verdict.expected if p.text.startswith('"')]
            firsts = {text.replace("\\", "", 1 if len(text) > 1 else 0).encode()[0] for text in literals}
            assert firsts <= set(verdict.live_bytes)


def test_states_of_a_grammar_live_as_long_as_their_verdict(json: md.Constraint) -> None:
    verdict = verdict_after(json, "[[[", "],")
    names = [json.automaton.name(state) for state in verdict.path]
    assert len(names) == 2


class Ladder:
    """A schema's engine in small: it says where it stands in its own words."""

    start = State(1)

    def step(self, state: State, byte: int) -> State:
        return State(state + 1) if state in (1, 2) and byte == ord("ab"[state - 1]) else DEAD

    def is_accepting(self, state: State) -> bool:
        return state == 3

    def name(self, state: State) -> str:
        return f"q{state}"

    def mask_key(self, state: State) -> int:
        return state

    def live_bytes(self, state: State) -> list[int]:
        return [byte for byte in range(256) if self.step(state, byte) != DEAD]

    def hold(self, state: State) -> object:
        return None

    def __contains__(self, state: object) -> bool:
        return state in (0, 1, 2, 3)

    nbytes = 0

    def open_rules(self, state: State) -> tuple[str, ...]:
        return ("root", "enum")

    def expected(self, state: State) -> Sequence[Any]:
        text = {1: '"a"', 2: '"b"'}.get(int(state))
        return [SchemaPiece(text)] if text else []


class SchemaPiece:
    rule, where = "enum", "at #/properties/kind/enum"

    def __init__(self, text: str) -> None:
        self.text = text


def test_an_engine_of_its_own_kind_says_where_in_its_own_words() -> None:
    vocabulary = md.Vocabulary.from_tokens(["a", "b", "</s>"], eos=2)

    class Index:
        form, nbytes = "test", 0
        is_alive: Callable[[Any, State], bool] = lambda self, state: state != DEAD

    constraint = md.Constraint("schema", vocabulary, Ladder(), Index())  # type: ignore[arg-type]
    verdict = explain_at(constraint, State(1), 1)
    assert verdict.sentence == (
        "`b` dies at byte 1 of 1: in enum (at #/properties/kind/enum) only `a` may follow."
    )
    assert shortest_completion(constraint, State(1)) == b"ab"


def test_under_a_schema_a_blocked_token_names_its_place_too() -> None:
    tokens = [*map(chr, range(32, 127)), "</s>"]
    vocabulary = md.Vocabulary.from_tokens(tokens, eos="</s>")
    schema = {
        "type": "object",
        "properties": {"kind": {"enum": ["tea", "coffee"]}},
        "required": ["kind"],
        "additionalProperties": False,
    }
    constraint = md.compile_json_schema(schema, vocabulary)
    verdict = verdict_after(constraint, '{"', "x")
    assert verdict.kind is Kind.DEAD_AT_BYTE
    assert 'only `kind"` may follow' in verdict.sentence
    assert "()" not in verdict_after(constraint, '{"kind": "', "x").sentence
    early = verdict_after(constraint, '{"kind": "', "</s>")
    matcher = constraint.matcher()
    assert matcher.accept_string(b'{"kind": "' + early.completion)
    assert matcher.is_accepting


REQUIRED_NAMES = [
    ({"type": "object", "required": ["name"]}, '{"name":0}'),
    ({"type": "object", "required": ["alpha", "beta", "gamma"]}, '{"alpha":0,"beta":0,"gamma":0}'),
    ({"type": "object", "patternProperties": {"^n": {"type": "string"}}, "required": ["n"]}, '{"n":""}'),
    ({"required": ["a"], "properties": {"a": {"type": "object", "required": ["zz"]}}, "type": "object"}, '{"a":{"zz":0}}'),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "shortest"), REQUIRED_NAMES)
def test_a_required_name_that_is_not_among_the_properties_is_found_inside_a_free_name(
    schema: dict[str, object], shortest: str
) -> None:
    """Of many letters one was tried, so that no name was found but those of the letter `a`."""
    tokens = [*(bytes([byte]) for byte in range(256)), "</s>"]
    constraint = md.compile_json_schema(schema, md.Vocabulary.from_tokens(tokens, eos="</s>"))
    for text in ("", "{", '{"', '{"x', '{"n', '{"other": "y", "q', *(shortest[:cut] for cut in range(9))):
        matcher = constraint.matcher()
        if not matcher.accept_string(text):
            continue
        completion = shortest_completion(constraint, matcher.state)
        assert matcher.accept_string(completion)
        assert matcher.is_accepting
        if shortest.startswith(text):
            assert text + completion.decode() == shortest


def test_twenty_required_members_are_completed() -> None:
    names = [f"property{number}" for number in range(20)]
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": names}
    tokens = [*map(chr, range(32, 127)), "</s>"]
    constraint = md.compile_json_schema(schema, md.Vocabulary.from_tokens(tokens, eos="</s>"))
    completion = shortest_completion(constraint, constraint.automaton.start)
    assert completion.decode() == "{" + ",".join(f'"{name}":""' for name in names) + "}"


def test_among_a_thousand_long_words_one_is_found() -> None:
    """Too many to try every letter: of the letters one is tried."""
    words = "|".join(
        f'"{"".join(chr(97 + number * k % 26) for k in (1, 3, 7, 5, 9))}{number:024}"'
        for number in range(1_000)
    )
    tokens = [*map(chr, range(32, 127)), "</s>"]
    constraint = md.compile_grammar(
        f"root ::= [(] root [)] | {words}", md.Vocabulary.from_tokens(tokens, eos="</s>")
    )
    matcher = constraint.matcher()
    assert matcher.accept_string(shortest_completion(constraint, matcher.state))
    assert matcher.is_accepting


# -- neighbours -------------------------------------------------------------------------------------


def test_the_nearest_legal_tokens_share_the_longest_prefix() -> None:
    tokens = ["</s>", "cat", "car", "ca", "c", "card", "dog", "cards", "<pad>", "r", "d"]
    vocabulary = md.Vocabulary.from_tokens(tokens, eos=0, special=["<pad>"])
    matcher = md.compile_regex("c|card|dog", vocabulary).matcher()
    assert [tuple(near) for near in nearest_allowed(matcher, 7)] == [(5, 4), (2, 3), (3, 2), (4, 1)]
    assert [tuple(near) for near in nearest_allowed(matcher, 1, limit=2)] == [(3, 2), (2, 2)]
    assert nearest_allowed(matcher, 6)[0] == (6, 3), "a legal token is nearest to itself"
    assert nearest_allowed(matcher, 8) == nearest_allowed(matcher, 0) == []
    for wrong in (99, -1, "a"):
        with pytest.raises(md.UsageError):
            nearest_allowed(matcher, wrong)  # type: ignore[arg-type]
    with pytest.raises(md.UsageError, match="limit=0"):
        nearest_allowed(matcher, 1, limit=0)


@settings(max_examples=150)
@given(patterns(), vocabularies(), st.integers(0, 12))
def test_neighbours_are_what_comparing_all_tokens_gives(
    pattern: str, vocabulary: md.Vocabulary, token_id: int
) -> None:
    try:
        matcher = md.compile_regex(pattern, vocabulary).matcher()
    except UnsatisfiableConstraintError:
        return
    token_id %= len(vocabulary)
    tokens, mine = vocabulary.token_bytes, vocabulary.token_bytes[token_id]

    def shared(other: bytes) -> int:
        return next(
            (i for i, (a, b) in enumerate(zip(mine, other, strict=False)) if a != b),
            min(len(mine), len(other)),
        )

    legal = [(i, shared(tokens[i])) for i in matcher.allowed_token_ids().tolist()]
    wanted = sorted((p for p in legal if p[1]), key=lambda p: (-p[1], len(tokens[p[0]]), p[0]))
    assert [tuple(near) for near in nearest_allowed(matcher, token_id, limit=99)] == wanted


def test_a_recorder_and_explain_tell_the_same(json: md.Constraint) -> None:
    recorder, explainer = TraceRecorder(json.vocabulary, json, ""), Explainer(json)
    sampling = md.Sampling(seed=3)
    for step in md.stream(
        UniformModel(len(json.vocabulary)), [], constraint=json, sampling=sampling, max_tokens=20
    ):
        recorder.add(step)
        for candidate in recorder.steps[-1].candidates:
            verdict = explain_drawn(step, candidate.token_id, json.vocabulary, explainer)
            assert (verdict.kind.name, verdict.sentence) == (candidate.verdict, candidate.why)
