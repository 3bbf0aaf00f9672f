"""What other libraries' tokenizers mean by each id, held against those libraries."""

from __future__ import annotations

import base64
import copy
import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minidecoder.errors import VocabularyError
from minidecoder.models import CausalLM
from minidecoder.tokens import loaders
from minidecoder.tokens import vocabulary as vocabulary_module
from minidecoder.tokens.ids import MAX_WIDTH
from minidecoder.tokens.vocabulary import Vocabulary
from tests import tokenizers_made_here as made
from tests.optional import need

NASTY = [
    "", " ", "  ", "   two  runs   ", "\t", "\n", "\r\n\n", " \n \t ", "\x00", "\x07\x1b\x7f\x85", "a\x00b",
    "é", "e\u0301", "\u0301", "ﬁ ① Å Ω", "naïve café", "日本語 中文", "कि", "עִברִית", "👩‍👩‍👧‍👦 🇫🇷 😀", "\U0010ffff\ufffe",
    "\u200b\ufeff\u00a0\u2028", "<0x41>", "<0xE2><0x82><0xAC>", "Ġthe", "Ċ", "ðŁĺĢ", "##ing", "</w>", "the price is 12.50",
]  # fmt: skip
texts = st.lists(st.one_of(st.text(max_size=6), st.sampled_from(NASTY)), max_size=5).map("".join)


class Case(NamedTuple):
    """A vocabulary, its tokenizer's own way to encode, and the bytes that its tokens of a text must give."""

    vocabulary: Vocabulary
    encode: Callable[[str], list[int]]
    written: Callable[[str], bytes]


def behind_a_space(text: str) -> bytes:
    """sentencepiece's dummy prefix; and `▁` in the text is the same character as a space to it."""
    return f" {text}".replace("▁", " ").encode() if text else b""


def behind_one_space(text: str) -> bytes:
    """transformers' Metaspace adds the space only where there is none."""
    text = text.replace("▁", " ")
    return (text if text.startswith(" ") or not text else f" {text}").encode()


def with_byte_pieces(text: str) -> bytes:
    """The Unigram of `tokenizers` takes the six characters `<0x41>` of a text for its byte piece."""
    written = behind_one_space(text)
    return re.sub(rb"<0x([0-9A-F]{2})>", lambda found: bytes([int(found[1], 16)]), written)


WRITTEN = {"byte_level": str.encode, "pieces_with_byte_fallback": with_byte_pieces, "llama": behind_one_space}


@cache
def from_mistral(name: str) -> Case:
    tokenizer = made.mistral(name)
    inner = tokenizer.instruct_tokenizer.tokenizer
    written = str.encode if name.endswith("json") else behind_a_space
    return Case(
        Vocabulary.from_mistral_common(tokenizer),
        lambda text: inner.encode(text, bos=False, eos=False),
        written,
    )


@cache
def from_tiktoken() -> Case:
    encoding = made.tekken_in_tiktoken()
    return Case(Vocabulary.from_tiktoken(encoding), encoding.encode_ordinary, str.encode)


@cache
def from_sentencepiece(kind: str) -> Case:
    processor = made.sentencepiece_model(kind)
    return Case(Vocabulary.from_sentencepiece(processor), processor.encode, behind_a_space)


@cache
def from_transformers(name: str) -> Case:
    tokenizer = getattr(made, name)()
    return Case(
        Vocabulary.from_transformers(tokenizer),
        lambda text: tokenizer.encode(text, add_special_tokens=False),
        WRITTEN[name],
    )


CASES: dict[str, Callable[[], Case]] = {
    "tekken 2409": lambda: from_mistral("tekken_240911.json"),
    "tekken 2407": lambda: from_mistral("tekken_240718.json"),
    **{name: lambda name=name: from_mistral(name) for name in made.SENTENCEPIECE_FILES},  # type: ignore[misc]
    "tiktoken": from_tiktoken,
    "sentencepiece BPE": lambda: from_sentencepiece("bpe"),
    "sentencepiece Unigram": lambda: from_sentencepiece("unigram"),
    "transformers byte-level BPE": lambda: from_transformers("byte_level"),
    "transformers Unigram": lambda: from_transformers("pieces_with_byte_fallback"),
    "transformers Llama": lambda: from_transformers("llama"),
}
every_case = pytest.mark.parametrize("name", CASES)


