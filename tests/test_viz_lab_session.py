"""The kernel's side of the lab, message by message; `md.generate` and brute force are the oracles."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minidecoder as md
from minidecoder.cli.bench_lab import measure_lab, render_lab
from minidecoder.cli.main import main
from minidecoder.decoding.request import prepare
from minidecoder.decoding.rewindable import Rewindable
from minidecoder.decoding.sampling import Sampler
from minidecoder.errors import MissingDependencyError, ModelError, UsageError
from minidecoder.lens.labels import show_token
from minidecoder.lens.trace import Trace
from minidecoder.models import CausalLM
from minidecoder.viz import lab_opening, lab_run, lab_sources
from minidecoder.viz.lab_find import FILTERS
from minidecoder.viz.lab_form import ORDER, Form, read_form, span_of
from minidecoder.viz.lab_gallery import gallery
from minidecoder.viz.lab_run import LiveRun
from minidecoder.viz.lab_session import LabSession
from minidecoder.viz.lab_sources import SOURCES, Loaded, Source

LATE_MASK = ["temperature", "top_k", "top_p", "min_p", "mask"]
EXPLODES = "(a|b)*a(a|b){18}"


def opened(session: LabSession, **form: Any) -> dict[str, Any]:
    return wait(session, {"do": "open", "form": form})


def wait(session: LabSession, message: Mapping[str, Any]) -> dict[str, Any]:
    answer = session.handle(message)
    while "busy" in answer:
        time.sleep(0.01)
        answer = session.handle({"do": "poll"})
    json.dumps(answer, allow_nan=False)
    return answer


def act(session: LabSession, do: str, **message: Any) -> dict[str, Any]:
    answer = session.handle({"do": do, **message})
    json.dumps(answer, allow_nan=False)
    return answer


def failed(answer: dict[str, Any]) -> dict[str, Any]:
    assert set(answer) == {"error"}, answer
    assert set(answer["error"]) == {"message", "where", "field"}
    assert "\n" not in answer["error"]["message"]
    error: dict[str, Any] = answer["error"]
    return error


class Page:
    """What a page knows: it puts updates to the recording that it was given, and no more."""

    def __init__(self, session: LabSession, **form: Any) -> None:
        self.session = session
        self.answer = opened(session, **form)
        assert self.answer.get("opened"), self.answer
        self.runs = self.answer["runs"]

    def do(self, do: str, **message: Any) -> list[dict[str, Any]]:
        updates: list[dict[str, Any]] = act(self.session, do, **message)["updates"]
        for update in updates:
            run = self.runs[update["run"]]
            trace, first = run["recording"]["trace"], update["from"]
            trace["steps"][first:] = update["steps"]
            run["recording"]["shown"][first:] = update["shown"]
            run["left"][first:] = update["left"]
            for name in ("text", "is_complete", "finish_reason"):
                trace[name] = update[name]
            run["over"], run["stuck"] = update["over"], update["stuck"]
            if "svg" in update:
                run["recording"]["svg"] = update["svg"]
        return updates

    def ids(self, run: int = 0) -> list[int]:
        return [step["token_id"] for step in self.runs[run]["recording"]["trace"]["steps"]]

    def finish(self) -> list[int]:
        while self.do("step"):
            pass
        return self.ids()

    def check(self) -> None:
        """That the recordings are traces, and parts agree."""
        for run in self.runs:
            recording, steps = run["recording"], run["recording"]["trace"]["steps"]
            Trace.from_json(json.dumps(recording["trace"]))
            assert len(recording["shown"]) == len(steps)
            assert len(run["left"]) == len(steps) + bool(run["stuck"])
            for step, places in zip(steps, recording["shown"], strict=True):
                ids = step["candidates"]["token_id"]
                assert step["token_id"] in [ids[place] for place in places]
                for state in (step["state"], step["state_after"]) if recording["svg"] else ():
                    assert f'"state-{state}"' in recording["svg"]


@pytest.fixture
def session() -> LabSession:
    return LabSession()


# -- hello ------------------------------------------------------------------------------------------


def test_hello_offers_sources_a_gallery_and_the_form_to_begin_with(session: LabSession) -> None:
    hello = act(session, "hello")
    assert [source["name"] for source in hello["sources"]] == ["nine", "pieces", "tekken", "smollm2"]
    assert all(set(source) == {"name", "title", "note", "missing"} for source in hello["sources"])
    assert hello["sources"][0]["missing"] == hello["sources"][1]["missing"] == ""
    names = [example["name"] for example in hello["gallery"]]
    assert names == ["price", "age", "phone", "date", "email", "label", "review", "nested", "sql"]
    assert all(set(e) == {"name", "title", "kind", "text", "prompt", "sources", "max_tokens"} for e in hello["gallery"])  # fmt: skip
    assert hello["form"] == Form().plain()
    assert read_form(hello["form"]) == Form()


def test_a_form_given_at_the_start_is_what_the_page_opens_with() -> None:
    assert act(LabSession({"seed": 7}), "hello")["form"]["seed"] == 7
    for wrong in ({"sed": 7}, {"seed": "7"}):
        with pytest.raises(UsageError):
            LabSession(wrong)


def test_the_picture_without_a_page_shows_the_runs(session: LabSession) -> None:
    svg, text = session.still()
    assert svg.startswith("<svg")
    assert "JupyterLab" in text
    opened(session, beside="free")
    svg, text = session.still()
    assert svg.startswith("<svg")
    assert "12" in text


@pytest.mark.parametrize("name", ["nine", "pieces"])
@pytest.mark.parametrize("example", gallery(), ids=lambda example: example.name)
def test_an_example_runs_to_a_whole_match_or_to_max_tokens(
    example: Any, name: str, session: LabSession
) -> None:
    if name not in example.sources:
        return
    run_example(session, example, name)


@pytest.mark.parametrize("example", gallery(), ids=lambda example: example.name)
def test_an_example_runs_on_tekken(example: Any, session: LabSession) -> None:
    needs("tekken")
    if "tekken" in example.sources:
        run_example(session, example, "tekken")


def needs(name: str) -> None:
    if SOURCES[name].missing:
        import os

        assert os.environ.get("MINIDECODER_REQUIRE_ALL") != "1", SOURCES[name].missing
        pytest.skip(SOURCES[name].missing)


def run_example(session: LabSession, example: Any, source: str) -> None:
    form = {key: getattr(example, key) for key in ("kind", "text", "prompt")}
    most = min(example.max_tokens, 40)
    page = Page(session, source=source, **form, max_tokens=most)
    page.finish()
    (run,) = page.runs
    trace = run["recording"]["trace"]
    assert run["over"]
    assert run["stuck"] == ""
    assert trace["finish_reason"] == "length" or trace["is_complete"]
    assert len(trace["steps"]) == most or trace["steps"][-1]["is_eos"]
    page.check()


def test_the_nine_tokens_show_what_the_lesson_asks_for(session: LabSession) -> None:
    """The model's favourite after 12.5 is 50, and the mask says why it is blocked."""
    page = Page(session)
    page.do("take", run=0, at=0, token=2)
    page.do("take", run=0, at=1, token=4)
    step = page.runs[0]["recording"]["trace"]["steps"][2]
    assert step["favourite"] == 5
    assert step["favourite_blocked"]
    why = step["candidates"]["why"][step["candidates"]["token_id"].index(5)]
    assert why == "`50` dies at byte 2 of 2: `5` moves s3 → s4, where only the end may follow."


