"""minidecoder: how an automaton decides which tokens a language model may say next.

Read the rungs from the bottom: `regex`, `tokens`, `decoding`, then `api`, whose names are given
here. Importing this needs NumPy alone; models, plots and widgets are imported where used.
"""

from minidecoder.api import Run, compile_regex, generate, stream
from minidecoder.automaton import DEAD, Automaton, State, TokenId
from minidecoder.decoding.constraint import Constraint
from minidecoder.decoding.loop import Step
from minidecoder.decoding.matcher import Matcher
from minidecoder.decoding.sampling import Sampling
from minidecoder.errors import (
    ConstraintTooLargeError,
    EmptyMaskError,
    MiniDecoderError,
    MissingDependencyError,
    ModelError,
    RegexSyntaxError,
    UnsatisfiableConstraintError,
    UnsupportedFeatureError,
    UsageError,
    VocabularyError,
)
from minidecoder.lens.explain import Verdict, explain
from minidecoder.lens.trace import Trace
from minidecoder.tokens.vocabulary import Vocabulary

__version__ = "0.1.0"

__all__ = [
    "DEAD",
    "Automaton",
    "Constraint",
    "ConstraintTooLargeError",
    "EmptyMaskError",
    "Matcher",
    "MiniDecoderError",
    "MissingDependencyError",
    "ModelError",
    "RegexSyntaxError",
    "Run",
    "Sampling",
    "State",
    "Step",
    "TokenId",
    "Trace",
    "UnsatisfiableConstraintError",
    "UnsupportedFeatureError",
    "UsageError",
    "Verdict",
    "Vocabulary",
    "VocabularyError",
    "compile_regex",
    "explain",
    "generate",
    "stream",
]