@every_case
@pytest.mark.parametrize("text", NASTY)
def test_the_tokens_of_a_text_join_to_its_bytes(name: str, text: str) -> None:
    case = CASES[name]()
    assert case.vocabulary.decode(case.encode(text)) == case.written(text)


@every_case
@settings(max_examples=60)
@given(text=texts)
def test_the_tokens_of_any_text_join_to_its_bytes(name: str, text: str) -> None:
    case = CASES[name]()
    assert case.vocabulary.decode(case.encode(text)) == case.written(text)


@settings(max_examples=60)
@given(text=texts)
def test_the_tokens_of_any_text_join_to_its_bytes_in_smollm2(smollm2: CausalLM, text: str) -> None:
    """Its tokenizer drops the bytes for which it has no token, such as F1, without a word."""
    known = set(b"".join(smollm2.vocabulary.token_bytes))
    ids = smollm2.tokenizer.encode(text, add_special_tokens=False)
    assert smollm2.vocabulary.decode(ids) == bytes(byte for byte in text.encode() if byte in known)
    absent = {0x04, 0x06, 0x13, 0x14, 0x16, 0x1D, 0xC0, 0xC1, 0xF1, 0xF2, *range(0xF5, 0x100)}
    assert set(range(256)) - known == absent


@every_case
def test_every_byte_is_a_token_and_no_special_id_has_bytes(name: str) -> None:
    vocabulary = CASES[name]().vocabulary
    assert {data for data in vocabulary.token_bytes if len(data) == 1} == {
        bytes([byte]) for byte in range(256)
    }
    assert all(vocabulary.token_bytes[i] == b"" for i in (*vocabulary.special_text, *vocabulary.eos_ids))
    assert all(vocabulary.special_text.get(i) for i in vocabulary.eos_ids)


# --- mistral_common ---


def test_tekkens_bytes_are_those_of_its_file() -> None:
    vocabulary = from_mistral("tekken_240911.json").vocabulary
    stored = json.loads(made.data_file("tekken_240911.json").read_text(encoding="utf-8"))["vocab"]
    ordinary = [base64.b64decode(token["token_bytes"]) for token in stored][: 131_072 - 1_000]
    assert len(vocabulary) == 131_072
    assert list(vocabulary.token_bytes) == [b""] * 1_000 + ordinary
    assert [vocabulary.text(i) for i in (1, 2, 999)] == ["<s>", "</s>", "<SPECIAL_999>"]
    assert vocabulary.eos_ids == (2,)


@pytest.mark.parametrize("name", ["tekken_240911.json", "mistral_instruct_tokenizer_240323.model.v3"])
def test_a_mistral_tokenizer_may_come_with_or_without_its_wrappers(name: str) -> None:
    whole = made.mistral(name)
    parts = [whole, whole.instruct_tokenizer, whole.instruct_tokenizer.tokenizer]
    assert len({Vocabulary.from_mistral_common(part).hash for part in parts}) == 1


def test_mistrals_sentencepiece_models_keep_user_defined_pieces_and_hide_control_pieces() -> None:
    case = from_mistral("mistral_instruct_tokenizer_240323.model.v3")
    processor = need("sentencepiece").SentencePieceProcessor(
        model_file=str(made.data_file("mistral_instruct_tokenizer_240323.model.v3"))
    )
    instruction, reference = map(processor.piece_to_id, ("[INST]", "[REFERENCE_DOC_0]"))
    assert case.vocabulary.token_bytes[instruction] == b""
    assert case.vocabulary.text(instruction) == "[INST]"
    assert case.vocabulary.token_bytes[reference] == b"[REFERENCE_DOC_0]"
    assert reference in case.encode("see [REFERENCE_DOC_0]")
    assert instruction not in case.encode("[INST]"), "its letters, through ordinary tokens, are text"