# -- runs -------------------------------------------------------------------------------------------

FORMS: list[dict[str, Any]] = [
    {},
    {"temperature": 0.0},
    {"temperature": 3.0, "top_k": 4, "min_p": 0.05},
    {"kind": "free", "max_tokens": 6},
    {"source": "pieces", "kind": "regex", "text": "[a-z]{2,5}|é+", "top_p": 0.9},
    {"source": "pieces", "kind": "schema", "text": '{"enum": [[1, 2], "é", null]}', "prompt": "The tea: "},
    {"source": "pieces", "kind": "grammar", "text": 'root ::= "(" root? ")"', "max_tokens": 9},
]


@pytest.mark.parametrize("form", FORMS, ids=range(len(FORMS)))
def test_stepped_to_its_end_a_run_is_what_generate_gives(form: dict[str, Any]) -> None:
    for seed in range(6):
        page = Page(LabSession(), **form, seed=seed)
        page.finish()
        page.check()
        wanted = generated(read_form({**form, "seed": seed}))
        trace = page.runs[0]["recording"]["trace"]
        assert page.ids() == wanted.token_ids
        assert (trace["text"], trace["is_complete"], trace["finish_reason"]) == (
            wanted.text,
            wanted.is_complete,
            wanted.finish_reason,
        )
        assert trace["steps"] == json.loads(wanted.trace.to_json())["steps"]


def generated(form: Form) -> md.Run:
    loaded = SOURCES[form.source].load()
    return md.generate(
        loaded.model(),
        form.prompt,
        constraint=lab_opening._compile(form, loaded),
        vocabulary=loaded.vocabulary,
        sampling=form.sampling,
        max_tokens=form.max_tokens,
    )


