"""Vocabularies: token bytes, special ids, and tokenizers whose spelling is not their bytes."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from minidecoder.automaton import TokenId
from minidecoder.errors import UsageError, VocabularyError
from minidecoder.tokens.vocabulary import Vocabulary


def test_text_and_bytes_are_the_same_token() -> None:
    vocabulary = Vocabulary.from_tokens(["é", b"\xc3", "</s>"], eos="</s>")
    assert vocabulary.token_bytes == ("é".encode(), b"\xc3", b"")
    assert vocabulary.eos_ids == (2,)
    assert [vocabulary.text(i) for i in range(3)] == ["é", r"\xc3", "</s>"]
    assert vocabulary.decode([0, 1, 2]) == "é".encode() + b"\xc3"


def test_special_and_padding_ids_have_no_bytes() -> None:
    vocabulary = Vocabulary.from_tokens(["a", "<pad>", "</s>", ""], eos=2, special=["<pad>"], width=6)
    assert len(vocabulary) == 6
    assert vocabulary.token_bytes == (b"a", b"", b"", b"", b"", b"")
    assert vocabulary.text(1) == "<pad>"
    assert "5" in vocabulary.text(5)


def test_several_eos_ids_by_text_and_by_id() -> None:
    vocabulary = Vocabulary.from_tokens(["a", "<eot>", "<eos>"], eos=["<eos>", 1])
    assert vocabulary.eos_ids == (1, 2)


@pytest.mark.parametrize(
    ("tokens", "options", "message"),
    [
        ("abc", {"eos": 0}, "tokens, whose index is the id, must be a list, not str"),
        ({"a": 0, "b": 1}, {"eos": 0}, "must be a list, not dict"),
        (None, {"eos": 0}, "must be a list, not NoneType"),
        (["a", 3], {"eos": 0}, "token 1 must be str or bytes, not 3"),
        (["a", "\ud800"], {"eos": 0}, "surrogate"),
        (["a"], {"eos": []}, "at least one EOS"),
        (["a", "b"], {"eos": "</s>"}, "no token"),
        (["a", "b", "b"], {"eos": "b"}, "several tokens"),
        (["a", "b"], {"eos": 2}, "not an id"),
        (["a", "b"], {"eos": -1}, "not an id"),
        (["a", "b"], {"eos": True}, "id in eos= must be a whole number, not True"),
        (["a", "b"], {"eos": "\ud800"}, "eos=, .*surrogate"),
        (["a", "b"], {"eos": 0, "special": None}, "special="),
        (["a", "b"], {"eos": 1.5}, "eos"),
        (["a", "b"], {"eos": 0, "special": ["c"]}, "special='c'"),
        (["a", "b"], {"eos": 0, "width": 1}, "too small"),
        (["a", "b"], {"eos": 0, "width": 10**12}, "width=1,000,000,000,000 is too large"),
        (["a", "b"], {"eos": 0, "width": "3"}, "width must be a whole number, not '3'"),
        (["a", "b"], {"eos": 0, "width": 3.0}, "width must be a whole number, not 3.0"),
        (["</s>"], {"eos": 0}, "no token stands for any bytes"),
        ([], {"eos": 0}, "not an id"),
    ],
)
def test_a_contradiction_is_an_error_that_names_it(tokens: list[str], options: dict, message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        Vocabulary.from_tokens(tokens, **options)


@pytest.mark.parametrize(
    "eos", [np.int64(0), np.array([0]), np.array(0), [np.uint8(0)], {0}, "a", b"a", bytearray(b"a")]
)
def test_eos_may_come_out_of_numpy(eos: object) -> None:
    assert Vocabulary.from_tokens(["a", "b"], eos=eos, width=np.int32(5)).eos_ids == (0,)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("token_bytes", "eos_ids", "special_text", "message"),
    [
        (["a"], (0,), {}, "must be bytes"),
        ((b"a",), (), {}, "at least one EOS"),
        ((b"a", b""), (7,), {}, "eos_ids=7 is not an id"),
        ((b"a", b""), (True,), {}, "whole number, not True"),
        ((b"a", b""), (0,), {}, "EOS id 0 has bytes"),
        ((b"a", b""), (1,), {2: "<pad>"}, "special_text=2 is not an id"),
        ((b"a", b""), (1,), {1: 5}, "special_text of 1 must be of type str, not int"),
        ((b"a", b""), (1,), None, "special_text must be of type Mapping, not NoneType"),
        ((b"", b""), (1,), {}, "no token stands for any bytes"),
    ],
)
def test_a_vocabulary_made_by_hand_is_checked_too(
    token_bytes: tuple[bytes, ...], eos_ids: tuple[TokenId, ...], special_text: dict[int, str], message: str
) -> None:
    with pytest.raises(VocabularyError, match=message):
        Vocabulary(token_bytes, eos_ids, special_text)


def test_a_vocabulary_cannot_be_changed_and_can_be_pickled() -> None:
    texts = {1: "</s>"}
    vocabulary = Vocabulary((b"a", b""), (TokenId(1),), texts)
    texts[1] = "changed"
    with pytest.raises(TypeError):
        vocabulary.special_text[1] = "changed"  # type: ignore[index]
    for copied in (pickle.loads(pickle.dumps(vocabulary)), copy.deepcopy(vocabulary)):
        assert copied.text(1) == "</s>"
        assert copied.hash == vocabulary.hash


@pytest.mark.parametrize("token_id", [-1, 3, 1.0, "a", None, True])
def test_an_id_out_of_range_is_a_usage_error(token_id: object) -> None:
    with pytest.raises(UsageError, match="id"):
        Vocabulary.from_tokens(["a", "b", "</s>"], eos=2).text(token_id)  # type: ignore[arg-type]


def test_the_hash_depends_on_bytes_eos_width_and_printed_forms() -> None:
    base = Vocabulary.from_tokens(["ab", "c", "</s>"], eos=2)
    same = Vocabulary.from_tokens([b"ab", b"c", b"</s>"], eos=2)
    assert base.hash == same.hash
    others = [
        Vocabulary.from_tokens(["a", "bc", "</s>"], eos=2),
        Vocabulary.from_tokens(["ab", "c", "</s>"], eos=2, width=4),
        Vocabulary.from_tokens(["ab", "c", "</s>"], eos=[2, 1]),
        Vocabulary.from_tokens(["ab", "c", "<end>"], eos=2),
    ]
    assert len({base.hash, *(other.hash for other in others)}) == 5


def byte_level(add_eos: bool = True):  # type: ignore[no-untyped-def]
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = [*alphabet, "Ġt", "ðŁ", "ðŁĺĢ"]
    backend = Tokenizer(models.BPE({piece: i for i, piece in enumerate(pieces)}, [("Ġ", "t"), ("ð", "Ł")]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_tokens([AddedToken("Ġ tab", special=False)])
    options = {"eos_token": "<|end|>"} if add_eos else {}
    return PreTrainedTokenizerFast(tokenizer_object=backend, **options)


def test_a_byte_level_bpe_gives_bytes_not_its_printed_letters() -> None:
    tokenizer = byte_level()
    vocabulary = Vocabulary.from_transformers(tokenizer, width=300)
    bytes_of = {piece: vocabulary.token_bytes[i] for piece, i in tokenizer.get_vocab().items()}
    assert bytes_of["Ġt"] == b" t"
    assert bytes_of["ðŁ"] == b"\xf0\x9f"
    assert bytes_of["ðŁĺĢ"] == "😀".encode()
    assert sorted(data for data in vocabulary.token_bytes if len(data) == 1) == [
        bytes([b]) for b in range(256)
    ]


def test_an_added_token_is_plain_text_and_a_special_one_is_none() -> None:
    tokenizer = byte_level()
    vocabulary = Vocabulary.from_transformers(tokenizer)
    ids = tokenizer.get_vocab()
    assert vocabulary.token_bytes[ids["Ġ tab"]] == "Ġ tab".encode()
    assert vocabulary.token_bytes[ids["<|end|>"]] == b""
    assert vocabulary.eos_ids == (ids["<|end|>"],)
    assert vocabulary.text(ids["<|end|>"]) == "<|end|>"


def test_pieces_with_space_markers_and_byte_fallback_give_bytes() -> None:
    from tokenizers import Tokenizer, decoders, models
    from transformers import PreTrainedTokenizerFast

    pieces = ["<unk>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁the", "▁", "é"]
    backend = Tokenizer(
        models.BPE({p: i for i, p in enumerate(pieces)}, [], byte_fallback=True, unk_token="<unk>")
    )
    backend.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    vocabulary = Vocabulary.from_transformers(
        PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="</s>", unk_token="<unk>")
    )
    assert vocabulary.token_bytes[:3] == (b"", b"", b"\x00")
    assert vocabulary.token_bytes[2 + 0xE2] == b"\xe2"
    assert vocabulary.token_bytes[-3:] == (b" the", b" ", "é".encode())


def test_tokens_without_bytes_of_their_own_are_refused() -> None:
    from tokenizers import Tokenizer, decoders, models
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.WordPiece({"[UNK]": 0, "play": 1, "##ing": 2}, unk_token="[UNK]"))
    backend.decoder = decoders.WordPiece()
    with pytest.raises(VocabularyError, match="WordPiece"):
        Vocabulary.from_transformers(PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="[UNK]"))


def test_a_tokenizer_without_eos_or_too_wide_is_refused() -> None:
    with pytest.raises(VocabularyError, match="no EOS"):
        Vocabulary.from_transformers(byte_level(add_eos=False))
    with pytest.raises(VocabularyError, match="too small"):
        Vocabulary.from_transformers(byte_level(), width=10)
    with pytest.raises(VocabularyError, match="fast"):
        Vocabulary.from_transformers(object())
