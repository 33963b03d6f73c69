r"""Two sets of rows compared: real ones and generated ones.

None of these needs a density. The Frechet distance compares means and covariances of features,

.. math:: d_F^2 = \lVert \mu - \mu' \rVert^2
          + \operatorname{tr}\bigl(\Sigma + \Sigma' - 2(\Sigma^{1/2} \Sigma' \Sigma^{1/2})^{1/2}\bigr),

the maximum mean discrepancy compares means in the space of a kernel, and the manifold measures compare
neighborhoods: precision is the fraction of generated rows near real ones, recall that of real rows near generated ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from margin.core.arguments import finite as finite_array
from margin.core.docstrings import with_parameters
from margin.foundations.neighbors import nearest
from margin.metrics.parameter_texts import SAMPLES

__all__ = [
    "Manifold",
    "Memorization",
    "TwoSampleTest",
    "debiased_frechet_distance",
    "frechet_distance",
    "frechet_distance_of_normals",
    "inception_score",
    "manifold_scores",
    "memorization",
    "mmd_squared",
    "nearest_neighbor_test",
]


class Manifold(NamedTuple):
    """Fractions from 0 to 1; ``density`` may exceed 1. Improved precision and recall, density and coverage."""

    precision: float
    recall: float
    density: float
    coverage: float


class TwoSampleTest(NamedTuple):
    """How often a classifier tells the sets apart, and how probable that is if they have one distribution."""

    accuracy: float
    p_value: float


class Memorization(NamedTuple):
    """Median distance to the nearest training row, of generated and of held-out rows, and what that says.

    ``fraction_closer`` is the probability that a generated row is nearer to the training rows than a held-out one;
    1/2 is ideal, near 1 are copies. ``is_memorizing`` is whether a rank test finds generated rows nearer.
    """

    generated_distance: float
    held_out_distance: float
    fraction_closer: float
    p_value: float
    is_memorizing: bool


def frechet_distance_of_normals(mean_a: Any, covariance_a: Any, mean_b: Any, covariance_b: Any) -> float:
    r"""Squared Frechet (2-Wasserstein) distance :math:`d_F^2` of two normal distributions.

    Parameters
    ----------
    mean_a : array-like of shape (d,)
        Mean of the first normal.
    covariance_a : array-like of shape (d, d)
        Covariance of the first normal.
    mean_b : array-like of shape (d,)
        Mean of the second normal.
    covariance_b : array-like of shape (d, d)
        Covariance of the second normal.

    Examples
    --------
    >>> frechet_distance_of_normals([0, 0], np.eye(2), [3, 4], np.eye(2))
    25.0
    """
    m, n = np.atleast_1d(np.asarray(mean_a, dtype=float)), np.atleast_1d(np.asarray(mean_b, dtype=float))
    A, B = np.atleast_2d(np.asarray(covariance_a, dtype=float)), np.atleast_2d(np.asarray(covariance_b, dtype=float))
    if not (m.shape == n.shape and A.shape == B.shape == (len(m), len(m))):
        raise ValueError(f"frechet_distance_of_normals: shapes differ; got {m.shape}, {A.shape}, {n.shape}, {B.shape}.")
    values, vectors = np.linalg.eigh(A)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    inner = np.sqrt(np.maximum(np.linalg.eigvalsh(root @ B @ root), 0.0)).sum()
    return max(float((m - n) @ (m - n) + np.trace(A) + np.trace(B) - 2 * inner), 0.0)


@with_parameters(SAMPLES)
def frechet_distance(real: ArrayLike, generated: ArrayLike) -> float:
    """Squared Frechet distance of the normals with the means and covariances of two sets of feature rows.

    Its bias falls like 1/n: two samples of one distribution are never at distance 0, and sets of different sizes cannot
    be compared. :func:`debiased_frechet_distance` extrapolates to infinitely many rows.
    """
    a, b = _pair("frechet_distance", real, generated, least=2)
    return frechet_distance_of_normals(a.mean(axis=0), np.cov(a.T), b.mean(axis=0), np.cov(b.T))


@with_parameters(SAMPLES)
def debiased_frechet_distance(real: ArrayLike, generated: ArrayLike, n_splits: int = 8, random_state: int = 0) -> float:
    """The Frechet distance extrapolated to infinitely many rows; it may come out slightly negative.

    The bias is proportional to 1/n, so halves have twice that of the whole: twice the distance of the whole minus the
    mean distance of the halves, over ``n_splits`` random splits, has none of it left.

    Parameters
    ----------
    n_splits : int
        Number of random splits into halves.
    random_state : int
        Seed of the splits.
    """
    a, b = _pair("debiased_frechet_distance", real, generated, least=8)
    rng = np.random.default_rng(random_state)
    halves = []
    for _ in range(n_splits):
        parts = [np.array_split(x[rng.permutation(len(x))], 2) for x in (a, b)]
        halves += [frechet_distance(*pair) for pair in zip(*parts)]
    return 2 * frechet_distance(a, b) - float(np.mean(halves))


@with_parameters(SAMPLES)
def mmd_squared(real: ArrayLike, generated: ArrayLike, gamma: float | None = None) -> float:
    r"""Unbiased squared maximum mean discrepancy with kernel :math:`\exp(-\gamma \lVert x - y \rVert^2)`.

    Near 0, and possibly negative, for one distribution. ``gamma`` is 1 over the median squared distance by default.

    Parameters
    ----------
    gamma : float, optional
        Inverse squared width of the kernel.
    """
    a, b = _pair("mmd_squared", real, generated, least=2)
    within_a, within_b, across = (_squared_distances(x, y) for x, y in ((a, a), (b, b), (a, b)))
    if gamma is None:
        middle = float(np.median(across))
        gamma = 1.0 / middle if middle > 0 else 1.0
    m, n = len(a), len(b)
    k_a, k_b, k_ab = (np.exp(-gamma * d) for d in (within_a, within_b, across))
    return float((k_a.sum() - m) / (m * (m - 1)) + (k_b.sum() - n) / (n * (n - 1)) - 2 * k_ab.mean())


@with_parameters(SAMPLES)
def manifold_scores(real: ArrayLike, generated: ArrayLike, k: int = 5) -> Manifold:
    """Precision, recall, density and coverage with balls that reach to the k-th neighbor in the same set.

    Parameters
    ----------
    k : int
        Which neighbor the balls reach to.
    """
    a, b = _pair("manifold_scores", real, generated, least=k + 1)
    radius_a, radius_b = (nearest(x, x, k + 1).distances[:, -1] for x in (a, b))
    across = cdist(a, b)
    in_real, in_generated = across <= radius_a[:, None], across <= radius_b
    return Manifold(
        float(in_real.any(axis=0).mean()),
        float(in_generated.any(axis=1).mean()),
        float(in_real.sum() / (k * len(b))),
        float((across.min(axis=1) <= radius_a).mean()),
    )


@with_parameters(SAMPLES)
def nearest_neighbor_test(real: ArrayLike, generated: ArrayLike) -> TwoSampleTest:
    """Two-sample test by leave-one-out nearest neighbors: whether a row's neighbor is from the same set.

    Accuracy 1/2 means that the sets cannot be told apart, 1 that they are separate, 0 that each row has a copy in the
    other set. Sets are cut to the same size, so that guessing is right half the time.
    """
    from scipy.stats import binomtest

    a, b = _pair("nearest_neighbor_test", real, generated, least=2)
    n = min(len(a), len(b))
    rows, label = np.concatenate([a[:n], b[:n]]), np.repeat([0, 1], n)
    neighbors = nearest(rows, rows, 2).indices
    # With equal rows a row need not be its own first neighbor.
    other = np.where(neighbors[:, 0] == np.arange(2 * n), neighbors[:, 1], neighbors[:, 0])
    right = int((label[other] == label).sum())
    # Neighbors are mutual, so about half of the 2n answers are independent.
    return TwoSampleTest(right / (2 * n), float(binomtest(right // 2, n, 0.5, alternative="greater").pvalue))


@with_parameters(SAMPLES)
def memorization(train: Any, held_out: Any, generated: ArrayLike, level: float = 0.01) -> Memorization:
    """Whether generated rows are nearer to the training rows than held-out rows are, by the rank-sum test.

    Parameters
    ----------
    train : array-like of shape (n, n_features)
        Rows the model was fitted to.
    held_out : array-like of shape (k, n_features)
        Rows it has not seen.
    level : float
        Level of the test: the p-value below which the model is called memorizing.
    """
    from scipy.stats import mannwhitneyu

    rows, fresh = _pair("memorization", train, held_out, least=1)
    _, made = _pair("memorization", train, generated, least=1)
    d_fresh, d_made = (nearest(rows, x, 1).distances[:, 0] for x in (fresh, made))
    test = mannwhitneyu(d_made, d_fresh, alternative="less")
    closer = 1.0 - float(test.statistic) / (len(d_made) * len(d_fresh))
    p_value = float(test.pvalue)
    return Memorization(float(np.median(d_made)), float(np.median(d_fresh)), closer, p_value, p_value < level)


def inception_score(probabilities: Any) -> float:
    r"""Exponential of the mean divergence of class probabilities from their mean, from 1 to the number of classes.

    .. math:: \mathrm{IS} = \exp\Bigl(\frac1n\sum_i \mathrm{KL}\bigl(p(y|x_i) \,\Vert\, \bar p(y)\bigr)\Bigr)

    Parameters
    ----------
    probabilities : array-like of shape (n, n_classes)
        Class probabilities of every generated row.

    Examples
    --------
    >>> inception_score(np.eye(4)).__round__(6)
    4.0
    """
    from scipy.special import rel_entr

    p = finite_array("inception_score", "probabilities", probabilities)
    if p.ndim != 2 or (p < 0).any() or np.any(np.abs(p.sum(axis=1) - 1) > 1e-6):
        raise ValueError("inception_score: probabilities must be rows (n, classes) that sum to 1.")
    return float(np.exp(rel_entr(p, p.mean(axis=0)).sum(axis=1).mean()))


def _squared_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.maximum((a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T, 0.0)


def _pair(caller: str, real: Any, generated: Any, least: int) -> tuple[np.ndarray, np.ndarray]:
    a, b = (finite_array(caller, name, x) for name, x in (("real", real), ("generated", generated)))
    for name, x in (("real", a), ("generated", b)):
        if x.ndim != 2 or len(x) < least:
            raise ValueError(f"{caller}: {name} must be a table of at least {least} rows; got shape {x.shape}.")
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"{caller}: both sets must have the same columns; got {a.shape[1]} and {b.shape[1]}.")
    return np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
