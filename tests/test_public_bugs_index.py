"""Bugs that users of other decoders reported about vocabularies, indexes, masks and matchers.

Each test names the report it was distilled from. Masks are compared id for id after given tokens;
what was reported as too slow or too large is counted in nodes, entries and bytes, never timed.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tracemalloc
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minidecoder as md
from minidecoder.decoding import constraint as compiled
from minidecoder.tokens import bitmask
from minidecoder.tokens.cache import ByteLimitedCache
from minidecoder.tokens.sweep import SweepIndex
from tests.optional import need

ROOT = Path(__file__).resolve().parents[1]
BYTES = md.Vocabulary.from_tokens([*(bytes([byte]) for byte in range(256)), "</s>"], eos=256)
EOS = None  # stands for an EOS token in the lists below


def ids(matcher: md.Matcher) -> list[int]:
    return matcher.allowed_token_ids().tolist()


@dataclass(frozen=True)
class Report:
    """`tokens` by id; `masks`: after these tokens exactly these ids; whole strings that (do not) match."""

    source: str
    why: str
    pattern: str
    tokens: tuple[str | bytes | None, ...]
    masks: dict[tuple[int, ...], list[int]]
    accepts: tuple[str, ...] = ()
    rejects: tuple[str, ...] = ()
    special: tuple[int, ...] = ()
    width: int | None = None
    eos_text: str = "<end>"

    @property
    def vocabulary(self) -> md.Vocabulary:
        ends = [i for i, token in enumerate(self.tokens) if token is EOS]
        texts = [self.eos_text if token is EOS else token for token in self.tokens]
        return md.Vocabulary.from_tokens(texts, eos=ends, special=self.special, width=self.width)


REPORTS = [
    Report("mlc-ai/xgrammar#473", "tokens that close a string and go on", r'\{"a":"[a-z]*"\}',
           ('{"a":"', "x", '"}', '"', "}", 'x"}', '"]', EOS),
           {(): [0], (0,): [1, 2, 3, 5], (0, 1): [1, 2, 3, 5], (0, 3): [4], (0, 5): [7], (0, 3, 4): [7]},
           ('{"a":"x"}', '{"a":""}'), ('{"a":"x"]', '{"a":"x"', "")),
    Report("mlc-ai/xgrammar#904", "a negated class takes a character, not a byte", '[^"]',
           (b"\xc3", b"\xa9", "a", '"', "é", "éa", EOS), {(): [0, 2, 4], (0,): [1], (0, 1): [6], (4,): [6]},
           ("a", "é"), ('"', "éa", "")),
    Report("mlc-ai/xgrammar#776", "two ids with the same bytes", "ab",
           ("a", "a", "b", EOS), {(): [0, 1], (0,): [2], (1,): [2], (1, 2): [3]}, ("ab",), ("a", "aab")),
    Report("dottxt-ai/outlines#605", "a token without bytes would loop for ever", "a+",
           ("a", "", EOS, b""), {(): [0], (0,): [0, 2], (0, 0): [0, 2]}, ("a", "aa"), ("",)),
    Report("structuredllm/syncode#59", "EOS is spelled with letters of the pattern", "[</s>]+",
           ("<", "/", "s", ">", EOS), {(): [0, 1, 2, 3], (0,): [0, 1, 2, 3, 4], (0, 1, 2, 3): [0, 1, 2, 3, 4]},
           ("</s>", "</s></s>"), ("",), eos_text="</s>"),
    Report("guidance-ai/llguidance#188", "a very long token", "-*",
           ("-", "-" * 1_000, "-" * 70_000, "-" * 999 + "+", EOS), {(): [0, 1, 2, 4], (2, 1): [0, 1, 2, 4]},
           ("-" * 1_000, "-" * 70_001, ""), ("a", "-" * 999 + "+")),
    Report("guidance-ai/llguidance#188", "the longest token is no limit for the text either", "-{1200}",
           ("-", "-" * 1_000, "-" * 201, EOS), {(): [0, 1, 2], (1,): [0], (1, 0): [0]},
           ("-" * 1_200,), ("-" * 1_199, "-" * 1_201)),
    Report("guidance-ai/llguidance#347", "several EOS ids", "a",
           ("a", EOS, EOS), {(): [0], (0,): [1, 2]}, ("a",), ("", "aa")),
    Report("guidance-ai/llguidance#377", "é composed and é decomposed are different bytes", "\u00e9",
           ("\u00e9", "e\u0301", "e", "\u0301", EOS), {(): [0], (0,): [4]}, ("\u00e9",), ("e\u0301", "e")),
    Report("guidance-ai/llguidance#377", "a pattern may list both", "\u00e9|e\u0301",
           ("\u00e9", "e\u0301", "e", "\u0301", EOS), {(): [0, 1, 2], (2,): [3], (1,): [4]}, ("\u00e9", "e\u0301"), ("e",)),
    Report("Blaizzy/mlx-vlm#1917", "logits beyond the tokenizer", "a",
           ("a", EOS), {(): [0], (0,): [1]}, ("a",), ("",), width=40),
    Report("guidance-ai/llguidance#131", "a special token whose spelling fits", "[<|a-z>]*",
           ("<", "|", "eot", ">", "<|eot|>", EOS), {(): [0, 1, 2, 3, 5], (0, 1): [0, 1, 2, 3, 5]},
           ("<|eot|>", ""), ("A",), special=(4,)),
    Report("mlc-ai/xgrammar#905", "the stop token inside an unfinished string", '"[a-z]*"',
           ('"', "a", EOS), {(0,): [0, 1], (0, 1): [0, 1], (0, 0): [2]}, ('""', '"a"'), ('"', '"a')),
]  # fmt: skip


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: f"{report.source}: {report.why}")
def test_the_mask_is_exact_and_the_matcher_agrees_with_it(report: Report) -> None:
    constraint = md.compile_regex(report.pattern, report.vocabulary)
    for before, allowed in report.masks.items():
        matcher = constraint.matcher()
        assert all(map(matcher.accept_token, before))
        assert ids(matcher) == allowed, before
        row = matcher.bitmask()
        assert bitmask.unpack(row, 32 * len(row)).sum() == len(allowed), "no bit beyond the width is set"
        for token_id in range(len(report.vocabulary)):
            assert matcher.is_allowed(token_id) == (token_id in allowed)
            assert (md.explain(matcher, token_id).kind.name == "ALLOWED") == (token_id in allowed)
            assert matcher.fork().accept_token(token_id) == (token_id in allowed), token_id
    for text in (*report.accepts, *report.rejects):
        matcher = constraint.matcher()
        assert (matcher.accept_string(text) and matcher.is_accepting) == (text in report.accepts), text


def test_ids_that_only_the_logits_have_are_never_drawn() -> None:
    """Blaizzy/mlx-vlm#1917: the model's row is wider than the tokenizer, and padding is its favourite."""
    vocabulary = md.Vocabulary.from_tokens(["a", "</s>"], eos=1, width=40)
    matcher = md.compile_regex("a", vocabulary).matcher()
    logits = np.arange(40, dtype=np.float32)
    bitmask.apply(matcher.bitmask(), logits)
    assert np.flatnonzero(np.isfinite(logits)).tolist() == [0]
    row = np.full(2, -1, np.int32)
    matcher.fill_bitmask(row)
    assert row.tolist() == [1, 0]


