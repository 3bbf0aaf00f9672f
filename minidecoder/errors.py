"""Every error of the package: one tree, and each says where the fault is and what to do about it.

    MiniDecoderError
    ├── RegexSyntaxError           the pattern is not a regular expression       (position, caret line)
    ├── UnsupportedFeatureError    understood, but not compiled             (feature, position or pointer)
    ├── VocabularyError            the token list cannot be used as it stands
    ├── UnsatisfiableConstraintError   no token sequence of this vocabulary can finish
    ├── ConstraintTooLargeError    a limit was passed, and its name
    ├── EmptyMaskError             a logits row with nothing left to draw
    ├── ModelError                 the model is missing, or its logits are unusable
    └── UsageError(ValueError)     an argument out of range

Left out: GrammarSyntaxError and SchemaError, which come with the packages that raise them.
"""

from __future__ import annotations

import unicodedata

__all__ = [
    "ConstraintTooLargeError",
    "EmptyMaskError",
    "MiniDecoderError",
    "MissingDependencyError",
    "ModelError",
    "RegexSyntaxError",
    "UnsatisfiableConstraintError",
    "UnsupportedFeatureError",
    "UsageError",
    "VocabularyError",
]

_CARET_WINDOW = 72  # characters of a long pattern shown around the caret


class MiniDecoderError(Exception):
    """The root: `except MiniDecoderError` catches whatever this package raises on purpose."""


class UsageError(MiniDecoderError, ValueError):
    """An argument that cannot mean anything; the message names it and the values that can."""


class RegexSyntaxError(MiniDecoderError, ValueError):
    """`pattern` is not a regular expression; `position` is the 0-based character at fault."""

    def __init__(self, message: str, pattern: str, position: int) -> None:
        self.pattern = pattern
        self.position = position
        super().__init__(f"{message} at position {position}\n{caret_line(pattern, position)}")


class UnsupportedFeatureError(MiniDecoderError):
    """A construct we recognise and do not compile.

    Attributes: `feature` its name, `pattern` and `position` (0-based) for a regular expression,
    `pointer` (a JSON pointer) for a schema; `remedy` a rewrite where there is one.
    """

    def __init__(
        self,
        feature: str,
        *,
        pattern: str | None = None,
        position: int | None = None,
        pointer: str | None = None,
        remedy: str = "",
    ) -> None:
        self.feature = feature
        self.pattern = pattern
        self.position = position
        self.pointer = pointer
        self.remedy = remedy
        text = f"{feature} is not supported"
        if position is not None:
            text += f" (position {position})"
        if pointer is not None:
            text += f" (at {pointer or 'the root'})"
        if remedy:
            text += f": {remedy}"
        if pattern is not None and position is not None:
            text += f"\n{caret_line(pattern, position)}"
        super().__init__(text)


class VocabularyError(MiniDecoderError, ValueError):
    """The tokens, their ids, the EOS ids or the width contradict each other."""


class UnsatisfiableConstraintError(MiniDecoderError):
    """No sequence of this vocabulary's tokens matches the constraint from start to end."""


class ConstraintTooLargeError(MiniDecoderError):
    """Compiling was stopped by a limit; `limit` names it (`"max_states"` or `"timeout_s"`)."""

    def __init__(self, message: str, limit: str) -> None:
        self.limit = limit
        super().__init__(f"{message} (the limit is the argument {limit})")


class EmptyMaskError(MiniDecoderError):
    """Nothing can be drawn from a logits row; the message says which step emptied it."""


class ModelError(MiniDecoderError):
    """The model cannot be found or loaded, or its logits cannot be used (NaN, a wrong width)."""


class MissingDependencyError(MiniDecoderError, ImportError):
    """An optional package is not installed; the message is the command that installs it."""

    def __init__(self, package: str, extra: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(f"{package} is not installed: pip install 'minidecoder[{extra}]'")


def caret_line(text: str, position: int) -> str:
    """Two lines: the text around `position` (control characters visible) and a caret under it."""
    first = max(0, position - _CARET_WINDOW // 2)
    cut = text[first : first + _CARET_WINDOW]
    shown = [char if char.isprintable() else ascii(char)[1:-1] for char in cut]
    before = "…" if first else ""
    after = "…" if first + _CARET_WINDOW < len(text) else ""
    column = len(before) + sum(map(_columns, shown[: position - first]))
    return f"  {before}{''.join(shown)}{after}\n  {' ' * column}^"


def _columns(text: str) -> int:
    """How wide a terminal prints a text: wide characters take two columns, combining ones none."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) > 0 for char in text)
