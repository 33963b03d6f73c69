"""Nearest neighbors against scikit-learn, its Intel extension (oneDAL) and, where installed, Faiss.

Every way is handed the same float64 rows and asked for the 10 nearest; the time is that of a new search (fit and
query), the quality the fraction of the neighbors of an exact search in double precision that were found.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.measuring.harness import Case, Peer
from margin.neighbors import KNeighborsClassifier, nearest

__all__ = ["cases"]

K = 10


def cases(quick: bool) -> list[Case]:
    small = 10 if quick else 1
    brute = [(50_000, 5000, 32), (60_000, 2000, 784), (10_000, 5000, 32), (50_000, 5000, 128)]
    tree = [(200_000, 20_000, 3), (50_000, 5000, 6), (5000, 2000, 6), (50_000, 2000, 6), (500_000, 2000, 6)]
    listed = [search(n // small, m // small, d, "brute") for n, m, d in brute]
    listed += [search(n // small, m // small, d, "kd_tree") for n, m, d in tree]
    return [*listed, manhattan(20_000 // small, 2000 // small, 32), classify(20_000 // small, 5000 // small, 32)]


def rows(n: int, m: int, d: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    centers = 2 * rng.normal(size=(10, d))
    X, Q = (centers[rng.integers(10, size=k)] + rng.normal(size=(k, d)) for k in (n, m))
    return {"X": X, "Q": Q, "y": (X[:, 0] > X[:, 1]).astype(int)}


def search(n: int, m: int, d: int, algorithm: str) -> Case:
    peers = [
        Peer("scikit-learn", "sklearn", partial(_their_search, "sklearn.neighbors", algorithm, "minkowski")),
        Peer(
            "scikit-learn-intelex", "sklearnex", partial(_their_search, "sklearnex.neighbors", algorithm, "minkowski")
        ),
    ]
    if algorithm == "brute":
        peers.append(Peer("faiss (float32)", "faiss", _faiss))
    return Case(
        f"{K} nearest, {algorithm}",
        f"{m} against {n} x {d}",
        partial(rows, n, m, d),
        lambda data: nearest(data["X"], data["Q"], K, algorithm=algorithm).indices,
        tuple(peers),
        _recall,
        "neighbors found",
        first_call=(d == 32 and n > 10_000) or (d == 6 and m == 5000),
    )


def manhattan(n: int, m: int, d: int) -> Case:
    their = partial(_their_search, "sklearn.neighbors", "brute", "manhattan")
    return Case(
        f"{K} nearest, manhattan",
        f"{m} against {n} x {d}",
        partial(rows, n, m, d),
        lambda data: nearest(data["X"], data["Q"], K, "manhattan", algorithm="brute").indices,
        (Peer("scikit-learn", "sklearn", their),),
        lambda data, found: float(np.mean(found == _kept(data, "truth", lambda: their(data)))),
        "fraction equal to scikit-learn's",
    )


def classify(n: int, m: int, d: int) -> Case:
    def fitted(make: Any, data: dict[str, Any]) -> np.ndarray:
        return make(n_neighbors=5, algorithm="brute").fit(data["X"], data["y"]).predict(data["Q"])

    def theirs(module: str, data: dict[str, Any]) -> np.ndarray:
        return fitted(_imported(module, "KNeighborsClassifier"), data)

    return Case(
        "classifier, 5 neighbors, fit and predict",
        f"{m} against {n} x {d}",
        partial(rows, n, m, d),
        partial(fitted, KNeighborsClassifier),
        (
            Peer("scikit-learn", "sklearn", partial(theirs, "sklearn.neighbors")),
            Peer("scikit-learn-intelex", "sklearnex", partial(theirs, "sklearnex.neighbors")),
        ),
        lambda data, found: float(np.mean(found == (data["Q"][:, 0] > data["Q"][:, 1]))),
        "accuracy",
    )


def _their_search(module: str, algorithm: str, metric: str, data: dict[str, Any]) -> np.ndarray:
    model = _imported(module, "NearestNeighbors")(n_neighbors=K, algorithm=algorithm, metric=metric)
    return model.fit(data["X"]).kneighbors(data["Q"], return_distance=True)[1]


def _faiss(data: dict[str, Any]) -> np.ndarray:
    import faiss

    index = faiss.IndexFlatL2(data["X"].shape[1])
    index.add(data["X"].astype(np.float32))
    return index.search(data["Q"].astype(np.float32), K)[1]


def _recall(data: dict[str, Any], neighbors: np.ndarray) -> float:
    """Share of the exact neighbors, in their order."""
    exact = _kept(data, "exact", lambda: _exact(data["X"], data["Q"]))
    return float(np.mean(neighbors == exact))


def _exact(X: np.ndarray, Q: np.ndarray) -> np.ndarray:
    neighbors = np.empty((len(Q), K), dtype=np.int64)
    squares = (X**2).sum(axis=1)
    for start in range(0, len(Q), 256):
        part = Q[start : start + 256]
        scores = squares - 2 * part @ X.T
        close = np.argpartition(scores, 2 * K, axis=1)[:, : 2 * K]
        gaps = ((X[close] - part[:, None]) ** 2).sum(axis=2)
        neighbors[start : start + 256] = np.take_along_axis(close, np.argsort(gaps, axis=1)[:, :K], axis=1)
    return neighbors


def _kept(data: dict[str, Any], name: str, make: Any) -> Any:
    if name not in data:
        data[name] = make()
    return data[name]


def _imported(module: str, name: str) -> Any:
    return getattr(__import__(module, fromlist=[name]), name)
