"""The front door refuses what cannot mean anything: a typed error, before the model is asked."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minidecoder as md
from minidecoder.models.toy import UniformModel

VOCABULARY = md.Vocabulary.from_tokens(["</s>", "a", "b", "ab"], eos=0)
MODEL = UniformModel(4)


@pytest.fixture(scope="module")
def constraint() -> md.Constraint:
    return md.compile_regex("[ab]+", VOCABULARY)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampling": None}, r"sampling must be of type Sampling, not NoneType: Sampling\("),
        ({"sampling": {}}, "not dict"),
        ({"sampling": 0.5}, "not float"),
        ({"sampling": md.Sampling}, "not type"),
        ({"constraint": "[ab]+"}, "constraint must be of type Constraint, not str: compile_regex"),
        ({"model": None}, "model must be of type LanguageModel, not NoneType: .*next_logits"),
        ({"model": UniformModel}, "not type"),
        ({"vocabulary": ["a"]}, r"not list: Vocabulary.from_tokens"),
        ({"max_tokens": 1.5}, "max_tokens must be a whole number, not 1.5"),
        ({"max_tokens": "3"}, "max_tokens"),
        ({"max_tokens": None}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"max_tokens": math.nan}, "max_tokens"),
        ({"prompt": None}, "the prompt, where it is no str, must be a list, not NoneType"),
        ({"prompt": 5}, "the prompt"),
        ({"prompt": b"hello"}, "the prompt, where it is no str, must be a list, not bytes"),
        ({"prompt": {1, 2}}, "not set"),
        ({"prompt": np.array(1)}, "not ndarray"),
        ({"prompt": [1.7]}, "whole number, not 1.7"),
        ({"prompt": [True]}, "whole number, not True"),
        ({"prompt": ["1"]}, "whole number, not '1'"),
        ({"prompt": [[1, 2]]}, "whole number"),
        ({"prompt": [4]}, "token id 4 is not in the vocabulary"),
        ({"prompt": [-1]}, "token id -1"),
        ({"prompt": "\ud800"}, "the prompt, .*lone surrogate"),
    ],
)
@pytest.mark.parametrize("run", [md.generate, md.stream])
def test_an_argument_of_another_kind_is_named(
    constraint: md.Constraint, run: Callable[..., object], options: dict[str, Any], message: str
) -> None:
    arguments = {"model": MODEL, "prompt": [], "constraint": constraint, **options}
    with pytest.raises(md.UsageError, match=message):
        run(**arguments)


def test_a_matcher_is_no_constraint(constraint: md.Constraint) -> None:
    with pytest.raises(md.UsageError, match="not Matcher"):
        md.generate(MODEL, [], constraint=constraint.matcher())  # type: ignore[arg-type]


@pytest.mark.parametrize("prompt", [(1, 2), np.array([1, 2]), [np.int64(1), np.uint8(2)], range(1, 3)])
def test_ids_may_come_out_of_numpy(constraint: md.Constraint, prompt: Any) -> None:
    run = md.generate(MODEL, prompt, constraint=constraint, max_tokens=np.int64(1))  # type: ignore[arg-type]
    assert run.prompt_ids == (1, 2)
    assert {type(token_id) for token_id in run.prompt_ids} == {int}


@pytest.mark.parametrize("ids", [None, "ab", b"ab", 5, {"input_ids": [1]}, [1.0], [True], ["a"], [9], [-1]])
def test_a_model_that_encodes_a_prompt_into_no_ids_is_at_fault(constraint: md.Constraint, ids: Any) -> None:
    class Broken(UniformModel):
        def encode(self, text: str) -> Any:
            return ids

    with pytest.raises(md.ModelError, match=r"Broken\.encode gave no ids of this vocabulary"):
        md.generate(Broken(4), "hello", constraint=constraint)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pattern": None}, "pattern"),
        ({"pattern": b"a"}, "pattern"),
        ({"dialect": []}, "dialect must be of type str, not list"),
        ({"match": None}, "match must be of type str, not NoneType"),
        ({"vocabulary": None}, r"vocabulary must be .*NoneType: Vocabulary.from_tokens"),
        ({"vocabulary": ["a", "b"]}, r"list: Vocabulary.from_tokens"),
        ({"max_states": "5"}, "max_states must be a whole number, not '5'"),
        ({"max_states": 5.5}, "max_states"),
        ({"max_states": None}, "max_states"),
        ({"max_states": True}, "max_states"),
        ({"max_states": 0}, "max_states"),
        ({"timeout_s": "x"}, "timeout_s must be a number, not 'x'"),
        ({"timeout_s": None}, "timeout_s"),
        ({"timeout_s": math.nan}, "timeout_s"),
        ({"timeout_s": -1}, "timeout_s"),
    ],
)
def test_what_cannot_be_compiled_is_refused_even_where_the_constraint_is_cached(
    constraint: md.Constraint, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(md.UsageError, match=message):
        md.compile_regex(**{"pattern": constraint.source, "vocabulary": VOCABULARY, **options})


def test_limits_may_be_wide_open_and_do_not_matter_to_what_is_compiled(constraint: md.Constraint) -> None:
    assert md.compile_regex("[ab]+", VOCABULARY, max_states=np.int64(1), timeout_s=math.inf) is constraint  # type: ignore[arg-type]


@pytest.mark.parametrize("ids", [5, None, "ab", b"ab", {1}, [True], [1.0], [4]])
def test_only_ids_are_decoded(ids: Any) -> None:
    with pytest.raises(md.UsageError, match="token id"):
        VOCABULARY.decode(ids)
