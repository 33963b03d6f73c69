"""Coverage, ties, contrast and local dimension against counting and known sets."""

import numpy as np
import pytest

from margin.reduction import coverage, distance_contrast, grid_neighbors, intrinsic_dimensions, occupied_cells


def test_coverage_of_the_notes():
    assert coverage(100, 1e12) == pytest.approx(1e12 / 2.0**100, rel=1e-12)
    assert coverage(3, 100) == 1.0
    assert coverage(2, 10, values=10) == pytest.approx(0.1)


def test_occupied_cells_counts_distinct_cells():
    assert occupied_cells([[0.0, 0.0], [0.1, 0.1], [1.0, 1.0]], 2) == 0.5


@pytest.mark.parametrize("d", range(1, 7))
def test_two_neighbors_per_axis(d):
    assert grid_neighbors(d) == 2 * d


@pytest.mark.parametrize("m", [1, 2, 5])
def test_intrinsic_dimension_of_a_flat_sheet_in_space(m):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2000, m)) @ np.linalg.qr(rng.normal(size=(20, m)))[0].T
    assert np.median(intrinsic_dimensions(X)) == pytest.approx(m, rel=0.2)


def test_coincident_rows_have_a_dimension():
    assert np.isfinite(intrinsic_dimensions(np.ones((30, 2)))).all()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: coverage(0, 10), "d must be an integer of at least 1; got 0"),
        (lambda: coverage(2, -1), "n must be a positive number; got -1"),
        (lambda: occupied_cells([[2.0]], 3), "X must be rows inside the unit cube"),
        (lambda: grid_neighbors(20), "d must be an integer from 1 to 9; got 20"),
        (lambda: distance_contrast([[1.0, 1.0]], [1.0]), "query must have shape"),
        (lambda: distance_contrast([[1.0, 1.0]], [1.0, 1.0]), "query must differ from every row"),
        (lambda: intrinsic_dimensions(np.ones((5, 2))), "X must have more than k=20 rows"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