moves = st.lists(
    st.one_of(
        st.just(("step", 0, 0)),
        st.tuples(st.just("back"), st.integers(0, 8), st.just(0)),
        st.tuples(st.just("take"), st.integers(0, 8), st.integers(0, 8)),
    ),
    max_size=15,
)


@given(moves, st.integers(0, 4), st.permutations(ORDER), st.sampled_from([1.0, 0.6, 0.3]))
@settings(max_examples=40)
def test_whatever_was_clicked_the_page_shows_what_a_fresh_run_of_the_same_tokens_is(
    moves: list[tuple[str, int, int]], seed: int, order: list[str], top_p: float
) -> None:
    form = {"seed": seed, "order": order, "top_p": top_p}
    page, hands, committed = Page(LabSession(), **form), dict[int, int](), 0
    for do, at, token in moves:
        if do == "step":
            committed += bool(page.do("step")) and committed < len(page.ids())
        elif do == "back":
            if at <= committed:
                page.do("back", at=at)
                committed = at
                hands = {place: hand for place, hand in hands.items() if place < at}
            else:
                assert failed(act(page.session, "back", at=at))["field"] == "at"
        elif "error" not in (answer := act(page.session, "take", run=0, at=at, token=token)):
            first = answer["updates"][0]["from"]
            assert first == at <= committed
            page.do("back", at=at)
            page.do("take", run=0, at=at, token=token)
            hands = {place: hand for place, hand in hands.items() if place < at} | {at: token}
            committed = at + 1
    page.check()
    assert replayed(read_form(form), hands, committed) == (page.ids(), bool(page.runs[0]["stuck"]))


def replayed(form: Form, hands: dict[int, int], committed: int) -> tuple[list[int], bool]:
    """The ids of a run that never went back: those that were taken, and the next if there is one."""
    loaded = SOURCES[form.source].load()
    constraint = lab_opening._compile(form, loaded)
    model = loaded.model()
    request = prepare(model, form.prompt, constraint=constraint, sampling=form.sampling, max_tokens=form.max_tokens)  # fmt: skip
    run = Rewindable(model, replace(request, sampler=Sampler(form.sampling, form.order)))
    for at in range(committed):
        run.take(hands[at]) if at in hands else run.step()
    try:
        if not run.is_over:
            run.step()
    except md.EmptyMaskError:
        return [step.token_id for step in run.steps], True
    return [step.token_id for step in run.steps], False


def test_going_back_to_a_token_taken_by_hand_shows_what_was_drawn_there_first(session: LabSession) -> None:
    page = Page(session)
    drawn = page.finish()
    page.do("take", run=0, at=1, token=5)
    assert page.ids()[:2] == [drawn[0], 5]
    page.do("back", at=1)
    assert page.finish() == drawn


def test_a_blocked_token_is_refused_with_its_sentence_and_nothing_moves(session: LabSession) -> None:
    page = Page(session)
    page.do("take", run=0, at=0, token=2)
    page.do("take", run=0, at=1, token=4)
    before = json.dumps(session.runs[0].described())
    error = failed(act(session, "take", run=0, at=2, token=5))
    assert error["field"] == "token"
    assert error["message"] == "`50` dies at byte 2 of 2: `5` moves s3 → s4, where only the end may follow."
    assert failed(act(session, "take", run=0, at=0, token=0))["message"].startswith(
        "`■ </s>` comes too early"
    )
    for token in (-1, 9, 10**30, 1.5, "5", None, True):
        assert failed(act(session, "take", run=0, at=0, token=token))["field"] == "token"
    assert json.dumps(session.runs[0].described()) == before


def test_top_p_before_the_mask_leaves_nothing_and_the_counts_say_where(session: LabSession) -> None:
    page = Page(session, order=LATE_MASK, top_p=0.4, text="(0|1)+")
    page.do("take", run=0, at=0, token=1)
    (run,) = page.runs
    while not run["stuck"]:
        assert page.do("step")
    page.check()
    assert run["stuck"].startswith("after the step 'mask' no token is left to draw: the mask allows 3")
    counts = run["left"][-1]
    assert [name for name, _ in counts] == ["logits", *LATE_MASK]
    assert counts[-1][1] == 0
    assert all(count > 0 for _, count in counts[:-1])
    assert not run["over"]
    at = len(page.ids())
    found = act(session, "find", run=0, at=at, query="", filter="allowed")
    assert found["total"] == 3
    assert set(found["candidates"]["verdict"]) == {"CUT_BY_SAMPLING"}
    assert set(found["candidates"]["drawn"]) == {0.0}
    assert page.do("step") == []
    page.do("take", run=0, at=at, token=found["candidates"]["token_id"][0])
    assert len(page.ids()) > at
    page.check()