def test_every_end_id_ends_a_run_and_stays_out_of_one_that_is_not_complete() -> None:
    """guidance-ai/llguidance#347, mlc-ai/xgrammar#905: mask and accept_token know the same end ids."""
    vocabulary = md.Vocabulary.from_tokens(['"', "a", "<eos>", "<eot>"], eos=["<eos>", "<eot>"])
    matcher = md.compile_regex('"[a-z]*"', vocabulary).matcher()
    for text in ('"', "a"):
        assert matcher.accept_string(text)
        assert not any(matcher.is_allowed(end) or matcher.accept_token(end) for end in (2, 3))
    assert matcher.accept_string('"')
    for end in (2, 3):
        fork = matcher.fork()
        assert fork.accept_token(end)
        assert fork.is_terminated
        assert ids(fork) == []


# -- tokenizers that print bytes as letters -----------------------------------------------------------------


def fast_tokenizer(pieces: list[str], decoder: Any, **options: Any) -> Any:
    tokenizers = need("tokenizers", "models")
    transformers = need("transformers", "models")
    model = tokenizers.models.BPE({piece: i for i, piece in enumerate(pieces)}, [], **options)
    backend = tokenizers.Tokenizer(model)
    backend.decoder = decoder(tokenizers.decoders)
    backend.normalizer = tokenizers.normalizers.NFC()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="</s>")


