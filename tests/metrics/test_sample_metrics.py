"""Measures of two sets of rows: closed forms, other formulas, and sets whose relation is known."""

import numpy as np
import pytest
from scipy.linalg import sqrtm

from margin.metrics.samples import (
    debiased_frechet_distance,
    frechet_distance,
    frechet_distance_of_normals,
    inception_score,
    manifold_scores,
    memorization,
    mmd_squared,
    nearest_neighbor_test,
)


@pytest.mark.parametrize("seed", range(3))
def test_both_forms_of_the_frechet_distance(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(60, 4)), rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4))
    A, B, gap = np.cov(a.T), np.cov(b.T), a.mean(axis=0) - b.mean(axis=0)
    other = gap @ gap + np.trace(A + B - 2 * np.real(sqrtm(A @ B)))
    assert frechet_distance(a, b) == pytest.approx(other)
    assert frechet_distance(a, b) == pytest.approx(frechet_distance(b, a))
    assert frechet_distance_of_normals(1.0, 4.0, 3.0, 1.0) == pytest.approx(4 + 1)  # (m - n)^2 + (s - t)^2


def test_the_bias_of_few_rows_is_extrapolated():
    biased, extrapolated = [], []
    for seed in range(20):
        a, b = np.random.default_rng(seed).normal(size=(2, 200, 6))
        biased.append(frechet_distance(a, b))
        extrapolated.append(debiased_frechet_distance(a, b))
    assert np.mean(biased) > 0.1
    assert abs(np.mean(extrapolated)) < 0.4 * np.mean(biased)


def test_mmd_by_its_definition_and_its_sign():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(7, 2)), rng.normal(size=(5, 2)) + 1

    def mean_kernel(x, y, skip):
        pairs = [(i, j) for i in range(len(x)) for j in range(len(y)) if not (skip and i == j)]
        return np.mean([np.exp(-0.7 * ((x[i] - y[j]) ** 2).sum()) for i, j in pairs])

    expected = mean_kernel(a, a, True) + mean_kernel(b, b, True) - 2 * mean_kernel(a, b, False)
    assert mmd_squared(a, b, gamma=0.7) == pytest.approx(expected)
    same = [mmd_squared(*np.random.default_rng(s).normal(size=(2, 100, 2))) for s in range(30)]
    assert abs(np.mean(same)) < 3 * np.std(same) / np.sqrt(30) + 1e-3
    assert mmd_squared(rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + 2) > 0.1


def test_neighborhoods():
    rng = np.random.default_rng(0)
    real = rng.normal(size=(300, 2))
    assert manifold_scores(real, real)[:2] == (1.0, 1.0)
    far = manifold_scores(real, real + 100)
    assert far == (0.0, 0.0, 0.0, 0.0)
    narrow = manifold_scores(real, 0.2 * rng.normal(size=(300, 2)))
    assert narrow.precision > 0.95
    assert narrow.recall < 0.5
    assert narrow.coverage < 0.5


def test_the_two_sample_test_and_memorization():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 400, 3))
    assert 0.4 < nearest_neighbor_test(a, b).accuracy < 0.6
    assert nearest_neighbor_test(a, b + 2).p_value < 1e-6
    assert nearest_neighbor_test(a, a + 1e-9).accuracy < 0.1
    p = [nearest_neighbor_test(*np.random.default_rng(s).normal(size=(2, 100, 2))).p_value for s in range(60)]
    assert np.mean(np.array(p) < 0.05) < 0.15
    c = rng.normal(size=(400, 3))
    assert not memorization(a, b, c).is_memorizing
    assert memorization(a, b, a[:100] + 1e-6).is_memorizing


def test_inception_scores_and_bad_input():
    assert inception_score(np.full((5, 3), 1 / 3)) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="sum to 1"):
        inception_score([[0.5, 0.6]])
    with pytest.raises(ValueError, match="same columns; got 2 and 3"):
        frechet_distance(np.zeros((5, 2)), np.zeros((5, 3)))
    with pytest.raises(ValueError, match="at least 6 rows"):
        manifold_scores(np.zeros((5, 2)), np.zeros((9, 2)))
    with pytest.raises(ValueError, match="must be finite"):
        mmd_squared([[np.nan]], [[0.0]])