def test_transformers_wrapper_around_mistral_common_is_opened(tmp_path: Path) -> None:
    backend = need("transformers.tokenization_mistral_common", "models").MistralCommonBackend
    name = "mistral_instruct_tokenizer_240216.model.v2"
    (tmp_path / name).write_bytes(made.data_file(name).read_bytes())
    vocabulary = Vocabulary.from_transformers(backend.from_pretrained(tmp_path))
    assert vocabulary.hash == from_mistral(name).vocabulary.hash


def test_a_model_file_that_is_gone_is_named() -> None:
    need("sentencepiece")
    gone = SimpleNamespace(file_path=Path("gone.model.v3"), special_ids=set())
    with pytest.raises(VocabularyError, match=r"model file cannot be read: .*gone\.model\.v3"):
        Vocabulary.from_mistral_common(gone)


# --- sentencepiece ---


@cache
def declared() -> Any:
    """A model with a piece of every type but unused."""
    return made.sentencepiece_model(
        "bpe", user_defined_symbols="<|x|>,▁▁▁,a▁b", control_symbols="<ctl>", pad_id=3
    )


def test_a_sentencepiece_id_is_read_by_its_type() -> None:
    processor = declared()
    vocabulary = Vocabulary.from_sentencepiece(processor)
    bytes_of = {processor.id_to_piece(i): data for i, data in enumerate(vocabulary.token_bytes)}
    assert {bytes_of[piece] for piece in ("<unk>", "<s>", "</s>", "<pad>", "<ctl>")} == {b""}
    assert vocabulary.text(processor.piece_to_id("<ctl>")) == "<ctl>"
    assert bytes_of["<|x|>"] == b"<|x|>"
    assert bytes_of["▁▁▁"] == b"   "
    assert bytes_of["a▁b"] == b"a b"
    assert bytes_of["▁the"] == b" the"
    assert [bytes_of[f"<0x{byte:02X}>"] for byte in range(256)] == [bytes([byte]) for byte in range(256)]


@pytest.mark.parametrize("text", ["<|x|>", "a b    <|x|>  <ctl> </s><unk>", "      y", *NASTY])
def test_texts_with_declared_pieces_join_to_their_bytes(text: str) -> None:
    vocabulary = Vocabulary.from_sentencepiece(declared())
    assert vocabulary.decode(declared().encode(text)) == behind_a_space(text)


@pytest.mark.parametrize("text", NASTY)
def test_a_model_may_write_its_space_behind_or_not_at_all(text: str) -> None:
    behind = made.sentencepiece_model("bpe", treat_whitespace_as_suffix=True)
    written = Vocabulary.from_sentencepiece(behind).decode(behind.encode(text))
    assert written == (f"{text} " if text else "").encode()
    none = made.sentencepiece_model("bpe", add_dummy_prefix=False)
    assert Vocabulary.from_sentencepiece(none).decode(none.encode(text)) == text.encode()


def test_unused_sentencepiece_ids_are_not_reachable() -> None:
    """No trainer writes an unused piece, so one is appended to the file (a protocol buffer) by hand."""
    sentencepiece = need("sentencepiece")
    trained = made.sentencepiece_model("bpe").serialized_model_proto()
    piece = b"\x0a\x03old" + b"\x15\x00\x00\x00\x00" + b"\x18\x05"  # text, score, type UNUSED
    processor = sentencepiece.SentencePieceProcessor(
        model_proto=trained + b"\x0a" + bytes([len(piece)]) + piece
    )
    unused = processor.piece_to_id("old")
    assert processor.is_unused(unused)
    vocabulary = Vocabulary.from_sentencepiece(processor)
    assert vocabulary.token_bytes[unused] == b""
    assert vocabulary.text(unused) == "old"
    assert vocabulary.decode(processor.encode("an old price")) == b" an old price"


def test_a_piece_that_only_looks_like_a_byte_is_text() -> None:
    processor = made.sentencepiece_model("bpe", byte_fallback=False, user_defined_symbols="<0x41>")
    vocabulary = Vocabulary.from_sentencepiece(processor)
    assert vocabulary.token_bytes[processor.piece_to_id("<0x41>")] == b"<0x41>"