def masks_of(pattern: str, vocabulary: md.Vocabulary, befores: list[tuple[int, ...]]) -> list[list[int]]:
    matchers = [md.compile_regex(pattern, vocabulary).matcher() for _ in befores]
    assert all(all(map(m.accept_token, before)) for m, before in zip(matchers, befores, strict=True))
    return list(map(ids, matchers))


def test_pieces_of_sentencepiece_are_bytes_and_spaces() -> None:
    """mlc-ai/xgrammar#483: `<0xE2>` is one byte and `▁` a space, never these letters."""
    tokenizer = fast_tokenizer(
        ["▁", "<0xE2>", "<0x82>", "<0xAC>", "€", "</s>"],
        lambda decoders: decoders.Sequence(
            [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
        ),
        byte_fallback=True,
    )
    vocabulary = md.Vocabulary.from_transformers(tokenizer)
    assert masks_of(" €", vocabulary, [(), (0,), (0, 1), (0, 1, 2), (0, 4)]) == [[0], [1, 4], [2], [3], [5]]
    for letters in ("▁", "<0xE2>"):
        with pytest.raises(md.UnsatisfiableConstraintError):
            md.compile_regex(letters, vocabulary)


def test_letters_of_gpt2_are_bytes() -> None:
    """dottxt-ai/outlines-core#224: `Ġ` is a space."""
    tokenizer = fast_tokenizer(["Ġhi", "Ġ", "hi", "</s>"], lambda decoders: decoders.ByteLevel())
    vocabulary = md.Vocabulary.from_transformers(tokenizer)
    assert masks_of(" hi", vocabulary, [(), (1,), (0,)]) == [[0, 1], [2], [3]]
    assert not md.compile_regex(" ?hi", vocabulary).matcher().accept_string("Ġhi")
    with pytest.raises(md.UnsatisfiableConstraintError, match="Ġ"):
        md.compile_regex("Ġhi", vocabulary)


def test_what_a_tokenizer_would_normalise_is_compared_as_it_is_written() -> None:
    """guidance-ai/llguidance#377: the tokenizer composes what it reads; its tokens are bytes all the same."""
    tokenizer = fast_tokenizer(["Ã©", "eÌģ", "e", "</s>"], lambda decoders: decoders.ByteLevel())
    vocabulary = md.Vocabulary.from_transformers(tokenizer)
    assert vocabulary.token_bytes[:2] == ("\u00e9".encode(), "e\u0301".encode())
    assert masks_of("\u00e9", vocabulary, [()]) == [[0]]
    assert masks_of("e\u0301", vocabulary, [()]) == [[1]]


# -- patterns that a vocabulary cannot spell ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "missing"),
    [("x", "x"), ("a+x", "x"), ("é", "é"), ("aé|ax", "é"), ("[é]a*", "é"), ("a😀", "😀"), ("[xy]", "y")],
)
def test_a_character_that_no_token_spells_is_named_when_compiling(pattern: str, missing: str) -> None:
    """dottxt-ai/outlines-core#225."""
    vocabulary = md.Vocabulary.from_tokens(["a", b"\xc3", "</s>"], eos=2)
    with pytest.raises(md.UnsatisfiableConstraintError) as caught:
        md.compile_regex(pattern, vocabulary)
    assert f"'{missing}'" in str(caught.value)
    assert "'a'" not in str(caught.value), "a can be spelled"


def test_a_branch_that_cannot_be_spelled_is_left_out_of_the_mask() -> None:
    """dottxt-ai/outlines-core#225: only where no branch is left is it an error."""
    vocabulary = md.Vocabulary.from_tokens(["a", "b", "</s>"], eos=2)
    assert ids(md.compile_regex("ax|b", vocabulary).matcher()) == [1]


# -- matchers -----------------------------------------------------------------------------------------------


def test_nothing_is_forced_where_the_text_may_end() -> None:
    """mlc-ai/xgrammar#776: after `a` only b may follow, or the end."""
    matcher = md.compile_regex("ab?", BYTES).matcher()
    assert matcher.jump_forward_string() == "a"
    assert matcher.accept_string("a")
    assert matcher.jump_forward_string() == ""
    assert matcher.accept_string("b")
    assert matcher.jump_forward_string() == ""


def test_forced_text_never_ends_inside_a_character() -> None:
    """sgl-project/sglang#549: E5 A8 begins both characters and is none."""
    matcher = md.compile_regex("(娃|娄)x", BYTES).matcher()
    assert "娃".encode()[:2] == "娄".encode()[:2] == b"\xe5\xa8"
    assert matcher.jump_forward_string() == ""
    assert matcher.accept_string("娃".encode()[:2])
    assert matcher.jump_forward_string() == ""
    assert matcher.accept_string("娃".encode()[2:])
    assert matcher.jump_forward_string() == "x"