def test_counts_are_of_each_step_in_its_order(session: LabSession) -> None:
    order = ["top_k", "mask", "temperature", "min_p", "top_p"]
    page = Page(session, order=order, top_k=5)
    page.finish()
    for step, counts in zip(page.runs[0]["recording"]["trace"]["steps"], page.runs[0]["left"], strict=False):
        if step["favourite"] is None:
            assert counts is None
            continue
        assert [name for name, _ in counts] == ["logits", *order]
        assert [count for _, count in counts[:2]] == [9, 5]


def test_zero_tokens_are_over_before_they_begin(session: LabSession) -> None:
    page = Page(session, max_tokens=0)
    assert page.runs[0]["over"]
    assert page.ids() == page.do("step") == []
    assert "error" in act(session, "find", run=0, at=0, query="")
    assert "error" in act(session, "take", run=0, at=0, token=1)


def test_two_runs_stand_side_by_side_and_go_together(session: LabSession) -> None:
    page = Page(session, beside="free", max_tokens=8)
    page.finish()
    page.check()
    assert [run["title"] for run in page.runs] == ["A: free", r"B: [0-9]+\.[0-9]{2}"]
    assert page.ids(0) == generated(Form(kind="free", max_tokens=8)).token_ids
    assert page.ids(1) == generated(Form(max_tokens=8)).token_ids
    updates = page.do("back", at=2)
    assert [update["run"] for update in updates] == [0, 1]
    (update,) = page.do("take", run=1, at=1, token=3)
    assert update["run"] == 1
    page.finish()
    page.check()


def test_another_order_stands_beside_the_usual_one(session: LabSession) -> None:
    page = Page(session, beside="usual order", order=LATE_MASK, top_p=0.5)
    page.finish()
    page.check()
    assert [run["title"] for run in page.runs] == ["A: usual order", "B: this order"]
    assert page.ids(0) == generated(Form(top_p=0.5)).token_ids
    assert page.runs[0]["over"]


def test_a_kept_run_stands_fixed_beside_each_new_one(session: LabSession) -> None:
    assert failed(opened(session, beside="kept"))["field"] == "beside"
    page = Page(session, seed=3)
    page.do("step")
    page.do("step")
    kept = page.ids()[:2]
    assert act(session, "keep") == {"kept": True, "title": r"A: [0-9]+\.[0-9]{2}"}
    page.finish()
    for seed in (4, 5):
        page = Page(session, beside="kept", seed=seed, source="pieces")
        page.finish()
        page.check()
        assert [run["fixed"] for run in page.runs] == [True, False]
        assert page.ids(0) == kept
        assert page.ids(1) == generated(Form(source="pieces", seed=seed)).token_ids
        assert act(session, "find", run=0, at=1, query=".5")["candidates"]["label"] == [".5"]
        assert failed(act(session, "take", run=0, at=0, token=2))["field"] == "run"
    assert act(session, "keep")["kept"]
    page = Page(session, beside="kept", seed=4)
    assert page.ids(0) == generated(Form(source="pieces", seed=5)).token_ids


# -- looking up -------------------------------------------------------------------------------------

QUERIES = ["", "a", ".5", " ", "␣", "\n", "the", "THE", "é", "#50", "#768", r"\xC3", "⟨C3⟩", r"\xC3\xA9", "no such", "<|end|>", r"\x41", "\\", "#"]  # fmt: skip


@pytest.mark.parametrize("filter_", FILTERS)
@pytest.mark.parametrize("query", QUERIES)
def test_a_lookup_is_what_a_search_of_all_tokens_finds(query: str, filter_: str) -> None:
    session = LabSession()
    Page(session, source="pieces", text="(é|a|the){1,3}")
    answer = act(session, "find", run=0, at=0, query=query, filter=filter_, limit=500)
    run = session.runs[0]
    vocabulary, step = run.loaded.vocabulary, run.rewindable.look(0)
    assert step.draw is not None
    allowed = set(run.constraint.matcher().allowed_token_ids().tolist())  # type: ignore[union-attr]
    wanted = {
        i for i in range(768) if named(vocabulary, i, query) and passes(vocabulary, i, filter_, allowed)
    }
    assert answer["total"] == len(wanted)
    columns = answer["candidates"]
    assert set(columns["token_id"]) <= wanted
    assert len(columns["token_id"]) == min(500, len(wanted))
    assert columns["allowed"] == [i in allowed for i in columns["token_id"]]
    assert columns["logit"] == [
        float(f"{x:.4g}") if np.isfinite(x := step.draw.before[i]) else None for i in columns["token_id"]
    ]
    assert all(columns["why"])
    exact = [i for i in wanted if show_token(vocabulary, i).removeprefix("■ ") == query.replace(" ", "␣")]
    assert set(columns["token_id"][: len(exact)]) == set(exact)


