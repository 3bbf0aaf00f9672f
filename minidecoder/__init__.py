"""minidecoder: how an automaton decides which tokens a language model may say next.

Read the rungs from the bottom: `regex`, `tokens`, `decoding`, then `compiling` and `api`, whose names
are given here. Importing this needs NumPy alone; models, plots and widgets are imported where used.
"""

from typing import Any

from minidecoder.api import Run, generate, generate_many, stream
from minidecoder.automaton import DEAD, Automaton, State, TokenId
from minidecoder.compiling import (
    compile_choice,
    compile_grammar,
    compile_json,
    compile_json_schema,
    compile_regex,
)
from minidecoder.decoding.constraint import Constraint
from minidecoder.decoding.loop import Step
from minidecoder.decoding.matcher import Matcher
from minidecoder.decoding.sampling import Sampling
from minidecoder.errors import (
    ConstraintTooLargeError,
    EmptyMaskError,
    GenerationInterrupted,
    GrammarSyntaxError,
    MiniDecoderError,
    MissingDependencyError,
    ModelError,
    RegexSyntaxError,
    SchemaError,
    UnsatisfiableConstraintError,
    UnsupportedFeatureError,
    UsageError,
    VocabularyError,
)
from minidecoder.lens.explain import Verdict, explain
from minidecoder.lens.explain_step import explain_step
from minidecoder.lens.nearest import nearest_allowed
from minidecoder.lens.trace import Trace
from minidecoder.structured import StructuredOutputs, from_response_format
from minidecoder.tokens.vocabulary import Vocabulary

__version__ = "0.1.0"

__all__ = [
    "DEAD",
    "Automaton",
    "Constraint",
    "ConstraintTooLargeError",
    "EmptyMaskError",
    "GenerationInterrupted",
    "GrammarSyntaxError",
    "Matcher",
    "MiniDecoderError",
    "MissingDependencyError",
    "ModelError",
    "RegexSyntaxError",
    "Run",
    "Sampling",
    "SchemaError",
    "State",
    "Step",
    "StructuredOutputs",
    "TokenId",
    "Trace",
    "UnsatisfiableConstraintError",
    "UnsupportedFeatureError",
    "UsageError",
    "Verdict",
    "Vocabulary",
    "VocabularyError",
    "compile_choice",
    "compile_grammar",
    "compile_json",
    "compile_json_schema",
    "compile_regex",
    "explain",
    "explain_step",
    "from_response_format",
    "generate",
    "generate_many",
    "lab",
    "nearest_allowed",
    "stream",
]


def lab(**form: Any) -> Any:
    """The lab as a widget, for a cell of JupyterLab; `minidecoder.viz.lab` says what `form` may hold."""
    from minidecoder.viz.lab import lab as open_lab

    return open_lab(**form)
