r"""The smallest decoder: keep a token if text + token can still become a full match.

No automaton: one question to a regex engine per token, O(V) calls a step (`regex_calls` counts them).
Python's `re` cannot ask for a partial match (none up to 3.14), so `PARTIAL_MATCH_STRATEGY` is what
this Python offers: "stdlib", should `re` ever learn it; "regex", that package's `partial=True`; or
"fallback", which rewrites the pattern so that it matches prefixes too. The fallback blocks only what
it can prove dead and otherwise answers "maybe". A fourth, "naive", asks `fullmatch` alone and
is wrong: it blocks `-` and `3.` on the way to `-3.5`.

Left out: whether the *tokens* can finish what characters could (`tokens.dead_ends`). `regex` is to be
trusted for ASCII text without look-around, anchors, `\b` or empty classes; beyond, it may block
wrongly, and what only it reads as notation (`[[:alpha:]]`, `{e<=1}`) changes meaning.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import warnings
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minidecoder.automaton import TokenId
from minidecoder.errors import (
    EmptyMaskError,
    MissingDependencyError,
    ModelError,
    RegexSyntaxError,
    UsageError,
)
from minidecoder.regex.prefix_pattern import ANYTHING, prefix_pattern, without_lazy

__all__ = ["PARTIAL_MATCH_STRATEGY", "STRATEGIES", "Answer", "PartialMatcher", "RegexGuide"]


class Answer(Enum):
    """Can the text still become a full match?"""

    YES = "yes"
    NO = "no"
    MAYBE = "maybe"  # not refuted, and no short completion found: allowed


def _stdlib_has_partial() -> bool:
    """Ask by behaviour, not by version: a keyword that exists must also tell prefixes from the rest."""
    pattern: Any = re.compile("ab")
    try:
        return bool(pattern.fullmatch("a", partial=True)) and not pattern.fullmatch("b", partial=True)
    except TypeError:
        return False


def _choose() -> str:
    if _stdlib_has_partial():
        return "stdlib"
    return "regex" if importlib.util.find_spec("regex") else "fallback"


STRATEGIES: Final = ("stdlib", "regex", "fallback", "naive")
PARTIAL_MATCH_STRATEGY: Final = _choose()
"""The best strategy that this Python offers: "stdlib", "regex" or "fallback"."""


class PartialMatcher:
    """Two questions about a text, for one pattern in `re` syntax; `calls` counts what they cost.

    Errors: `RegexSyntaxError` where `re` refuses the pattern, `UsageError` for a strategy that does not
    exist or is not to be had, `MissingDependencyError` for "regex" without the package.
    """

    def __init__(self, pattern: str, strategy: str = PARTIAL_MATCH_STRATEGY) -> None:
        if strategy not in STRATEGIES or (strategy == "stdlib" and not _stdlib_has_partial()):
            raise UsageError(f"strategy={strategy!r} is not to be had here: use {PARTIAL_MATCH_STRATEGY!r}")
        self.pattern = pattern
        self.strategy = strategy
        self.calls = 0
        self._full = _compile(re, pattern)
        self._still_possible = self._question()

    def _question(self) -> Callable[[str], object]:
        """A call that gives something true unless the text is dead."""
        if self.strategy == "naive":
            return lambda text: self._full.fullmatch(text)
        if self.strategy == "fallback":
            return self._fallback()
        engine = re if self.strategy == "stdlib" else _import_regex()
        compiled: Any = _compile(engine, without_lazy(self.pattern))
        return lambda text: compiled.fullmatch(text, partial=True)

    def _fallback(self) -> Callable[[str], object]:
        prefixes = prefix_pattern(self.pattern)
        try:
            # None: no proof is to be had, so nothing is ever blocked.
            compiled = _compile(re, ANYTHING if prefixes is None else prefixes)
        except UsageError:  # one level too deep, for the rewriting nests each character once more
            compiled = _compile(re, ANYTHING)
        return lambda text: compiled.fullmatch(text)

    def is_full_match(self, text: str) -> bool:
        self.calls += 1
        return self._full.fullmatch(text) is not None

    def could_match(self, text: str) -> bool:
        """Whether `text` may be the beginning of a full match. False is certain, except from "naive"."""
        self.calls += 1
        return bool(self._still_possible(text))

    def completion(self, text: str, tokens: Sequence[str], most: int) -> str | None:
        """The text with at most `most` tokens more that makes a full match, fewest tokens first; or None.

        Beginnings that are dead are not pursued; up to O(len(tokens) ** most) calls remain.
        """
        tried = [text]
        for left in range(most, -1, -1):
            found = next(filter(self.is_full_match, tried), None)
            if found is not None:
                return found
            longer = (candidate + token for candidate in tried for token in tokens if token and left)
            tried = [candidate for candidate in dict.fromkeys(longer) if self.could_match(candidate)]
        return None


def _compile(engine: Any, pattern: str) -> re.Pattern[str]:
    if not isinstance(pattern, str):
        raise UsageError(f"the pattern must be text, this is {type(pattern).__name__}")
    try:
        with warnings.catch_warnings():  # advice about a pattern's style concerns no lesson
            warnings.simplefilter("ignore")
            compiled: re.Pattern[str] = engine.compile(pattern)
    except engine.error as fault:
        raise RegexSyntaxError(fault.msg, pattern, fault.pos or 0) from fault
    except OverflowError as fault:
        raise RegexSyntaxError(str(fault), pattern, 0) from fault
    except (RecursionError, MemoryError) as fault:
        raise UsageError("the pattern is nested too deeply for `re`") from fault
    return compiled


def _import_regex() -> Any:
    try:
        return importlib.import_module("regex")
    except ImportError as fault:
        raise MissingDependencyError("regex", "dev") from fault


# -- the decoder --------------------------------------------------------------------------------------


class RegexGuide:
    """Holds a text to a pattern, token by token.

    `tokens[i]` is the text of token i. The one at `eos_token_id` never is text: it ends the run, and is
    allowed exactly where the text is a full match. An empty token is never allowed: it goes nowhere.
    Errors: those of `PartialMatcher`; `UsageError` for tokens that are no texts and ids out of range.
    """

    def __init__(
        self,
        pattern: str,
        tokens: Sequence[str],
        eos_token_id: int,
        *,
        strategy: str = PARTIAL_MATCH_STRATEGY,
    ) -> None:
        self.tokens = tuple(tokens)
        if odd := [token for token in self.tokens if not isinstance(token, str)]:
            raise UsageError(f"a token must be text, this is {odd[0]!r}")
        self.eos_token_id = self._check_id(eos_token_id)
        self.matcher = PartialMatcher(pattern, strategy)
        self.text = ""
        self.token_ids: list[TokenId] = []
        self.is_finished = False  # EOS was consumed

    @property
    def regex_calls(self) -> int:
        """The questions asked of the regex engine so far."""
        return self.matcher.calls

    def is_complete(self) -> bool:
        """Whether the text so far is a full match."""
        return self.matcher.is_full_match(self.text)

    def is_allowed(self, token_id: int) -> bool:
        """Whether `consume` would take the token: one regex call."""
        token = self.tokens[self._check_id(token_id)]
        if self.is_finished:
            return False
        if token_id == self.eos_token_id:
            return self.is_complete()
        return bool(token) and self.matcher.could_match(self.text + token)

    def answer(self, token_id: int, *, most_tokens: int = 2) -> Answer:
        """What is known of a token: NO blocks it, YES has a full match to show, MAYBE has neither.

        An exact strategy says YES at once; "fallback" looks for a completion of up to `most_tokens`.
        """
        if not self.is_allowed(token_id):
            return Answer.NO
        if token_id == self.eos_token_id or self.matcher.strategy in ("stdlib", "regex"):
            return Answer.YES
        texts = [token for other, token in enumerate(self.tokens) if other != self.eos_token_id]
        found = self.matcher.completion(self.text + self.tokens[token_id], texts, most_tokens)
        return Answer.MAYBE if found is None else Answer.YES

    def next_allowed(self, logits: ArrayLike) -> NDArray[np.floating[Any]]:
        """A new row, float (V,), with -inf for each token that is blocked; every id keeps its place.

        At most V regex calls. Raises `ModelError` for another width or NaN, `EmptyMaskError` where nothing
        is left.
        """
        row = np.asarray(logits)
        if row.shape != (len(self.tokens),):
            raise ModelError(f"the logits have shape {row.shape}, there are {len(self.tokens):,} tokens")
        if np.isnan(row).any():
            raise ModelError(f"the logit of token {int(np.isnan(row).argmax())} is not a number")
        allowed = [self.is_allowed(token_id) for token_id in range(len(self.tokens))]
        masked = np.where(allowed, row, -np.inf)
        if not np.isfinite(masked).any():
            reason = (
                "the run has ended with EOS" if self.is_finished else f"no token can follow {self.text!r}"
            )
            raise EmptyMaskError(f"{reason}: the pattern is {self.matcher.pattern!r}")
        return masked

    def consume(self, token_id: int) -> None:
        """Append a token, or end the run with EOS. A blocked one raises `UsageError` and changes nothing."""
        if not self.is_allowed(token_id):
            raise UsageError(f"token {token_id} ({self.tokens[token_id]!r}) cannot follow {self.text!r}")
        self.token_ids.append(TokenId(token_id))
        if token_id == self.eos_token_id:
            self.is_finished = True
        else:
            self.text += self.tokens[token_id]

    def _check_id(self, token_id: int) -> int:
        if token_id not in range(len(self.tokens)):
            raise UsageError(f"token id {token_id!r} is out of range: 0 to {len(self.tokens) - 1}")
        return int(token_id)
