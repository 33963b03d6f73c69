"""Who takes part in ``benchmarks.studies.compare``, and one of them on one table, as a process of its own.

``python -m benchmarks.peers.compare_contenders TABLE SEED BUDGET CONTENDER`` prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.measuring import processor_clock
from margin.data import load, random_split, stratified_split
from margin.metrics import metric

__all__ = ["CONTENDERS", "DECIDES", "Split", "split"]

DECIDES = {"classification": "roc_auc", "regression": "rmse"}
# A name per row, which contenders without a reading of columns could only stumble over; margin finds that out itself.
NAMES = {"titanic": ("Name", "Ticket", "Cabin")}
#: LazyPredict fits forty models at their defaults, some of which need the square of the rows.
LAZY_ROWS, LAZY_SECONDS = 2_000, 10


@dataclass(frozen=True)
class Split:
    """One table, divided; ``X`` are data frames as read."""

    name: str
    task: str
    X: Any
    y: np.ndarray
    test_X: Any
    test_y: np.ndarray


def split(name: str, seed: int) -> Split:
    """The table's own test rows, or a quarter drawn by ``seed``."""
    dataset = load(name)
    table = dataset.table()
    X, y = table.split_target(dataset.target)
    if dataset.split is not None:
        train, test = dataset.split
    else:
        divided = (
            stratified_split(y, 0.25, seed) if dataset.task == "classification" else random_split(len(y), 0.25, seed)
        )
        train, test = divided
    frame = X.to_pandas()
    return Split(name, dataset.task, frame.iloc[train], y[train], frame.iloc[test], y[test])


def with_margin(data: Split, budget: float, seed: int) -> tuple[Any, str]:
    import margin

    comparison = margin.compare(
        data.X, data.y, task=data.task, metric=DECIDES[data.task], budget=budget, seed=seed, n_jobs=1
    )
    return comparison.best_, comparison.winner


def with_scikit_learn(name: str, data: Split, seed: int) -> tuple[Any, str]:
    """Defaults, behind what they need: codes for labels, and for the forest something in place of missing values."""
    from sklearn import ensemble
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    kind = "Classifier" if data.task == "classification" else "Regressor"
    model = getattr(ensemble, f"{name}{kind}")(random_state=seed)
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan)
    labels = make_column_selector(dtype_exclude="number")
    columns = make_column_transformer(
        ("drop", [c for c in NAMES.get(data.name, ()) if c in data.X.columns]), (codes, labels), remainder="passthrough"
    )
    steps = [columns, *([SimpleImputer(strategy="median")] if name == "RandomForest" else []), model]
    return make_pipeline(*steps).fit(data.X, data.y), ""


def with_flaml(data: Split, budget: float, seed: int) -> tuple[Any, str]:
    from flaml import AutoML

    model = AutoML()
    names = {"roc_auc": "roc_auc" if len(np.unique(data.y)) == 2 else "roc_auc_ovr", "rmse": "rmse"}
    model.fit(
        data.X,
        data.y,
        task=data.task,
        metric=names[DECIDES[data.task]],
        time_budget=budget,
        seed=seed,
        verbose=0,
        n_jobs=1,
    )
    return model, str(model.best_estimator)


def with_lazy_predict(data: Split, seed: int) -> tuple[Any, str]:
    """Its best row by a quarter of (at most so many of) the training rows, fitted again to all of them."""
    from lazypredict.Supervised import CLASSIFIERS, REGRESSORS, LazyClassifier, LazyRegressor

    classifies = data.task == "classification"
    cls: Any = LazyClassifier if classifies else LazyRegressor
    options = {"verbose": 0, "ignore_warnings": True, "random_state": seed, "n_jobs": 1, "timeout": LAZY_SECONDS}
    rows = np.random.default_rng(seed).permutation(len(data.y))[:LAZY_ROWS]
    train, held = (rows[part] for part in random_split(len(rows), 0.25, seed))
    board, _ = cls(**options).fit(data.X.iloc[train], data.X.iloc[held], data.y[train], data.y[held])
    best = str(board.index[0])
    model = dict(CLASSIFIERS if classifies else REGRESSORS)[best]
    chosen = {"classifiers" if classifies else "regressors": [model]}
    again = cls(**{**options, "timeout": None}, **chosen)
    again.fit(data.X, data.X.iloc[held], data.y, data.y[held])
    return again.models[best], best


Fit = Callable[[Split, float, int], tuple[Any, str]]

#: Name, the package it needs, and how it is fitted.
CONTENDERS: dict[str, tuple[str, Fit]] = {
    "margin compare": ("margin", with_margin),
    "HistGradientBoosting": ("sklearn", lambda data, _, seed: with_scikit_learn("HistGradientBoosting", data, seed)),
    "RandomForest": ("sklearn", lambda data, _, seed: with_scikit_learn("RandomForest", data, seed)),
    "FLAML": ("flaml", with_flaml),
    "LazyPredict": ("lazypredict", lambda data, _, seed: with_lazy_predict(data, seed)),
}


def main() -> None:
    name, seed, budget, who = sys.argv[1:]
    data = split(name, int(seed))
    entry = metric(DECIDES[data.task])
    processor_clock.install()
    started = processor_clock.processor_seconds()
    score, outcome = None, {"metric": entry.name}
    try:
        model, note = CONTENDERS[who][1](data, float(budget), int(seed))
        seconds = processor_clock.processor_seconds() - started
        score = float(entry.measure(model, data.test_X, data.test_y))
    except Exception as error:
        seconds, note = processor_clock.processor_seconds() - started, f"{type(error).__name__}: {error}"[:160]
    print("\n" + json.dumps({**outcome, "score": score, "seconds": round(seconds, 1), "note": note}))


if __name__ == "__main__":
    main()