def test_sentencepiece_without_eos_or_without_a_model_is_refused() -> None:
    no_end = made.sentencepiece_model("bpe", eos_id=-1)
    with pytest.raises(VocabularyError, match=r"no EOS token.*pass eos_ids="):
        Vocabulary.from_sentencepiece(no_end)
    assert Vocabulary.from_sentencepiece(no_end, eos_ids=[1]).eos_ids == (1,)
    with pytest.raises(VocabularyError, match="holds no model"):
        Vocabulary.from_sentencepiece(need("sentencepiece").SentencePieceProcessor())


# --- tiktoken ---


def test_gaps_between_tiktokens_ids_are_no_text() -> None:
    encoding = made.tekken_in_tiktoken()
    vocabulary = from_tiktoken().vocabulary
    first = len(encoding.token_byte_values())
    assert len(vocabulary) == encoding.n_vocab == first + 21
    assert not any(vocabulary.token_bytes[first:])
    assert vocabulary.special_text == {
        first + 1: "<|endoftext|>", first + 2: "<|fim_prefix|>", first + 20: "<|im_end|>",
    }  # fmt: skip
    assert vocabulary.text(first) == f"⟨no text: id {first}⟩"
    assert vocabulary.eos_ids == (first + 1,)
    assert list(vocabulary.token_bytes[:first]) == [
        encoding.decode_single_token_bytes(i) for i in range(first)
    ]


def test_a_special_token_of_tiktoken_is_reached_by_no_text_but_its_letters_are() -> None:
    encoding = made.small_tiktoken({"<|endoftext|>": 310}, (b"<|", b"<|endoftext|>"))
    vocabulary = Vocabulary.from_tiktoken(encoding)
    assert vocabulary.token_bytes[300:302] == (b"<|", b"<|endoftext|>")
    assert vocabulary.token_bytes[310] == b""
    assert vocabulary.eos_ids == (310,)
    assert vocabulary.decode(encoding.encode_ordinary("a<|endoftext|>")) == b"a<|endoftext|>"


def test_tiktoken_without_an_end_needs_one_and_may_have_several() -> None:
    encoding = made.small_tiktoken({"<|im_end|>": 310, "<|return|>": 311})
    with pytest.raises(VocabularyError, match=r"no EOS token.*pass eos_ids="):
        Vocabulary.from_tiktoken(encoding)
    assert Vocabulary.from_tiktoken(encoding, eos_ids=(311, 310)).eos_ids == (310, 311)
    beyond = Vocabulary.from_tiktoken(encoding, eos_ids=315, width=320)
    assert beyond.eos_ids == (315,)
    assert len(beyond) == 320


def test_an_id_that_is_a_token_and_special_is_refused() -> None:
    with pytest.raises(VocabularyError, match="id 301 is both a special token and the token 'the'"):
        Vocabulary.from_tiktoken(made.small_tiktoken({"<|endoftext|>": 301}))


def test_an_absurd_id_is_refused_before_memory_is_spent_on_it() -> None:
    with pytest.raises(VocabularyError, match=r"largest id is 4,000,000,000, absurd"):
        Vocabulary.from_tiktoken(made.small_tiktoken({"<|endoftext|>": 4_000_000_000}))
    with pytest.raises(VocabularyError, match="absurd"):
        loaders.in_order([(MAX_WIDTH, "a", b"a")])


# --- transformers ---


def ordinary(vocabulary: Vocabulary) -> list[int]:
    return [i for i in range(len(vocabulary)) if i not in vocabulary.special_text]


