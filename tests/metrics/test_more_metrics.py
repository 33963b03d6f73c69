"""Agreement beyond chance, overlap, costs and pairs against scikit-learn, SciPy and counting by hand."""

import numpy as np
import pytest
from scipy.spatial.distance import directed_hausdorff
from sklearn import metrics as oracle

from margin import metrics


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weighted", [False, True])
def test_kappa_and_jaccard_equal_scikit_learn(seed, weighted):
    rng = np.random.default_rng(seed)
    y, p = rng.integers(0, 4, size=(2, 60))
    w = rng.uniform(0.5, 2, 60) if weighted else None
    np.testing.assert_allclose(metrics.cohen_kappa(y, p, w), oracle.cohen_kappa_score(y, p, sample_weight=w))
    for average in ("micro", "macro", "weighted", None):
        shared = {"average": average, "sample_weight": w, "zero_division": 0}
        np.testing.assert_allclose(metrics.jaccard(y, p, **shared), oracle.jaccard_score(y, p, **shared))
    assert metrics.jaccard(y > 1, p > 1) == pytest.approx(oracle.jaccard_score(y > 1, p > 1))


def test_kappa_of_one_label_has_no_value():
    with pytest.raises(metrics.UndefinedMetricError, match="cohen_kappa"):
        metrics.cohen_kappa([1, 1], [1, 1])


@pytest.mark.parametrize("seed", range(3))
def test_regression_additions_equal_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    y, p, w = rng.exponential(size=(3, 40))
    assert metrics.max_error(y, p) == pytest.approx(oracle.max_error(y, p))
    assert metrics.rmsle(y, p, w) == pytest.approx(oracle.root_mean_squared_log_error(y, p, sample_weight=w))
    with pytest.raises(ValueError, match="rmsle"):
        metrics.rmsle(-y, p)


@pytest.mark.parametrize("seed", range(3))
def test_pairs_costs_and_recall_by_hand(seed):
    rng = np.random.default_rng(seed)
    y = (np.arange(50) % 3 == 0).astype(int)
    s = rng.integers(0, 12, 50).astype(float)
    signs = np.sign(s[y == 1][:, None] - s[y == 0])
    assert metrics.pair_count(y, s) == tuple(int(np.sum(signs == k)) for k in (1, 0, -1))
    for t in (-1.0, 5.0, 6.5, 20.0):
        cost = np.mean(3 * ((s > t) & (y == 0)) + 7 * ((s <= t) & (y == 1)))
        assert metrics.cost_at_threshold(y, s, t, 3, 7) == pytest.approx(cost)
    threshold, least = metrics.best_threshold(y, s, 3, 7)
    assert metrics.cost_at_threshold(y, s, threshold, 3, 7) == pytest.approx(least)
    for limit in (0.0, 0.1, 0.5, 1.0):
        rates = [(np.mean(s[y == 0] >= t), np.mean(s[y == 1] >= t)) for t in np.append(s, np.inf)]
        assert metrics.recall_at_fpr(y, s, limit) == pytest.approx(max(tpr for fpr, tpr in rates if fpr <= limit))


@pytest.mark.parametrize("seed", range(3))
def test_hausdorff_pairs_attain_the_distances(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(20, 3)), rng.normal(size=(15, 3))
    (i, j), (k, m) = metrics.hausdorff_pairs(X, Y)
    assert np.linalg.norm(X[i] - Y[j]) == pytest.approx(directed_hausdorff(X, Y)[0])
    assert np.linalg.norm(X[k] - Y[m]) == pytest.approx(directed_hausdorff(Y, X)[0])


def test_boxes():
    masks = np.zeros((2, 10, 10), dtype=bool)
    masks[0, 1:6, 2:8] = True
    masks[1, 3:9, 5:9] = True
    assert metrics.box_iou((2, 1, 8, 6), (5, 3, 9, 9)) == pytest.approx(metrics.iou(*masks))
    assert metrics.box_iou((0, 0, 1, 1), (1, 1, 2, 2)) == 0
    assert metrics.box_iou((0, 0, 0, 0), (0, 0, 0, 0)) == 0
    with pytest.raises(ValueError, match="a box is"):
        metrics.box_iou((1, 0, 0, 1), (0, 0, 1, 1))
