"""Thirty of the thousand ugly tables of ``python -m fuzz.tables``: each becomes a fitted pipeline or one sentence."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))
from fuzz.tables import try_table


@pytest.mark.parametrize("number", range(30))
def test_a_model_or_a_sentence(number, tmp_path):
    outcome, said = try_table(number, tmp_path)
    assert outcome in ("fitted", "sentence")
    assert said


def test_most_tables_are_fitted(tmp_path):
    outcomes = [try_table(number, tmp_path)[0] for number in range(100, 115)]
    assert outcomes.count("fitted") >= 9