def named(vocabulary: Any, token_id: int, query: str) -> bool:
    if query.startswith("#") and query[1:].isdigit():
        return token_id == int(query[1:])
    bytes_ = {r"\xC3": b"\xc3", "⟨C3⟩": b"\xc3", r"\xC3\xA9": b"\xc3\xa9", r"\x41": b"A"}
    if query in bytes_ and bytes_[query] in vocabulary.token_bytes[token_id]:
        return True
    shown = {r"\x41": "a", " ": "␣", "\n": "⏎", r"\xC3": "⟨c3⟩", r"\xC3\xA9": "⟨c3⟩⟨a9⟩"}.get(query, query.lower())  # fmt: skip
    return shown in show_token(vocabulary, token_id).lower().removeprefix("■ ")


def passes(vocabulary: Any, token_id: int, filter_: str, allowed: set[int]) -> bool:
    data = vocabulary.token_bytes[token_id]
    cut = data.decode("utf-8", "ignore").encode() != data
    return {
        "any": True,
        "allowed": token_id in allowed,
        "blocked": token_id not in allowed,
        "part of a character": cut,
        "special": data == b"",
    }[filter_]


def test_what_is_looked_up_is_what_the_step_recorded(session: LabSession) -> None:
    page = Page(session, source="pieces", text="[a-z ]+", max_tokens=6, top_k=20, temperature=0.7)
    page.finish()
    for at, step in enumerate(page.runs[0]["recording"]["trace"]["steps"]):
        recorded = step["candidates"]
        for place, token_id in enumerate(recorded["token_id"]):
            found = act(session, "find", run=0, at=at, query=f"#{token_id}")["candidates"]
            assert found == {name: [column[place]] for name, column in recorded.items()}


def test_of_very_many_the_likeliest_come_first(session: LabSession) -> None:
    Page(session, source="pieces")
    found = act(session, "find", run=0, at=0, query="e", limit=7)
    assert len(found["candidates"]["token_id"]) == 7 < found["total"]
    assert found["candidates"]["label"][0] == "e"
    logits = found["candidates"]["logit"][1:]
    assert logits == sorted(logits, reverse=True)


# -- errors and their places ------------------------------------------------------------------------

PLACES: list[tuple[str, str, str, tuple[int, int] | None]] = [
    ("regex", "(1|2", "(", (0, 1)),
    ("regex", "😀(1", "(", (2, 3)),
    ("regex", "a)😀", ")", (1, 2)),
    ("regex", "1\\", "\\", (1, 2)),
    ("regex", "1(?<=a)b", "(", (1, 2)),
    ("regex", "(1)\\1", "\\", (3, 4)),
    ("regex", "[1", "[", (0, 1)),
    ("regex", "abc", "", None),
    ("schema", '{"type": }', "}", (9, 10)),
    ("schema", '{"a": "😀", }', "}", (12, 13)),
    ("schema", "\ufeff{}", "\ufeff", (0, 1)),
    ("schema", "", "", (0, 0)),
    ("schema", "{", "", (1, 1)),
    ("schema", '{"type": "strin"}', '"strin"', (9, 16)),
    ("schema", '{"é😀": 1, "properties": {"a~/b": {"type": ["x"]}}}', '["x"]', (43, 48)),
    ("schema", '{"properties": {"a": {"pattern": "(?<=a)b"}}}', '"(?<=a)b"', (33, 42)),
    ("schema", "[1]", "[1]", (0, 3)),
    ("schema", '{"enum": NaN}', '{"enum": NaN}', (0, 13)),
    ("schema", '{"minLength": 3, "maxLength": 2, "type": "string"}', "", None),
    ("grammar", 'root ::= "1\n', '"', (9, 10)),
    ("grammar", 'root ::= "1"\r\nx ::= "😀" )', ")", (25, 26)),
    ("grammar", "root ::= nothing", "nothing", (9, 16)),
    ("grammar", "", "", (0, 0)),
    ("grammar", 'root ::= "1" root', "", None),
]


