"""A verdict can fail: every builder is shown failing as well as holding."""

import json

import numpy as np
import pytest

from margin.core.verdict import above, below, corrected, equal, every, near, raises, within


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (near(1.0, 1.0 + 1e-9, tolerance=1e-8), near(1.0, 1.1, tolerance=1e-8)),
        (near([1, 2], [1, 2], tolerance=0), near([1, 2], [1, 2, 3], tolerance=10)),
        (near(1 + 2j, 1 + 2j, tolerance=0), near(np.nan, np.nan, tolerance=1)),
        (equal((2, 3), (2, 3)), equal(np.array([1]), np.array([2]))),
        (below(1, 2), below(2, 2)),
        (above(3, 2), above(np.nan, 2)),
        (within(1, 1, 2), within(2.1, 1, 2)),
        (raises(ValueError, lambda: int("x"), match="invalid"), raises(ValueError, lambda: int("1"))),
    ],
)
def test_holds_and_fails(good, bad):
    assert (good.ok, good.word) == (True, "holds")
    assert (bad.ok, bad.word) == (False, "fails")
    json.dumps([good.measured, good.expected, bad.measured, bad.expected])


def test_every_needs_all():
    assert every(a=below(1, 2), b=below(1, 2)).ok
    assert not every(a=below(1, 2), b=below(3, 2)).ok
    assert every(a=below(1, 2)).measured == {"a": 1.0}


def test_corrected_needs_a_counter_example():
    assert corrected(below(1, 2), printed=below(3, 2)).word == "corrected"
    assert corrected(below(1, 2), printed=below(1, 2)).word == "fails"
    assert corrected(below(3, 2), printed=below(3, 2)).word == "fails"
    assert every(a=corrected(below(1, 2), printed=below(3, 2)), b=below(1, 2)).word == "corrected"


def test_large_arrays_are_summarized():
    verdict = near(np.zeros((5, 5)), np.full((5, 5), 1e-3), tolerance=1e-2)
    assert verdict.measured == "array (5, 5) off by 0.001"
