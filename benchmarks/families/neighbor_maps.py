"""t-SNE against scikit-learn, oneDAL and openTSNE, UMAP against umap-learn.

Divergences are computed by one exact routine on the same affinities, whoever made the map. Besides digits there are
10,000 rows of MNIST on 50 principal components (``MARGIN_DATA``), or of 20 normal clusters without it; scikit-learn's
t-SNE takes minutes there and is left out.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

from benchmarks.data.tables import has_real
from benchmarks.measuring.harness import Case, Peer
from margin.data import load
from margin.reduction import PCA, TSNE, UMAP
from margin.reduction.tsne_affinities import sparse_affinities

__all__ = ["cases"]

Data = dict[str, Any]
CHUNK = 500  # rows of all pairs that are held at once


def cases(quick: bool) -> list[Case]:
    digits, large = partial(_digits, 600 if quick else 1797), partial(_large, 3000 if quick else 10_000)
    listed = [_tsne("digits", f"{600 if quick else 1797} x 64", digits, ("sklearn.manifold", "sklearnex.manifold"))]
    listed += [_tsne("MNIST" if has_real() else "clusters", f"{3000 if quick else 10_000} x 50", large, ())]
    return [*listed, _umap("digits", f"{600 if quick else 1797} x 64", digits)]


def _digits(n: int) -> Data:
    X = np.asarray(load("digits").X, dtype=np.float64)[:n]
    return {"X": X, "y": np.asarray(load("digits").y)[:n], "P": sparse_affinities(TSNE(), X)}


def _large(n: int) -> Data:
    if has_real():
        mnist = load("mnist", subset="test")
        pixels = np.asarray(mnist.X, dtype=np.float64).reshape(len(mnist.y), -1)[:n]
        X, y = PCA(n_components=50).fit_transform(pixels / 255.0), np.asarray(mnist.y)[:n]
    else:
        rng = np.random.default_rng(0)
        y = rng.integers(20, size=n)
        X = 3 * rng.normal(size=(20, 50))[y] + rng.normal(size=(n, 50))
    return {"X": X, "y": y, "P": sparse_affinities(TSNE(), X)}


def _divergence(data: Data, Y: Any) -> float:
    """Sum of p log(p / q) over the pairs with p > 0; q is normalized by all pairs."""
    Y, P = np.asarray(Y, dtype=np.float64), data["P"].tocoo()
    squares, total = (Y**2).sum(axis=1), 0.0
    for start in range(0, len(Y), CHUNK):
        part = slice(start, start + CHUNK)
        gaps = np.maximum(squares[part, None] + squares - 2 * Y[part] @ Y.T, 0.0)
        total += float((1.0 / (1.0 + gaps)).sum()) - len(gaps)  # a row is no neighbor of itself
    gaps = ((Y[P.row] - Y[P.col]) ** 2).sum(axis=1)
    return float(np.sum(P.data * np.log(P.data * total * (1.0 + gaps))))


def _separation(data: Data, Y: Any) -> str:
    """How often the nearest neighbor in the map has the same label."""
    from sklearn.neighbors import KNeighborsClassifier

    model = KNeighborsClassifier(2).fit(Y, data["y"])
    second = model.kneighbors(Y, return_distance=False)[:, 1]
    return f"neighbor of the same class {np.mean(data['y'][second] == data['y']):.4f}"


def _tsne(name: str, size: str, data: Any, modules: tuple[str, ...]) -> Case:
    def theirs(module: str, d: Data) -> Any:
        return __import__(module, fromlist=["TSNE"]).TSNE(init="pca", random_state=0).fit_transform(d["X"])

    def open_tsne(d: Data) -> Any:
        from openTSNE import TSNE as Reference

        return np.asarray(Reference(n_jobs=1, random_state=0).fit(d["X"]))

    names = {"sklearn.manifold": "scikit-learn", "sklearnex.manifold": "scikit-learn-intelex"}
    peers = [Peer(names[module], module.partition(".")[0], partial(theirs, module)) for module in modules]
    return Case(
        f"t-SNE, perplexity 30, {name}",
        size,
        data,
        lambda d: TSNE(random_state=0).fit_transform(d["X"]),
        (*peers, Peer("openTSNE", "openTSNE", open_tsne)),
        _divergence,
        "exact KL divergence",
        rounds=1,
        memory=False,
        remark=_separation,
    )


def _umap(name: str, size: str, data: Any) -> Case:
    def theirs(d: Data) -> Any:
        from umap import UMAP as Reference

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a seed makes it run on one thread, which is asked for
            return Reference(random_state=0, n_jobs=1).fit_transform(d["X"])

    def trust(d: Data, Y: Any) -> float:
        from sklearn.manifold import trustworthiness

        return float(trustworthiness(d["X"], Y, n_neighbors=15))

    return Case(
        f"UMAP, 15 neighbors, {name}",
        size,
        data,
        lambda d: UMAP(random_state=0).fit_transform(d["X"]),
        (Peer("umap-learn", "umap", theirs, compiles=True),),
        trust,
        "trustworthiness",
        rounds=2,
        memory=False,
        remark=_separation,
    )
