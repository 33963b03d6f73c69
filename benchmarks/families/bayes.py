"""Naive Bayes and discriminants against scikit-learn: fit and predict, accuracy on new rows beside the time."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.measuring.harness import Case, Peer
from margin import bayes

__all__ = ["cases"]


def cases(quick: bool) -> list[Case]:
    small = 10 if quick else 1
    listed = [_case("GaussianNB", normal, n // small, d) for n, d in ((200_000, 20), (60_000, 784), (20_000, 100))]
    listed += [_case("MultinomialNB", words, 20_000 // small, 5000), _case("BernoulliNB", words, 20_000 // small, 5000)]
    listed.append(_case("CategoricalNB", categories, 200_000 // small, 20))
    listed += [
        _case("LinearDiscriminantAnalysis", normal, n // small, d)
        for n, d in ((200_000, 20), (20_000, 200), (60_000, 784))
    ]
    return [*listed, _case("QuadraticDiscriminantAnalysis", normal, 100_000 // small, 50)]


def normal(n: int, d: int) -> dict[str, Any]:
    """Ten normal classes with one covariance."""
    rng = np.random.default_rng(0)
    means = rng.normal(size=(10, d)) / np.sqrt(d) * 3
    mix = np.eye(d) + 0.3 * rng.normal(size=(d, d)) / np.sqrt(d)
    y = rng.integers(10, size=n)
    X = means[y] + rng.normal(size=(n, d)) @ mix
    return _halves(X, y)


def words(n: int, d: int) -> dict[str, Any]:
    """Sparse counts of words, about 60 per row, in four classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=n)
    topics = rng.dirichlet(np.full(d, 0.1), size=4) * 0.1 + rng.dirichlet(np.full(d, 0.1)) * 0.9
    drawn = np.concatenate([rng.choice(d, size=60, p=topics[c]) for c in y])
    X = sp.csr_array((np.ones(len(drawn)), (np.repeat(np.arange(n), 60), drawn)), shape=(n, d))
    X.sum_duplicates()
    return _halves(X, y)


def categories(n: int, d: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=n)
    fractions = rng.dirichlet(np.ones(8), size=(5, d)).cumsum(axis=2)
    X = (rng.uniform(size=(n, d))[:, :, None] > fractions[y]).sum(axis=2)
    return _halves(np.minimum(X, 7), y)


def _halves(X: Any, y: np.ndarray) -> dict[str, Any]:
    cut = len(y) * 3 // 4
    return {"X": X[:cut], "y": y[:cut], "T": X[cut:], "truth": y[cut:]}


def _case(name: str, data: Any, n: int, d: int) -> Case:
    def fit_and_predict(make: Any, d: dict[str, Any]) -> np.ndarray:
        return make().fit(d["X"], d["y"]).predict(d["T"])

    def theirs(d: dict[str, Any]) -> np.ndarray:
        module = "discriminant_analysis" if "Discriminant" in name else "naive_bayes"
        return fit_and_predict(getattr(__import__(f"sklearn.{module}", fromlist=[name]), name), d)

    return Case(
        f"{name}, fit and predict",
        f"{n} x {d}",
        partial(data, n, d),
        partial(fit_and_predict, getattr(bayes, name)),
        (Peer("scikit-learn", "sklearn", theirs),),
        lambda d, predicted: float(np.mean(predicted == d["truth"])),
        "accuracy",
        first_call=(name == "GaussianNB" and d == 20),
    )
