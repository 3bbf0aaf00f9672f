"""Toy models: the logits are those that were asked for, and stay so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minidecoder.decoding.language_model import LanguageModel, TextModel
from minidecoder.errors import ModelError, UsageError
from minidecoder.models import TableModel, UniformModel


def test_uniform_model_finds_every_token_equally_likely() -> None:
    logits = UniformModel(5).next_logits([3, 1])
    assert logits.shape == (5,)
    assert np.ptp(logits) == 0


def test_table_model_looks_up_the_exact_prefix() -> None:
    model = TableModel(3, {(): [0, 1, 0], (1,): [0, 0, 9], (1, 2): [7, 0, 0]})
    assert model.next_logits([]).tolist() == [0, 1, 0]
    assert model.next_logits([1]).tolist() == [0, 0, 9]
    assert model.next_logits((1, 2)).tolist() == [7, 0, 0]
    assert model.next_logits(np.array([1, 2])).tolist() == [7, 0, 0]


def test_table_model_answers_other_prefixes_with_the_default_and_not_with_a_suffix() -> None:
    rows = {(1,): [0.0, 0.0, 9.0]}
    assert TableModel(3, rows).next_logits([2, 1]).tolist() == [0, 0, 0]
    assert TableModel(3, rows, default=[1, 2, 3]).next_logits([2, 1]).tolist() == [1, 2, 3]


@pytest.mark.parametrize("ids", [[], [1], [2]])
def test_masking_the_logits_in_place_does_not_damage_the_model(ids: list[int]) -> None:
    for model in (UniformModel(3), TableModel(3, {(1,): [1, 2, 3]}, default=[4, 5, 6])):
        before = model.next_logits(ids).tolist()
        model.next_logits(ids)[:] = -np.inf
        assert model.next_logits(ids).tolist() == before


def test_changing_the_lists_afterwards_does_not_change_the_table() -> None:
    row, default = [1.0, 2.0], [3.0, 4.0]
    model = TableModel(2, {(): row}, default)
    row[0] = default[0] = -1.0
    assert model.next_logits([]).tolist() == [1, 2]
    assert model.next_logits([0]).tolist() == [3, 4]


def test_rows_may_hold_what_a_broken_model_gives() -> None:
    logits = TableModel(2, {(): [float("nan"), float("-inf")]}).next_logits([])
    assert np.isnan(logits[0])
    assert logits[1] == -np.inf


@pytest.mark.parametrize("width", [0, -3, 10**12])
def test_a_width_below_one_is_refused(width: int) -> None:
    with pytest.raises(UsageError, match=f"width={width}"):
        UniformModel(width)
    with pytest.raises(UsageError, match=f"width={width}"):
        TableModel(width, {})


def test_a_row_of_another_width_is_refused() -> None:
    with pytest.raises(ModelError, match=r"\(2,\).*width is 3"):
        TableModel(3, {(): [0, 1]})
    with pytest.raises(ModelError, match="width is 3"):
        TableModel(3, {}, default=[0, 1, 2, 3])


def test_a_prefix_that_no_run_can_reach_is_refused() -> None:
    with pytest.raises(UsageError, match=r"id 3; ids are 0\.\.2"):
        TableModel(3, {(3,): [0, 1, 2]})


@pytest.mark.parametrize("width", ["x", 1.5, True, None])
def test_a_width_is_a_whole_number(width: object) -> None:
    with pytest.raises(UsageError, match="width must be a whole number"):
        UniformModel(width)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="width must be a whole number"):
        TableModel(width, {})  # type: ignore[arg-type]


@pytest.mark.parametrize("prefix", [5, ("a",), (0.5,), (True,), "ab", b"\x00"])
def test_a_prefix_is_a_tuple_of_ids(prefix: object) -> None:
    with pytest.raises(UsageError, match="prefix"):
        TableModel(2, {prefix: [1, 2]})  # type: ignore[dict-item]


@pytest.mark.parametrize("row", [["x", "y"], [None, 1], [1j, 2], 5])
def test_a_row_is_numbers(row: object) -> None:
    with pytest.raises(ModelError, match="a row of logits"):
        TableModel(2, {}, default=row)  # type: ignore[arg-type]


def test_what_is_no_table_or_no_id_is_refused() -> None:
    with pytest.raises(UsageError, match="rows must be"):
        TableModel(2, None)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"whole number, not 1\.7"):
        TableModel(2, {}).next_logits([1.7])  # type: ignore[list-item]


def test_toys_are_language_models_and_a_class_need_only_have_the_methods() -> None:
    class Homemade:
        def next_logits(self, token_ids: object) -> object:
            return None

        def encode(self, text: str) -> list[int]:
            return []

    assert isinstance(UniformModel(2), LanguageModel)
    assert isinstance(TableModel(2, {}), LanguageModel)
    assert not isinstance(UniformModel(2), TextModel)
    assert isinstance(Homemade(), TextModel)
    assert not isinstance(object(), LanguageModel)


def test_importing_the_models_imports_neither_torch_nor_transformers() -> None:
    code = (
        "import sys, minidecoder.models; "
        "print([name for name in ('torch', 'transformers', 'gguf') if name in sys.modules])"
    )
    root = Path(__file__).parents[1]
    run = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
