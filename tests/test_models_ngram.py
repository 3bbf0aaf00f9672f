"""The n-gram model is what its counts say, and the tiny tokenizer cuts as tiktoken does."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minidecoder as md
from minidecoder.decoding.language_model import TextModel
from minidecoder.models.ngram import NGramModel, longest_match
from minidecoder.models.tiny_bpe import EOS, PIECES, load_tiny_bpe, tiny_corpus, train_bpe
from tests.optional import need

LETTERS = md.Vocabulary.from_tokens(["a", "b", "</s>", "<pad>"], eos="</s>", special=["<pad>"], width=5)


def test_the_probabilities_are_those_of_the_formula() -> None:
    """`abab` and its end: unigrams a 2, b 2, end 1; after a comes b, twice; of three ids 1/3 each to begin with."""
    model = NGramModel("abab", LETTERS, order=2)
    single = np.array([2 + 1 / 3, 2 + 1 / 3, 1 + 1 / 3]) / (5 + 1)
    after_a = (np.array([0, 2, 0]) + single) / (2 + 1)
    shares = np.exp(model.next_logits([0]))
    assert shares[:3] == pytest.approx(after_a)
    assert shares[3:].tolist() == [0, 0], "special and padding ids are impossible"
    assert np.exp(NGramModel("abab", LETTERS, order=1).next_logits([0]))[:3] == pytest.approx(single)


def test_the_beginning_of_a_text_is_a_context_of_its_own() -> None:
    model = NGramModel(["ab", "ab", "ab"], LETTERS, order=2, weight=0.01)
    assert np.exp(model.next_logits([]))[0] > 0.99
    assert np.exp(model.next_logits([0, 1]))[2] > 0.99, "after ab the text ends"


@given(
    st.text(alphabet="ab", min_size=1, max_size=30),
    st.integers(1, 4),
    st.lists(st.integers(0, 4), max_size=6),
)
def test_the_logits_are_proper_whatever_was_read(text: str, order: int, ids: list[int]) -> None:
    model = NGramModel(text, LETTERS, order=order)
    logits = model.next_logits(ids)
    assert np.exp(logits).sum() == pytest.approx(1)
    assert np.isfinite(logits[:3]).all()
    assert logits.tolist() == NGramModel([text], LETTERS, order=order).next_logits(ids).tolist()
    logits[:] = 0  # the caller's own
    assert model.next_logits(ids).tolist() != logits.tolist()


def test_with_much_text_the_model_comes_near_the_counts() -> None:
    text = "aab" * 400
    model = NGramModel(text, LETTERS, order=3)
    followers = Counter(text[i + 2] for i in range(len(text) - 2) if text[i : i + 2] == "ba")
    assert followers == {"a": 399}
    assert np.exp(model.next_logits([1, 0]))[0] == pytest.approx(1, abs=0.01)


def test_it_writes_under_a_constraint_and_takes_prompts_as_text() -> None:
    bpe = load_tiny_bpe()
    model = NGramModel(tiny_corpus().split("\n\n"), bpe.vocabulary, order=4, weight=0.1, encode=bpe.encode)
    assert isinstance(model, TextModel)
    constraint = md.compile_regex(r"[0-9]+\.[0-9]{2}", bpe.vocabulary)
    run = md.generate(model, "A coffee costs", constraint=constraint, max_tokens=12)
    assert run.is_complete
    free = md.generate(model, "The price of a", sampling=md.Sampling(seed=0), max_tokens=20)
    assert free.text.isprintable() or "\n" in free.text
    again = md.generate(model, "The price of a", sampling=md.Sampling(seed=0), max_tokens=20)
    assert again.token_ids == free.token_ids


def test_the_longest_token_is_taken_at_each_place() -> None:
    vocabulary = md.Vocabulary.from_tokens(["a", "ab", "abc", "c", "ab", "</s>"], eos="</s>")
    assert longest_match("abcaba", vocabulary) == [2, 1, 0]
    with pytest.raises(md.UsageError, match=r"no token of the vocabulary fits at byte 3: b'b"):
        longest_match("abcb", vocabulary)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"order": 0}, "order must be 1 or more"),
        ({"order": 1.5}, "order must be a whole number"),
        ({"weight": 0}, "weight more than 0"),
        ({"weight": float("inf")}, "weight more than 0"),
        ({"weight": float("nan")}, "weight must be a number"),
        ({"texts": []}, "texts is empty"),
        ({"texts": "abc"}, "no token of the vocabulary fits"),
        ({"texts": 5}, "texts must be a list"),
        ({"vocabulary": None}, "vocabulary must be of type Vocabulary"),
    ],
)
def test_what_cannot_mean_anything_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(md.UsageError, match=message):
        NGramModel(**{"texts": "ab", "vocabulary": LETTERS, **arguments})  # type: ignore[arg-type]


# -- the tiny tokenizer -----------------------------------------------------------------------------


def test_the_tokenizer_cuts_as_tiktoken_does_with_the_same_merges() -> None:
    tiktoken = need("tiktoken")
    tiny = load_tiny_bpe()
    ranks = {data: i for i, data in enumerate(tiny.vocabulary.token_bytes) if data}
    oracle = tiktoken.Encoding(
        "tiny", pat_str=PIECES, mergeable_ranks=ranks, special_tokens={EOS: len(ranks)}
    )
    texts = [
        tiny_corpus(),
        '{"a": [1, 22, 4444]}',
        "  two  spaces\n\n end ",
        "snake_case 😀 naïve\u00a0x",
        "",
        EOS,
    ]
    for text in texts:
        assert tiny.encode(text) == oracle.encode(text, disallowed_special=())


@given(st.text(max_size=60))
def test_every_text_comes_back(text: str) -> None:
    tiny = load_tiny_bpe()
    try:
        text.encode()
    except UnicodeEncodeError:
        with pytest.raises(md.UsageError, match="surrogate"):
            tiny.encode(text)
        return
    assert tiny.decode(tiny.encode(text)) == text


def test_tokens_cross_the_parts_of_a_text_and_split_characters() -> None:
    tiny = load_tiny_bpe()
    vocabulary = tiny.vocabulary
    assert len(vocabulary) == 768
    assert vocabulary.eos_ids == (767,)
    assert vocabulary.text(767) == EOS
    for token in ('":', '",', ' "', '"}', " coffee"):
        assert token.encode() in vocabulary.token_bytes
    assert len(tiny.encode("🍰")) > 1
    assert len(set(vocabulary.token_bytes)) == 768


def test_training_is_the_definition_of_byte_pair_encoding() -> None:
    """Counted anew at each merge, without short cuts."""
    import re
    from itertools import pairwise

    text = tiny_corpus()[:1500]
    words = [[bytes([b]) for b in piece.encode()] for piece in re.findall(PIECES, text)]
    merges = []
    for _ in range(60):
        counts = Counter(pair for word in words for pair in pairwise(word))
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        merges.append(best)
        for word in words:
            at = 0
            while at + 1 < len(word):
                if (word[at], word[at + 1]) == best:
                    word[at : at + 2] = [best[0] + best[1]]
                at += 1
    assert list(train_bpe(text, 60).rank) == merges
    with pytest.raises(md.UsageError, match="too short for 99 merges"):
        train_bpe("abab", 99)


def test_it_is_the_same_in_every_process() -> None:
    code = (
        "import hashlib; from minidecoder.models.tiny_bpe import load_tiny_bpe as t;"
        "print(hashlib.sha256(repr(t().vocabulary.token_bytes).encode()).hexdigest())"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1


def test_the_text_it_learns_from_is_small() -> None:
    assert len(tiny_corpus().encode()) < 300_000
