"""Single trees and forests against scikit-learn, its Intel extension (oneDAL) and LightGBM's forests."""

from __future__ import annotations

import importlib
import os
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Case, Peer
from margin.trees import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

__all__ = ["cases"]

TREES = 20
Data = dict[str, np.ndarray]


def cases(quick: bool) -> list[Case]:
    small = 20 if quick else 1
    sizes = [(n // small, p) for n, p in ((100_000, 50), (100_000, 10), (20_000, 50))]
    singles = [single(n, p, first_call=i == 0) for i, (n, p) in enumerate(sizes)]
    return [
        *singles,
        single_regression(100_000 // small, 20),
        *(forest(n, p) for n, p in sizes),
        forest_regression(50_000 // small, 20),
        extra(100_000 // small, 50),
        prediction(100_000 // small, 50),
    ]


def classification(n: int, p: int) -> Data:
    """Two classes in clusters on the corners of a cube, a third of the columns noise, a few labels flipped."""
    from sklearn.datasets import make_classification

    useful = max(2, p // 3)
    X, y = make_classification(
        n + 20_000, p, n_informative=useful, n_redundant=p // 5, flip_y=0.05, class_sep=0.7, random_state=0
    )
    return {"X": X[:n], "y": y[:n], "X_test": X[n:], "y_test": y[n:]}


def regression(n: int, p: int) -> Data:
    from margin.data.generators import friedman

    X, y = friedman(np.random.default_rng(0), n + 20_000, noise=1.0, n_features=p)
    return {"X": X[:n], "y": y[:n], "X_test": X[n:], "y_test": y[n:]}


def fit(make: Any, data: Data) -> Any:
    return make().fit(data["X"], data["y"])


def score(data: Data, model: Any) -> float:
    return float(model.score(data["X_test"], data["y_test"]))


def single(n: int, p: int, *, first_call: bool) -> Case:
    peer = Peer("scikit-learn", "sklearn", lambda d: fit(_of("sklearn.tree", "DecisionTreeClassifier"), d))
    return _case(
        "decision tree", n, p, classification, DecisionTreeClassifier, (peer,), "test accuracy", first_call=first_call
    )


def single_regression(n: int, p: int) -> Case:
    peer = Peer("scikit-learn", "sklearn", lambda d: fit(_of("sklearn.tree", "DecisionTreeRegressor"), d))
    return _case("regression tree", n, p, regression, DecisionTreeRegressor, (peer,), "test R2")


def forest(n: int, p: int) -> Case:
    peers = (
        _forest_peer("scikit-learn", "sklearn", "sklearn.ensemble", "RandomForestClassifier"),
        _forest_peer("scikit-learn-intelex", "sklearnex", "sklearnex.ensemble", "RandomForestClassifier"),
        Peer("LightGBM rf", "lightgbm", _lightgbm),
    )
    ours = partial(RandomForestClassifier, TREES, n_jobs=_threads(), random_state=0)
    return _case(f"random forest, {TREES} trees", n, p, classification, ours, peers, "test accuracy")


def forest_regression(n: int, p: int) -> Case:
    settings = {"max_features": 1 / 3, "min_samples_leaf": 5}
    peers = (
        _forest_peer("scikit-learn", "sklearn", "sklearn.ensemble", "RandomForestRegressor", **settings),
        _forest_peer("scikit-learn-intelex", "sklearnex", "sklearnex.ensemble", "RandomForestRegressor", **settings),
    )
    ours = partial(RandomForestRegressor, TREES, n_jobs=_threads(), random_state=0, **settings)
    return _case(f"regression forest, {TREES} trees", n, p, regression, ours, peers, "test R2")


def extra(n: int, p: int) -> Case:
    peers = (
        _forest_peer("scikit-learn", "sklearn", "sklearn.ensemble", "ExtraTreesClassifier"),
        _forest_peer("scikit-learn-intelex", "sklearnex", "sklearnex.ensemble", "ExtraTreesClassifier"),
    )
    ours = partial(ExtraTreesClassifier, TREES, n_jobs=_threads(), random_state=0)
    return _case(f"extra trees, {TREES} trees", n, p, classification, ours, peers, "test accuracy")


def prediction(n: int, p: int) -> Case:
    """Probabilities of ``n`` rows by forests fitted before."""

    def data() -> dict[str, Any]:
        d: dict[str, Any] = classification(20_000, p)
        settings = {"n_jobs": _threads(), "random_state": 0}
        d["ours"] = fit(partial(RandomForestClassifier, TREES, **settings), d)
        d["peer"] = fit(partial(_of("sklearn.ensemble", "RandomForestClassifier"), TREES, **settings), d)
        d["rows"] = np.tile(d["X_test"], (n // len(d["X_test"]) + 1, 1))[:n]
        return d

    def quality(d: dict[str, Any], shares: np.ndarray) -> float:
        truth = np.tile(d["y_test"], n // len(d["y_test"]) + 1)[:n]
        return float(np.mean(shares.argmax(axis=1) == truth))

    return Case(
        f"prediction by {TREES} trees",
        f"{n} x {p}",
        data,
        lambda d: d["ours"].predict_proba(d["rows"]),
        (Peer("scikit-learn", "sklearn", lambda d: d["peer"].predict_proba(d["rows"])),),
        quality,
        "test accuracy",
    )


def _case(
    name: str, n: int, p: int, data: Any, make: Any, peers: tuple[Peer, ...], quality: str, *, first_call: bool = False
) -> Case:
    return Case(
        name, f"{n} x {p}", partial(data, n, p), partial(fit, make), peers, score, quality, first_call=first_call
    )


def _forest_peer(name: str, requires: str, module: str, cls: str, **settings: Any) -> Peer:
    return Peer(
        name,
        requires,
        lambda d: fit(partial(_of(module, cls), TREES, n_jobs=_threads(), random_state=0, **settings), d),
    )


def _lightgbm(data: Data) -> Any:
    import lightgbm

    model = lightgbm.LGBMClassifier(
        boosting_type="rf",
        n_estimators=TREES,
        num_leaves=8192,
        min_child_samples=1,
        min_child_weight=0.0,
        bagging_freq=1,
        bagging_fraction=0.632,
        feature_fraction_bynode=1 / np.sqrt(data["X"].shape[1]),
        n_jobs=_threads(),
        random_state=0,
        verbose=-1,
    )
    return model.fit(data["X"], data["y"])


def _of(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def _threads() -> int:
    return int(os.environ.get("MARGIN_NUM_THREADS", "1"))