@pytest.mark.parametrize("name", ["byte_level", "pieces_with_byte_fallback", "llama"])
def test_between_two_tokens_each_id_adds_what_the_tokenizer_decodes(name: str) -> None:
    """Decoded between two letters, where no space is dropped; byte pieces that are no text apart."""
    tokenizer, vocabulary = getattr(made, name)(), from_transformers(name).vocabulary
    letter = tokenizer.convert_tokens_to_ids("e")
    for token_id in ordinary(vocabulary)[:: max(1, len(vocabulary) // 2000)]:
        data = vocabulary.token_bytes[token_id]
        decoded = tokenizer.decode([letter, token_id, letter], clean_up_tokenization_spaces=False)
        assert decoded == f"e{data.decode('utf-8', 'replace')}e", (token_id, data)


def test_a_converted_sentencepiece_model_has_the_bytes_of_the_original() -> None:
    original = Vocabulary.from_sentencepiece(
        need("sentencepiece").SentencePieceProcessor(model_file=str(made.data_file("tokenizer.model.v1")))
    )
    assert (
        from_transformers("llama").vocabulary.hash
        == original.hash
        == from_mistral("tokenizer.model.v1").vocabulary.hash
    )


@pytest.mark.parametrize("name", ["byte_level", "pieces_with_byte_fallback", "llama"])
def test_xgrammar_reads_the_same_bytes(name: str) -> None:
    tokenizer, vocabulary = getattr(made, name)(), from_transformers(name).vocabulary
    info = need("xgrammar", "xgrammar").TokenizerInfo.from_huggingface(tokenizer, vocab_size=len(vocabulary))
    theirs = info.decoded_vocab  # made anew at each look
    ids = ordinary(vocabulary)
    assert [theirs[i] for i in ids] == [vocabulary.token_bytes[i] for i in ids]


def test_xgrammar_reads_the_same_bytes_of_smollm2(smollm2: CausalLM) -> None:
    theirs = need("xgrammar", "xgrammar").TokenizerInfo.from_huggingface(smollm2.tokenizer).decoded_vocab
    ids = ordinary(smollm2.vocabulary)
    assert [theirs[i] for i in ids] == [smollm2.vocabulary.token_bytes[i] for i in ids]


def bpe(pieces: list[str], decoder: Any, **options: Any) -> Any:
    tokenizers = need("tokenizers", "models")
    vocab = {piece: i for i, piece in enumerate([*pieces, "</s>"])}
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(vocab, [], **options))
    backend.decoder = decoder
    return backend


def test_an_added_token_means_what_the_decoder_makes_of_it() -> None:
    """Gemma adds runs of `▁` as tokens that are not special; each stands for spaces."""
    tokenizers = need("tokenizers", "models")
    pieces = bpe(["a", "▁"], tokenizers.decoders.Sequence([tokenizers.decoders.Replace("▁", " ")]))
    marked = bpe(["a", "Ġ"], tokenizers.decoders.ByteLevel())
    for backend, printed in ((pieces, "▁▁"), (marked, "Ġa"), (marked, "Ġ a"), (marked, "日本")):
        backend.add_tokens([tokenizers.AddedToken(printed, special=False, normalized=False)])
        vocabulary = Vocabulary.from_transformers(made.fast(backend, eos_token="</s>"))
        token_id = backend.token_to_id(printed)
        assert vocabulary.token_bytes[token_id].decode() == backend.decode([token_id])
    assert vocabulary.token_bytes[token_id] == "日本".encode()


def test_byte_pieces_are_bytes_only_where_the_decoder_says_so() -> None:
    tokenizers = need("tokenizers", "models")
    for steps, data in (([], b"<0x41>"), ([tokenizers.decoders.ByteFallback()], b"A")):
        decoder = tokenizers.decoders.Sequence([tokenizers.decoders.Replace("▁", " "), *steps])
        backend = bpe(["a", "<0x41>"], decoder)
        vocabulary = Vocabulary.from_transformers(made.fast(backend, eos_token="</s>"))
        assert vocabulary.token_bytes[1] == data == backend.decode([1]).encode()


def test_metaspace_may_print_another_character() -> None:
    tokenizers = need("tokenizers", "models")
    backend = bpe(["a", "_a", "▁a"], tokenizers.decoders.Metaspace(replacement="_", prepend_scheme="never"))
    vocabulary = Vocabulary.from_transformers(made.fast(backend, eos_token="</s>"))
    assert vocabulary.token_bytes[:3] == (b"a", b" a", "▁a".encode())


def test_the_models_unknown_token_is_no_text_even_undeclared() -> None:
    tokenizers = need("tokenizers", "models")
    space = tokenizers.decoders.Metaspace()
    by_text = bpe(["a", "?"], space, unk_token="?")
    by_id = tokenizers.Tokenizer(tokenizers.models.Unigram([("a", -1.0), ("?", -1.0), ("</s>", -1.0)], 1))
    by_id.decoder = space
    for backend in (by_text, by_id):
        vocabulary = Vocabulary.from_transformers(made.fast(backend, eos_token="</s>"))
        assert vocabulary.token_bytes == (b"a", b"", b"")
        assert vocabulary.text(1) == "?"


def test_a_token_that_serves_as_padding_is_no_text() -> None:
    tokenizer = copy.deepcopy(made.byte_level())
    tokenizer.pad_token = "!"
    vocabulary = Vocabulary.from_transformers(tokenizer)
    assert vocabulary.token_bytes[tokenizer.pad_token_id] == b""
    assert vocabulary.text(tokenizer.pad_token_id) == "!"


def word_piece() -> Any:
    tokenizers = need("tokenizers", "models")
    backend = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="</s>"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    backend.decoder = tokenizers.decoders.WordPiece()
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=120, special_tokens=["</s>"], show_progress=False
    )
    backend.train_from_iterator(made.corpus(), trainer)
    return backend


