"""Gradient boosting against LightGBM, XGBoost and scikit-learn: 100 rounds, 31 leaves, learning rate 0.1, 255 bins.

Generated tables always; the census table ``adult`` (categorical columns native to all) and the districts of
``california-housing`` (missing values) where ``MARGIN_DATA`` says where they are. Peers get the same limits: 20 rows
per leaf (XGBoost counts hessian in place of rows), no subsampling, no early stopping.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Case, Peer
from margin.trees import GradientBoostingClassifier, GradientBoostingRegressor

__all__ = ["cases"]

ROUNDS, LEAVES, RATE, ROWS_PER_LEAF = 100, 31, 0.1, 20
Data = dict[str, Any]


def cases(quick: bool) -> list[Case]:
    small = 20 if quick else 1
    generated = [fitting(n // small, p) for n, p in ((100_000, 50), (20_000, 50), (100_000, 10))]
    classes = [fitting(20_000 // small, 20, classes=5)]
    found = generated + classes + [regression(100_000 // small, 20), predicting(100_000 // small, 50)]
    return found + ([census(), districts()] if os.environ.get("MARGIN_DATA") else [])


def fitting(n: int, p: int, classes: int = 2) -> Case:
    return _classification("boosting, fit" if classes == 2 else f"boosting, {classes} classes", n, p, classes)


def _classification(name: str, n: int, p: int, classes: int) -> Case:
    return Case(
        name,
        f"{n} x {p}",
        lambda: _generated(n, p, classes),
        lambda d: _ours(d).fit(d["X"], d["y"]),
        _peers(lambda model, d: model.fit(d["X"], d["y"])),
        _log_loss,
        "test log-loss",
        first_call=(n, p) == (100_000, 50),
    )


def regression(n: int, p: int) -> Case:
    def data() -> Data:
        from sklearn.datasets import make_friedman1

        X, y = make_friedman1(2 * n, p, noise=1.0, random_state=0)
        return _split(X, y, n, "regression")

    fit = _peers(lambda model, d: model.fit(d["X"], d["y"]))
    ours = lambda d: _ours(d).fit(d["X"], d["y"])  # noqa: E731
    return Case("boosting, regression", f"{n} x {p}", data, ours, fit, _rmse, "test RMSE")


def predicting(n: int, p: int) -> Case:
    """Fitted once, untimed; then probabilities of unseen rows."""

    def predict(model: Any, d: Data) -> np.ndarray:
        key = repr(model)
        if key not in d:
            d[key] = model.fit(d["X"], d["y"])
        return d[key].predict_proba(d["test_X"])

    def quality(d: Data, said: np.ndarray) -> float:
        return _log_loss_of(d["test_y"], said)

    return Case(
        "boosting, predict",
        f"{n} x {p}",
        lambda: _generated(n, p, 2),
        lambda d: predict(_ours(d), d),
        _peers(predict),
        quality,
        "test log-loss",
        rounds=5,
    )


def census() -> Case:
    """Adult: 32,561 people to learn from and 16,281 to judge by."""
    return _real("adult", "32561 x 14", _log_loss, "test log-loss")


def districts() -> Case:
    """California: a fifth of the districts judges."""
    return _real("california-housing", "16512 x 9", _rmse, "test RMSE")


def _real(name: str, size: str, quality: Callable[[Data, Any], float], quality_name: str) -> Case:
    def data() -> Data:
        from margin.data import load

        return _coded(load(name))

    fit = _peers(lambda model, d: model.fit(d["X"], d["y"]))
    return Case(
        f"boosting, {name}", size, data, lambda d: _ours(d).fit(d["X"], d["y"]), fit, quality, quality_name, rounds=5
    )


def _coded(dataset: Any) -> Data:
    """Categories as numbers, NaN where they are missing; the set's own test rows, or a fifth of all."""
    frame = dataset.X.to_pandas()
    category = [frame[c].dtype.kind not in "fiub" for c in frame]
    for column, named in zip(frame, category, strict=True):
        if named:
            codes = frame[column].astype("category").cat.codes.astype(float)
            frame[column] = codes.where(codes >= 0)
    X, y = frame.to_numpy(dtype=float), np.asarray(dataset.y)
    rows = np.random.default_rng(0).permutation(len(y))
    train, test = dataset.split if dataset.split is not None else (rows[len(y) // 5 :], rows[: len(y) // 5])
    parts = {"X": X[train], "y": y[train], "test_X": X[test], "test_y": y[test]}
    return {**parts, "categorical": category, "task": dataset.task}


def _generated(n: int, p: int, classes: int) -> Data:
    from sklearn.datasets import make_classification

    informative = max(4, 2 * p // 5)
    X, y = make_classification(
        2 * n, p, n_informative=informative, n_redundant=p // 5, n_classes=classes, flip_y=0.05, random_state=0
    )
    return _split(X, y, n, "classification")


def _split(X: np.ndarray, y: np.ndarray, n: int, task: str) -> Data:
    return {"X": X[:n], "y": y[:n], "test_X": X[n:], "test_y": y[n:], "categorical": [False] * X.shape[1], "task": task}


def _ours(d: Data) -> Any:
    model = GradientBoostingClassifier if d["task"] == "classification" else GradientBoostingRegressor
    return model(
        n_estimators=ROUNDS,
        learning_rate=RATE,
        max_leaf_nodes=LEAVES,
        min_samples_leaf=ROWS_PER_LEAF,
        categorical_features=d["categorical"],
        random_state=0,
    )


def _peers(use: Callable[[Any, Data], Any]) -> tuple[Peer, ...]:
    return (
        Peer("LightGBM", "lightgbm", lambda d: use(_lightgbm(d), d)),
        Peer("LightGBM quantized", "lightgbm", lambda d: use(_lightgbm(d, use_quantized_grad=True), d)),
        Peer("XGBoost", "xgboost", lambda d: use(_xgboost(d), d)),
        Peer("scikit-learn HistGB", "sklearn", lambda d: use(_histogram(d), d)),
    )


def _threads() -> int:
    return int(os.environ.get("MARGIN_NUM_THREADS", "1"))


def _lightgbm(d: Data, **options: Any) -> Any:
    import lightgbm

    model = lightgbm.LGBMClassifier if d["task"] == "classification" else lightgbm.LGBMRegressor
    columns = [j for j, named in enumerate(d["categorical"]) if named]
    return _Named(
        model(
            n_estimators=ROUNDS,
            num_leaves=LEAVES,
            learning_rate=RATE,
            min_child_samples=ROWS_PER_LEAF,
            n_jobs=_threads(),
            verbose=-1,
            **options,
        ),
        {"categorical_feature": columns} if columns else {},
    )


def _xgboost(d: Data) -> Any:
    import xgboost

    model = xgboost.XGBClassifier if d["task"] == "classification" else xgboost.XGBRegressor
    kinds = ["c" if named else "q" for named in d["categorical"]]
    return model(
        n_estimators=ROUNDS,
        max_leaves=LEAVES,
        max_depth=0,
        grow_policy="lossguide",
        tree_method="hist",
        learning_rate=RATE,
        n_jobs=_threads(),
        **({"feature_types": kinds, "enable_categorical": True} if "c" in kinds else {}),
    )


def _histogram(d: Data) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    model = HistGradientBoostingClassifier if d["task"] == "classification" else HistGradientBoostingRegressor
    return model(
        max_iter=ROUNDS,
        max_leaf_nodes=LEAVES,
        learning_rate=RATE,
        min_samples_leaf=ROWS_PER_LEAF,
        early_stopping=False,
        categorical_features=d["categorical"] if any(d["categorical"]) else None,
    )


class _Named:
    """A model whose fit takes a few words more."""

    def __init__(self, model: Any, words: dict[str, Any]):
        self.model, self.words = model, words

    def __repr__(self) -> str:
        return repr(self.model)

    def fit(self, X: np.ndarray, y: np.ndarray) -> Any:
        return self.model.fit(X, y, **self.words)


def _log_loss(d: Data, model: Any) -> float:
    return _log_loss_of(d["test_y"], model.predict_proba(d["test_X"]))


def _log_loss_of(y: np.ndarray, probability: np.ndarray) -> float:
    from sklearn.metrics import log_loss

    return float(log_loss(y, probability))


def _rmse(d: Data, model: Any) -> float:
    return float(np.sqrt(np.mean((model.predict(d["test_X"]) - d["test_y"]) ** 2)))
