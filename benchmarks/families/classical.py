"""Least squares, k-means and Gaussian mixtures against scikit-learn and its Intel extension (oneDAL)."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measuring.harness import Case, Peer
from margin.cluster import KMeans
from margin.linear import LinearRegression
from margin.mixture import GaussianMixture

__all__ = ["cases"]

SEEDS = range(3)


def cases(quick: bool) -> list[Case]:
    small = 20 if quick else 1
    regression = [least_squares(n // small, p) for n, p in ((500_000, 20), (500_000, 100), (100_000, 100))]
    clusters = [(200_000, 32, 64), (50_000, 32, 64), (200_000, 8, 16)]
    fixed = [lloyd(n // small, d, k) for n, d, k in clusters[:1]]
    whole = [end_to_end(n // small, d, k) for n, d, k in clusters]
    mixtures = [mixture(n // small, d, k) for n, d, k in ((100_000, 16, 8), (20_000, 16, 8), (100_000, 4, 4))]
    return regression + fixed + whole + mixtures


def least_squares(n: int, p: int) -> Case:
    def data() -> dict[str, np.ndarray]:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, p))
        return {"X": X, "y": X @ rng.normal(size=p) + rng.normal(size=n)}

    def fit(make: Any, d: dict[str, Any]) -> np.ndarray:
        return make().fit(d["X"], d["y"]).coef_.ravel()

    def excess(d: dict[str, Any], coef: np.ndarray) -> float:
        """Largest difference from NumPy's SVD solution."""
        if "svd" not in d:
            d["svd"] = np.linalg.lstsq(np.column_stack([d["X"], np.ones(n)]), d["y"])[0][:-1]
        return float(np.abs(coef - d["svd"]).max())

    return Case(
        "least squares",
        f"{n} x {p}",
        data,
        partial(fit, LinearRegression),
        (
            Peer("scikit-learn", "sklearn", lambda d: fit(_sklearn("linear_model", "LinearRegression"), d)),
            Peer("scikit-learn Ridge", "sklearn", lambda d: fit(_ridge(), d)),
            Peer("scikit-learn-intelex", "sklearnex", lambda d: fit(_intelex("linear_model", "LinearRegression"), d)),
        ),
        excess,
        "|coef - SVD|",
        rounds=5,
    )


def blobs(n: int, d: int, k: int) -> np.ndarray:
    """Overlapping clusters of unit variance."""
    rng = np.random.default_rng(0)
    return 0.9 * rng.normal(size=(k, d))[rng.integers(k, size=n)] + rng.normal(size=(n, d))


def lloyd(n: int, d: int, k: int) -> Case:
    """Thirty iterations from the same centers."""

    def fit(make: Any, X: np.ndarray) -> float:
        return _quietly(make(k, init=X[:k], n_init=1, max_iter=30, tol=0.0), X).inertia_

    return Case(
        "k-means, 30 iterations",
        f"{n} x {d}, k={k}",
        lambda: blobs(n, d, k),
        partial(fit, KMeans),
        _clusterers(fit),
        lambda _, inertia: inertia,
        "inertia",
        first_call=True,
    )


def end_to_end(n: int, d: int, k: int) -> Case:
    """k-means++ to convergence, the mean over seeds."""

    def fit(make: Any, X: np.ndarray) -> float:
        return float(np.mean([_quietly(make(k, n_init=1, random_state=seed), X).inertia_ for seed in SEEDS]))

    return Case(
        f"k-means++ to the end, {len(SEEDS)} seeds",
        f"{n} x {d}, k={k}",
        lambda: blobs(n, d, k),
        partial(fit, KMeans),
        _clusterers(fit),
        lambda _, inertia: inertia,
        "mean inertia",
        rounds=2,
    )


def mixture(n: int, d: int, k: int) -> Case:
    """Twenty EM steps with full covariances from the same start."""

    def data() -> np.ndarray:
        rng = np.random.default_rng(0)
        label = rng.integers(k, size=n)
        A = 0.3 * rng.normal(size=(k, d, d)) + np.eye(d)
        return np.einsum("nd,nde->ne", rng.normal(size=(n, d)), A[label]) + rng.normal(size=(k, d))[label]

    def fit(make: Any, X: np.ndarray) -> float:
        start = {"weights_init": np.full(k, 1 / k), "means_init": X[:k], "precisions_init": np.stack([np.eye(d)] * k)}
        return _quietly(make(k, max_iter=20, tol=0.0, **start), X).score(X)

    return Case(
        "Gaussian mixture, 20 EM steps",
        f"{n} x {d}, k={k}",
        data,
        partial(fit, GaussianMixture),
        (Peer("scikit-learn", "sklearn", lambda X: fit(_sklearn("mixture", "GaussianMixture"), X)),),
        lambda _, score: score,
        "log-likelihood",
    )


def _clusterers(fit: Any) -> tuple[Peer, ...]:
    return (
        Peer("scikit-learn", "sklearn", lambda X: fit(_sklearn("cluster", "KMeans"), X)),
        Peer("scikit-learn-intelex", "sklearnex", lambda X: fit(_intelex("cluster", "KMeans"), X)),
    )


def _quietly(model: Any, X: np.ndarray) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fixed number of iterations is not meant to converge
        return model.fit(X)


def _sklearn(module: str, name: str) -> Any:
    return getattr(__import__(f"sklearn.{module}", fromlist=[name]), name)


def _ridge() -> Any:
    return partial(_sklearn("linear_model", "Ridge"), alpha=1e-10, solver="cholesky")


def _intelex(module: str, name: str) -> Any:
    return getattr(__import__(f"sklearnex.{module}", fromlist=[name]), name)