def without_own_bytes(kind: str) -> Any:
    tokenizers = need("tokenizers", "models")
    steps = tokenizers.decoders
    made_here: dict[str, Callable[[], Any]] = {
        "WordPiece": word_piece,
        "decoder none": lambda: bpe(["a"], None),
        "BPEDecoder": lambda: bpe(["a</w>"], steps.BPEDecoder(), end_of_word_suffix="</w>"),
        "ByteLevel, word marks </w>": lambda: bpe(["a</w>"], steps.ByteLevel(), end_of_word_suffix="</w>"),
        "CTC": lambda: bpe(["a"], steps.CTC()),
        "Strip, Fuse": lambda: bpe(["a"], steps.Sequence([steps.Replace("▁", " "), steps.Strip(" ", 1, 0), steps.Fuse()])),
        "Fuse, Replace": lambda: bpe(["a"], steps.Sequence([steps.ByteFallback(), steps.Fuse(), steps.Replace("ab", " ")])),
        "ByteLevel, Replace": lambda: bpe(["a"], steps.Sequence([steps.ByteLevel(), steps.Replace("a", " ")])),
    }  # fmt: skip
    return made_here[kind]()


@pytest.mark.parametrize(
    "kind",
    [
        "WordPiece",
        "decoder none",
        "BPEDecoder",
        "ByteLevel, word marks </w>",
        "CTC",
        "Strip, Fuse",
        "Fuse, Replace",
        "ByteLevel, Replace",
    ],
)
def test_tokens_without_bytes_of_their_own_are_refused_by_name(kind: str) -> None:
    tokenizer = made.fast(without_own_bytes(kind), eos_token="</s>")
    with pytest.raises(
        VocabularyError, match=rf"no bytes of their own \(model .*{kind}.*Vocabulary\.from_tokens"
    ):
        Vocabulary.from_transformers(tokenizer)


def test_an_id_that_two_tokens_share_is_refused() -> None:
    tokenizer = made.byte_level()
    twice = SimpleNamespace(
        backend_tokenizer=tokenizer.backend_tokenizer,
        get_vocab=lambda: {"Ġ": 5, "Ġa": 5},
        all_special_ids=[],
        added_tokens_decoder={},
        eos_token_id=5,
    )
    with pytest.raises(VocabularyError, match="id 5 belongs to two tokens, 'Ġ' and 'Ġa'"):
        Vocabulary.from_transformers(twice)


# --- the arguments that all of them take ---


def all_ways() -> list[tuple[Callable[..., Vocabulary], Any]]:
    return [
        (Vocabulary.from_transformers, made.byte_level()),
        (Vocabulary.from_tiktoken, made.small_tiktoken({"<|endoftext|>": 310})),
        (Vocabulary.from_sentencepiece, made.sentencepiece_model()),
        (Vocabulary.from_mistral_common, made.mistral("tokenizer.model.v1")),
    ]