def test_a_token_that_dies_on_a_later_byte_moves_nothing() -> None:
    """mlc-ai/xgrammar#164."""
    vocabulary = md.Vocabulary.from_tokens(["a", "b", "bx", "bc", "c", "</s>"], eos=5)
    matcher = md.compile_regex("abc", vocabulary).matcher()
    assert matcher.accept_token(0)
    for refused in ("bx", "bcx"):
        assert not matcher.accept_string(refused)
    assert not matcher.accept_token(2)
    assert (ids(matcher), matcher.steps) == ([1, 3], 1)
    assert matcher.accept_token(1)
    assert ids(matcher) == [4]


def test_going_back_over_the_end_takes_back_the_end_alone() -> None:
    """mlc-ai/xgrammar#161."""
    matcher = md.compile_regex("ab*", BYTES).matcher()
    assert all(map(matcher.accept_token, (ord("a"), ord("b"), 256)))
    assert matcher.is_terminated
    matcher.rollback(1)
    assert not matcher.is_terminated
    assert ids(matcher) == [ord("b"), 256]
    matcher.rollback(1)
    assert ids(matcher) == [ord("b"), 256]
    matcher.rollback(1)
    assert ids(matcher) == [ord("a")]


@pytest.mark.parametrize("steps", [2, 100])
def test_going_back_beyond_the_start_is_an_error_that_moves_nothing(steps: int) -> None:
    """guidance-ai/llguidance#364."""
    matcher = md.compile_regex("ab", BYTES).matcher()
    assert matcher.accept_token(ord("a"))
    with pytest.raises(md.UsageError, match=rf"rollback\({steps}\): 1 steps were accepted"):
        matcher.rollback(steps)
    assert (ids(matcher), matcher.steps) == ([ord("b")], 1)


def test_going_back_has_no_limit() -> None:
    """mlc-ai/xgrammar#389: nothing has to be configured for it."""
    matcher = md.compile_regex("a{0,5000}", BYTES).matcher()
    start = (matcher.state, ids(matcher))
    assert all(matcher.accept_token(ord("a")) for _ in range(5000))
    assert ids(matcher) == [256]
    matcher.rollback(5000)
    assert (matcher.state, ids(matcher)) == start == (matcher.state, [ord("a"), 256])


def test_a_draft_that_runs_past_the_end_is_counted_up_to_the_end() -> None:
    """vllm-project/vllm#25905: a, b and EOS are taken, x is not, and the matcher stands where it stood."""
    vocabulary = md.Vocabulary.from_tokens(["a", "b", "x", "</s>"], eos=3)
    matcher = md.compile_regex("ab", vocabulary).matcher()
    rows = np.full((5, 1), -1, np.int32)
    assert matcher.fill_bitmask_window(rows, [0, 1, 3, 2]) == 3
    assert rows[:, 0].tolist() == [1 << 0, 1 << 1, 1 << 3, 0, 0]
    assert (matcher.steps, ids(matcher), matcher.is_terminated) == (0, [0], False)
    taken = [token_id for token_id in (0, 1, 3, 2) if matcher.accept_token(token_id)]
    assert taken == [0, 1, 3]
    matcher.rollback(3)
    assert (matcher.steps, ids(matcher)) == (0, [0])


# -- time, memory and disk, by counting ---------------------------------------------------------------------


def words(count: int) -> list[str]:
    choose = random.Random(count)
    return [
        "".join(choose.choices("abcdefghijklmnopqrstuvwxyz", k=choose.randint(4, 10))) for _ in range(count)
    ]


def peak_of_compiling(pattern: str) -> int:
    tracemalloc.start()
    try:
        md.compile_regex(pattern, BYTES)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_memory_of_an_enum_grows_as_its_text() -> None:
    """mlc-ai/xgrammar#702: sets kept for each state made it grow with the square."""
    small, large = "|".join(words(300)), "|".join(words(1_200))
    peak_of_compiling("warm-up")
    # 4 times the text, and a state more or less; a square would be 16 times.
    assert peak_of_compiling(large) < 6 * peak_of_compiling(small)
    huge = "|".join(words(5_000))
    constraint = md.compile_regex(huge, BYTES)
    assert constraint.nbytes < 250 * len(huge)
    assert constraint.matcher().accept_string(huge[: huge.index("|")])