@pytest.mark.parametrize(("kind", "text", "at", "where"), PLACES, ids=[case[1] for case in PLACES])
def test_an_error_shows_its_place_and_the_last_good_run_stays(
    kind: str, text: str, at: str, where: tuple[int, int] | None
) -> None:
    session = LabSession()
    page = Page(session, source="pieces", text="[0-9]+")
    error = failed(opened(session, source="nine" if text == "abc" else "pieces", kind=kind, text=text))
    assert error["field"] == "text"
    found = error["where"] and (error["where"]["start"], error["where"]["end"])
    assert found == where, error
    if where is not None:
        cut = text.encode("utf-16-le")[2 * where[0] : 2 * where[1]].decode("utf-16-le")
        assert cut == at
    page.finish()
    page.check()
    assert page.ids() == generated(Form(source="pieces", text="[0-9]+")).token_ids


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)  # fmt: skip


@given(json_values, st.sampled_from([None, 0, 3]), st.booleans())
def test_a_pointer_leads_to_the_text_of_its_value(value: Any, indent: int | None, is_ascii: bool) -> None:
    text = "\n " + json.dumps(value, indent=indent, ensure_ascii=is_ascii) + " "
    for pointer, part in pointers(value, ""):
        span = span_of(text, pointer)
        assert span is not None
        assert json.loads(text[slice(*span)]) == part


def pointers(value: Any, where: str) -> list[tuple[str, Any]]:
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    found = [(where, value)]
    for name, part in members:
        found += pointers(part, f"{where}/{str(name).replace('~', '~0').replace('/', '~1')}")
    return found


@given(st.text('[]{}",:0a\\ ', max_size=12), st.text("/0a~1", max_size=6))
def test_a_pointer_into_anything_is_a_span_or_none(text: str, pointer: str) -> None:
    span = span_of(text, pointer)
    assert span is None or 0 <= span[0] <= span[1] <= len(text)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("source", ["ten", "", None, 3, ["nine"], {}]),
        ("kind", ["regexp", None, 1]),
        ("beside", ["", True]),
        ("text", [None, 3, ["a"], "a\ud800"]),
        ("prompt", [None, 3, "\udfff"]),
        ("temperature", [-1, "1", None, float("nan"), float("inf"), True, 10**400, [1]]),
        ("top_p", [0, 0.0, -0.1, 1.1, float("nan"), "x"]),
        ("min_p", [-0.1, 1.1, float("nan"), None]),
        ("top_k", [-1, 1.5, "3", None, True, 10**400, float("nan"), float("inf"), 1e300]),
        ("seed", [-1, 1.5, None, "x", 10**30]),
        ("max_tokens", [-1, 1.5, 10**6, None, "x"]),
        ("order", [None, [], "mask", ["mask"] * 5, [*ORDER, "mask"], [*ORDER[:-1], "bias"], [1, 2, 3, 4, 5], [["mask"]] * 5, {}]),
        ("colour", ["red"]),
    ],
)  # fmt: skip
def test_a_field_that_means_nothing_is_named(field: str, values: list[Any], session: LabSession) -> None:
    for value in values:
        error = failed(opened(session, **{field: value}))
        assert error["field"] == ("form" if field == "colour" else field)
        assert field in error["message"]
    assert session.runs == []


def test_half_a_character_is_shown_where_it_stands(session: LabSession) -> None:
    assert failed(opened(session, text="😀a\ud800"))["where"] == {"start": 3, "end": 4}
    assert failed(opened(session, prompt="\ud800"))["where"] is None


garbage = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
names = st.sampled_from(["do", "form", "run", "at", "token", "query", "filter", "limit", "id", "tokens"])
acts = st.sampled_from(["hello", "open", "poll", "stop", "step", "take", "back", "keep", "find"])


@given(st.lists(garbage | st.dictionaries(names, garbage | acts | st.integers(-1, 9), max_size=5) | st.builds(lambda do, rest: {**rest, "do": do}, acts, st.dictionaries(names, garbage | st.integers(-1, 9), max_size=4)), max_size=6))  # fmt: skip
@settings(max_examples=50)
def test_no_message_raises_and_the_session_stays_usable(messages: list[Any]) -> None:
    session = LabSession()
    assert "opened" in opened(session)
    for message in messages:
        answer = session.handle(message)
        json.dumps(answer, allow_nan=False)
        assert answer
        assert "unexpected" not in str(answer.get("error", ""))
    page = Page(session)
    assert page.finish() == generated(Form()).token_ids


def test_without_an_open_run_there_is_nothing_to_move(session: LabSession) -> None:
    for do in ("step", "take", "back", "keep", "find", "poll"):
        assert "error" in act(session, do, run=0, at=0, token=0, query="")
    assert act(session, "stop") == {"stopped": "nothing was under way"}