def test_width_eos_ids_and_special_mean_the_same_everywhere() -> None:
    for read, tokenizer in all_ways():
        plain = read(tokenizer)
        ids = [i for i, data in enumerate(plain.token_bytes) if data]
        more = read(tokenizer, width=len(plain) + 40, eos_ids=ids[7], special=[ids[8], ids[9]])
        assert len(more) == len(plain) + 40
        assert more.eos_ids == tuple(sorted([*plain.eos_ids, ids[7]]))
        assert all(plain.token_bytes[i] and not more.token_bytes[i] for i in ids[7:10])
        assert more.text(ids[8]) == plain.text(ids[8])
        assert not any(more.token_bytes[len(plain) :])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 10}, r"width=10 is too small for [\d,]+ tokens: .*resize"),
        ({"width": 10**12}, "width=1,000,000,000,000 is too large"),
        ({"width": True}, "width must be a whole number"),
        ({"eos_ids": [10**6]}, "eos_ids=1000000 is not an id"),
        ({"eos_ids": "</s>"}, "id in eos_ids= must be a whole number, not '</s>'"),
        ({"special": [-1]}, "special=-1 is not an id"),
    ],
)
def test_arguments_that_cannot_be_are_errors_everywhere(options: dict[str, Any], message: str) -> None:
    for read, tokenizer in all_ways():
        with pytest.raises(VocabularyError, match=message):
            read(tokenizer, **options)


@pytest.mark.parametrize(
    "wrong", ["cl100k_base", None, 5, b"", object(), dict, Vocabulary, SimpleNamespace(backend_tokenizer=1)]
)
def test_what_is_no_tokenizer_is_refused_with_a_way_to_get_one(wrong: object) -> None:
    for read, _ in all_ways():
        with pytest.raises(
            VocabularyError, match=r"from_pretrained|get_encoding|SentencePieceProcessor|MistralTokenizer"
        ):
            read(wrong)


def test_one_librarys_tokenizer_is_not_taken_for_anothers() -> None:
    ways = all_ways()
    for read, own in ways:
        for _, tokenizer in ways:
            if tokenizer is not own:
                with pytest.raises(VocabularyError):
                    read(tokenizer)


def test_a_class_that_was_not_called_is_named() -> None:
    """A class has the methods of its objects, so asking for them does not tell."""
    tekken = made.tekken().instruct_tokenizer.tokenizer
    sentencepiece = made.mistral("tokenizer.model.v1").instruct_tokenizer.tokenizer
    own = [
        *all_ways(),
        (Vocabulary.from_mistral_common, tekken),
        (Vocabulary.from_mistral_common, sentencepiece),
    ]
    for read, tokenizer in own:
        with pytest.raises(VocabularyError, match=f"not the class {type(tokenizer).__name__}: pass "):
            read(type(tokenizer))


def test_ids_with_the_same_bytes_are_all_kept() -> None:
    """A byte piece and a normal piece for one character (mlc-ai/xgrammar#776)."""
    case = from_mistral("tokenizer.model.v1")
    ids = [i for i, data in enumerate(case.vocabulary.token_bytes) if data == b"a"]
    assert len(ids) == 2
    assert len({case.vocabulary.trie.node_of_token[i] for i in ids}) == 1


def test_without_the_library_of_a_wrapped_model_the_command_is_named() -> None:
    """In a process of its own, where sentencepiece cannot be imported."""
    code = (
        "import sys; sys.modules['sentencepiece'] = None\n"
        "from types import SimpleNamespace as N; from minidecoder import Vocabulary\n"
        "from minidecoder.errors import MissingDependencyError\n"
        "try: Vocabulary.from_mistral_common(N(file_path='x', special_ids=()))\n"
        "except MissingDependencyError as fault: print(fault)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "sentencepiece is not installed: pip install 'minidecoder[peers]'", (
        done.stderr
    )


# --- preparation ---


def test_preparation_is_done_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []
    build = vocabulary_module.build_trie
    monkeypatch.setattr(vocabulary_module, "build_trie", lambda tokens: built.append(1) or build(tokens))
    vocabulary = Vocabulary.from_tokens(["a", "b", "</s>"], eos="</s>")
    assert built == []
    assert vocabulary.prepare() > 0
    assert vocabulary.prepare() >= 0
    assert len(vocabulary.trie) == 3
    assert {"trie", "hash"} <= set(vars(vocabulary)), "both are kept"
    assert built == [1]
