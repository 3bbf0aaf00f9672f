"""Tekken, Mistral's vocabulary of 131,072 tokens, from the file that `mistral_common` carries.

Left out: a model; its weights are gigabytes (`ngram` gives one that is estimated from a text). Cost: seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from minidecoder.errors import MissingDependencyError
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["TEKKEN_FILE", "load_tekken"]

TEKKEN_FILE: Final = "tekken_240911.json"


def load_tekken() -> tuple[Vocabulary, Callable[[str], list[int]]]:
    """The vocabulary, and what makes ids of a text. `MissingDependencyError` without `mistral_common`."""
    try:
        package: Any = import_module("mistral_common")
        module: Any = import_module("mistral_common.tokens.tokenizers.tekken")
    except ModuleNotFoundError:
        raise MissingDependencyError("mistral-common", extra="peers") from None
    tekken = module.Tekkenizer.from_file(Path(package.__file__).parent / "data" / TEKKEN_FILE)

    def encode(text: str) -> list[int]:
        return list(map(int, tekken.encode(text, bos=False, eos=False)))

    return Vocabulary.from_mistral_common(tekken), encode
