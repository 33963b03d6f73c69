"""Reduction against scikit-learn, oneDAL, openTSNE and umap-learn: what each minimizes stands beside the time."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.families import neighbor_maps
from benchmarks.measuring.harness import Case, Peer
from margin.data import load
from margin.reduction import MDS, PCA, FastICA, Isomap

__all__ = ["cases"]


def cases(quick: bool) -> list[Case]:
    small = 10 if quick else 1
    listed = [_pca(n // small, p, k) for n, p, k in ((200_000, 32, 10), (60_000, 784, 20), (2000, 5000, 20))]
    listed.append(_pca(2000 // small, 5000, 20, falling=True))
    listed += [_ica(100_000 // small, 20), _mds(300 if quick else 1000)]
    listed += [_isomap(n) for n in ((1000,) if quick else (1000, 2000, 4000))]
    return [*listed, *neighbor_maps.cases(quick)]


def _pca(n: int, p: int, k: int, falling: bool = False) -> Case:
    """Noise of nearly equal variances, or variances that fall as those of pictures do, like one over the square.

    For tables of many rows and columns peers take random directions, which find less of flat variances; where that is
    so, their iterative solver, which finds all, stands beside.
    """

    def data() -> np.ndarray:
        rng = np.random.default_rng(0)
        deviations = 1 / np.arange(1.0, p + 1) if falling else np.linspace(3, 0.5, p)
        return (rng.normal(size=(n, p)) * deviations + rng.normal(size=p)).astype(np.float32)

    def fit(module: str, X: np.ndarray, **options: Any) -> Any:
        return __import__(module, fromlist=["PCA"]).PCA(n_components=k, **options).fit(X)

    exact = partial(fit, "sklearn.decomposition", svd_solver="arpack", random_state=0)
    return Case(
        f"PCA, {k} components, {'falling variances, ' if falling else ''}float32",
        f"{n} x {p}",
        data,
        lambda X: PCA(n_components=k).fit(X),
        (
            Peer("scikit-learn", "sklearn", partial(fit, "sklearn.decomposition")),
            Peer("scikit-learn-intelex", "sklearnex", partial(fit, "sklearnex.decomposition")),
            *((Peer("scikit-learn arpack", "sklearn", exact),) if p > 1000 else ()),
        ),
        lambda _, model: float(np.sum(model.explained_variance_ratio_)),
        "explained variance",
    )


def _ica(n: int, p: int) -> Case:
    def data() -> dict[str, np.ndarray]:
        rng = np.random.default_rng(0)
        S = rng.laplace(size=(n, p))
        return {"S": S, "X": S @ rng.normal(size=(p, p))}

    def theirs(d: dict[str, np.ndarray]) -> np.ndarray:
        from sklearn.decomposition import FastICA as Reference

        return Reference(whiten="unit-variance", tol=1e-6, max_iter=200, random_state=0).fit_transform(d["X"])

    def match(d: dict[str, np.ndarray], found: np.ndarray) -> float:
        return float(np.abs(np.corrcoef(d["S"].T, found.T)[:p, p:]).max(axis=1).min())

    return Case(
        "FastICA, tol 1e-6",
        f"{n} x {p}",
        data,
        lambda d: FastICA(random_state=0).fit_transform(d["X"]),
        (Peer("scikit-learn", "sklearn", theirs),),
        match,
        "worst correlation with a source",
        rounds=2,
    )


def _mds(n: int) -> Case:
    def theirs(X: np.ndarray) -> np.ndarray:
        from sklearn.manifold import MDS as Reference

        return Reference(n_init=1, init="classical_mds", max_iter=100, eps=0.0, random_state=0).fit_transform(X)

    return Case(
        "MDS, 100 iterations from classical scaling",
        f"{n} x 10",
        lambda: np.random.default_rng(0).normal(size=(n, 10)),
        lambda X: MDS(max_iter=100, eps=0.0).fit_transform(X),
        (Peer("scikit-learn", "sklearn", theirs),),
        _stress,
        "stress",
        rounds=2,
    )


def _stress(X: np.ndarray, Y: np.ndarray) -> float:
    from scipy.spatial.distance import pdist

    distances = pdist(X)
    return float(np.sqrt(np.sum((distances - pdist(Y)) ** 2) / np.sum(distances**2)))


def _isomap(n: int) -> Case:
    def theirs(d: Any) -> np.ndarray:
        from sklearn.manifold import Isomap as Reference

        return Reference(n_neighbors=10).fit_transform(d.X)

    return Case(
        "Isomap, 10 neighbors, Swiss roll",
        f"{n} x 3",
        lambda: load("swiss-roll", n_samples=n, seed=0),
        lambda d: Isomap(n_neighbors=10).fit_transform(d.X),
        (Peer("scikit-learn", "sklearn", theirs),),
        lambda d, Y: float(abs(np.corrcoef(Y[:, 0], d.y)[0, 1])),
        "correlation with the roll",
        rounds=2,
        first_call=n == 1000,
    )