def test_a_mask_costs_the_nodes_it_reaches_not_the_tokens_there_are() -> None:
    """ggml-org/llama.cpp#7554: four times the vocabulary made a token four times as dear."""
    letters = "abcdefghijklmnopqrst"
    short = [f"{a}{b}{c}" for a in letters for b in letters for c in letters]  # 8,000
    quoted = [f'"{a}{b}' for a in letters for b in letters]  # 400
    long = [f"{token}{n}" for token in short for n in range(10, 22)]  # 96,000 more
    touched = {}
    for size, tokens in ((8, [*short, *quoted]), (104, [*short, *quoted, *long])):
        vocabulary = md.Vocabulary.from_tokens(["</s>", '"', *tokens], eos=0)
        automaton: Any = md.compile_regex('"[^"]*"', vocabulary).automaton
        index = SweepIndex(automaton, vocabulary)
        opening = index.allowed(automaton.start)
        touched[size] = index.nodes_touched
        inside = index.after(automaton.start, 1)
        index.allowed(inside)
        assert opening.sum() == 401
        # In the string nearly every node lives: each is met once, however many tokens run through it.
        assert index.nodes_touched - touched[size] <= len(vocabulary.trie)
        assert len(vocabulary.trie) < sum(map(len, vocabulary.token_bytes)) / 2
    assert touched[8] == touched[104] == 1 + 20 + 400, "tokens that die on their first byte are free"


def test_constraints_and_masks_are_kept_up_to_a_number_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """vllm-project/vllm#16283: each new schema added an entry for ever."""
    constraints: Any = ByteLimitedCache(400_000, lambda constraint: constraint.nbytes)
    masks: Any = ByteLimitedCache(2_000, lambda row: row.nbytes)
    monkeypatch.setattr(compiled, "_compiled", constraints)
    monkeypatch.setattr(compiled, "_masks", masks)
    first = md.compile_regex("enum0|value0", BYTES)
    assert first is md.compile_regex("enum0|value0", BYTES)
    for n in range(1, 300):
        matcher = md.compile_regex(f"enum{n}|value{n}", BYTES).matcher()
        assert ids(matcher) == [ord("e"), ord("v")]
        assert constraints.used_bytes <= 400_000
        assert masks.used_bytes <= 2_000
    assert 2 <= len(constraints) < 300
    assert 2 <= len(masks) < 300
    assert md.compile_regex("enum299|value299", BYTES) is matcher.constraint, "the latest is kept"
    assert md.compile_regex("enum0|value0", BYTES) is not first, "the oldest was let go"
    assert ids(first.matcher()) == [ord("e"), ord("v")], "and works for whoever still holds it"


def test_the_caches_that_are_in_use_have_a_limit() -> None:
    """vllm-project/vllm#16283."""
    for cache in (compiled._compiled, compiled._masks):
        assert 0 < cache.limit_bytes <= 1_000_000_000
        assert cache.used_bytes <= cache.limit_bytes


def test_compiling_writes_nothing_to_disk(tmp_path: Path) -> None:
    """vllm-project/vllm#14837: a cache on disk filled it."""
    program = """
import sys
wrote = []
def watch(event, details):
    if event == "open" and (set(str(details[1])) & set("wax+") or (details[2] or 0) & 3):
        wrote.append(details[0])
    elif event in {"os.mkdir", "os.rename", "os.link", "os.symlink", "os.truncate", "sqlite3.connect"}:
        wrote.append(event)
import minidecoder as md
sys.addaudithook(watch)
vocabulary = md.Vocabulary.from_tokens([*map(chr, range(32, 127)), "</s>"], eos="</s>")
for n in range(20):
    matcher = md.compile_regex(f"value{n}|[a-z]{{{n + 1}}}", vocabulary).matcher()
    while not matcher.is_terminated:
        matcher.accept_token(matcher.allowed_token_ids()[0])
print(len(wrote), *wrote)
open("mark", "w").close()
print(len(wrote))
"""
    places = {name: str(tmp_path) for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_DATA_HOME")}
    done = subprocess.run(
        [sys.executable, "-B", "-c", program],
        env=os.environ | places | {"PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0", "1"], (
        "the second figure shows that the watch sees a file being written"
    )
    assert [path.name for path in tmp_path.rglob("*")] == ["mark"]