def test_an_error_that_nobody_foresaw_is_told_and_the_session_goes_on(
    session: LabSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page(session)

    def fault(*_: Any, **__: Any) -> None:
        raise ValueError("a bad thing\nand its tail")

    with monkeypatch.context() as patch:
        patch.setattr(lab_opening, "_compile", fault)
        assert failed(opened(session))["message"] == "unexpected ValueError: a bad thing"
    with monkeypatch.context() as patch:
        patch.setattr(LiveRun, "step", fault)
        assert failed(act(session, "step"))["message"] == "unexpected ValueError: a bad thing"
    page.finish()
    page.check()


def test_a_model_that_fails_in_mid_run_leaves_it_stuck_and_going_back_helps(session: LabSession) -> None:
    page = Page(session)
    model = session.runs[0].rewindable._rows.model
    rows = session.runs[0].rewindable._rows

    class Fails:
        def next_logits(self, token_ids: Any) -> Any:
            raise RuntimeError("out of memory")

    rows.model = Fails()
    page.do("step")
    assert page.runs[0]["stuck"] == "unexpected RuntimeError: out of memory"
    assert page.runs[0]["left"][-1] is None
    rows.model = model
    page.do("back", at=0)
    page.finish()
    page.check()
    assert page.ids() == generated(Form()).token_ids


# -- what takes long --------------------------------------------------------------------------------


def test_a_compile_that_explodes_can_be_stopped_and_is_never_shown(session: LabSession) -> None:
    page = Page(session, source="pieces", text="[0-9]+")
    answer = session.handle({"do": "open", "form": {"source": "pieces", "text": EXPLODES}})
    assert answer["busy"] == "compiling …"
    assert session.handle({"do": "poll"})["seconds"] >= 0
    assert page.do("step"), "the last good run can be stepped meanwhile"
    assert act(session, "stop") == {"stopped": "compiling was stopped; the last machine stays"}
    assert "error" in act(session, "poll")
    page.finish()
    assert page.ids() == generated(Form(source="pieces", text="[0-9]+")).token_ids
    page = Page(session, source="pieces", text="a")
    assert page.runs[0]["recording"]["trace"]["pattern"] == "a"


def test_a_new_form_takes_the_place_of_one_that_is_still_compiling(session: LabSession) -> None:
    assert "busy" in session.handle({"do": "open", "form": {"source": "pieces", "text": EXPLODES}})
    assert opened(session, text="1+")["form"]["text"] == "1+"
    assert session.form.text == "1+"


def test_a_limit_is_an_error_of_the_text(session: LabSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab_opening, "TIMEOUT_S", 0.2)
    error = failed(opened(session, source="pieces", text=EXPLODES))
    assert error["field"] == "text"
    assert "timeout_s" in error["message"]
    assert error["where"] is None


def slow_source(monkeypatch: pytest.MonkeyPatch, load: Any) -> None:
    slow = Source("nine", "slow", "", load)
    monkeypatch.setattr(lab_sources, "SOURCES", {**SOURCES, "nine": slow})
    monkeypatch.setattr(lab_opening, "SOURCES", {**SOURCES, "nine": slow})


def test_a_load_that_is_stopped_goes_on_and_is_kept_for_later(
    session: LabSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = []

    def load(say: Any) -> Loaded:
        say("loading something large")
        loads.append(1)
        time.sleep(0.3)
        return SOURCES["nine"].load()

    slow_source(monkeypatch, load)
    assert session.handle({"do": "open", "form": {}})["busy"] == "loading something large …"
    assert "is kept for later" in act(session, "stop")["stopped"]
    assert session.runs == []
    assert "opened" in opened(session)
    assert loads == [1]


@pytest.mark.parametrize(
    "fault", [MissingDependencyError("torch", "models"), ModelError("SmolLM2 is not installed")]
)
def test_a_source_that_cannot_be_loaded_is_an_error_of_its_field_and_may_be_tried_again(
    fault: Exception, session: LabSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = [fault]

    def load(say: Any) -> Loaded:
        if faults:
            raise faults.pop()
        return SOURCES["nine"].load()

    slow_source(monkeypatch, load)
    error = failed(opened(session))
    assert (error["field"], error["message"]) == ("source", str(fault))
    assert "opened" in opened(session)


def test_a_prompt_that_nine_tokens_cannot_spell_is_not_read_and_that_is_said(session: LabSession) -> None:
    answer = opened(session, prompt="The price is ")
    assert "cannot spell the prompt" in answer["note"]
    assert answer["runs"][0]["recording"]["trace"]["prompt"] == ""
    assert opened(session, prompt="12 .5")["note"] == ""


def test_tokens_that_were_taken_before_are_taken_again_as_far_as_they_may(session: LabSession) -> None:
    """As a page does whose kernel was started anew."""
    page = Page(session)
    page.do("take", run=0, at=0, token=1)
    page.do("take", run=0, at=1, token=4)
    page.do("step")
    ids = page.ids()
    again = wait(LabSession(), {"do": "open", "form": {}, "tokens": ids[:3]})
    steps = again["runs"][0]["recording"]["trace"]["steps"]
    assert [step["token_id"] for step in steps] == ids
    assert again["at"] == 3
    cut = wait(LabSession(), {"do": "open", "form": {}, "tokens": [1, 4, 5, 5]})
    assert cut["at"] == 2
    for wrong in ("12", [None], [1.5], {}):
        assert failed(wait(LabSession(), {"do": "open", "form": {}, "tokens": wrong}))["field"] == "tokens"


def test_a_drawing_is_sent_again_only_where_a_state_is_missing_in_it(session: LabSession) -> None:
    page = Page(session, source="pieces", text="(ab?c?d?e?f?){1,30}0", max_tokens=40, kind="regex")
    sent = 0
    while updates := page.do("step"):
        sent += "svg" in updates[0]
        page.check()
    assert 0 < sent < len(page.ids()) / 2
    page = Page(session)
    page.finish()
    page.check()


def test_the_drawing_of_a_long_run_does_not_grow_and_shows_where_it_is(session: LabSession) -> None:
    opened(session, source="pieces", text="[a-z ]{400,}", kind="regex", max_tokens=60)
    drawn: list[int] = []
    for _ in range(40):
        act(session, "step")
        svg, step = session.runs[0]._drawing, session.runs[0].recorder.steps[-1]
        assert f'"state-{step.state}"' in svg
        drawn.append(len(re.findall('id="state-', svg)))
    assert len({m.state for s in session.runs[0].recorder.steps for m in s.path}) > 100
    assert max(drawn) < 90


def test_smollm2_runs_side_by_side_as_alone(smollm2: CausalLM, session: LabSession, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    loaded = Loaded(smollm2.vocabulary, lambda: CausalLM(smollm2.model, smollm2.tokenizer))
    monkeypatch.setattr(SOURCES["smollm2"], "_loaded", loaded)
    form = {"source": "smollm2", "prompt": "The price is ", "max_tokens": 6, "seed": 2, "temperature": 0.7}
    page = Page(session, **form, beside="free")
    page.finish()
    page.check()
    assert page.ids(0) == generated(read_form({**form, "kind": "free"})).token_ids
    assert page.ids(1) == generated(read_form(form)).token_ids
    models = {id(run.rewindable._rows.model) for run in session.runs}
    assert len(models) == 2
    page.do("take", run=1, at=1, token=act(session, "find", run=1, at=1, query="", filter="allowed")["candidates"]["token_id"][3])  # fmt: skip
    page.finish()
    page.check()


# -- the benchmark of it ----------------------------------------------------------------------------


def test_the_benchmark_clicks_through_every_example_and_prints_a_line_a_kind() -> None:
    clicks = measure_lab("nine", runs=1)
    assert set(clicks) == {"open", "step", "take", "back", "find"}
    assert len(clicks["open"]) == 2
    assert all(seconds > 0 and size > 0 for seen in clicks.values() for seconds, size in seen)
    table = render_lab(clicks).splitlines()
    assert [line.split()[0] for line in table[1:]] == list(clicks)


def test_the_benchmark_says_what_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(SOURCES["tekken"], "_missing", lambda: "pip install 'minidecoder[peers]'")
    assert main(["bench", "--family", "lab", "--runs", "1"]) == 0
    out = capsys.readouterr().out
    assert "not measured: pip install 'minidecoder[peers]'" in out
    assert "to be answered within 100 ms" in out


@pytest.mark.parametrize(
    "option", [["--cases", "price"], ["--engines", "minidecoder"], ["--limit", "3"], ["--memory", "1"], ["--json", "x"], ["--runs", "0"]]
)  # fmt: skip
def test_an_option_that_means_nothing_for_the_lab_is_refused(
    option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "--family", "lab", *option]) == 2
    assert option[0] in capsys.readouterr().err


def test_one_line_of_an_error_is_kept() -> None:
    assert lab_run.one_line(ValueError()) == "ValueError"
