"""``python -m benchmarks.quality``: how well our models predict at defaults, against their namesakes.

Every class that scikit-learn has under the same name is fitted at its defaults on the same rows and judged on the same
test rows of twelve tables, over several splits. A difference is told with its interval, corrected for splits that share
rows (Nadeau and Bengio); what is worse beyond it is printed as a loss. Networks for tables stand beside pytabkit's
RealMLP where that is installed. Needs ``MARGIN_DATA`` for eight of the tables.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import conditions
from benchmarks.tabular.tables import NAMES, has_real
from margin import catalog
from margin.data import load

BUNDLED = ("breast-cancer", "digits", "diabetes", "wine")
REAL = ("abalone", "banknote", "california-housing", "german-credit", "mammography", "pima", "sonar", "titanic")
MOST_ROWS = 3000
HOMES = (
    "linear_model", "ensemble", "tree", "svm", "neighbors", "naive_bayes", "discriminant_analysis", "neural_network",
    "gaussian_process",
)  # fmt: skip
# Counts, categories and single bits are other tables than these; bags of one weak model say little.
LEFT_OUT = {"MultinomialNB", "BernoulliNB", "CategoricalNB", "ComplementNB", "BaggingClassifier", "BaggingRegressor"}
MOST_FOR_CUBIC = 1000  # rows that models of cubic cost are given
CUBIC = {"GaussianProcessClassifier", "GaussianProcessRegressor"}


def table(name: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Numbers only: categories as indicators, missing numbers as the median, at most ``MOST_ROWS`` rows."""
    import pandas as pd

    dataset = load(name)
    X = dataset.X.to_pandas() if hasattr(dataset.X, "to_pandas") else pd.DataFrame(np.asarray(dataset.X))
    X = X.drop(columns=[column for column in NAMES.get(name, ()) if column in X])
    numbers = X.select_dtypes("number").astype(float)
    parts = [numbers.fillna(numbers.median())]
    named = X.select_dtypes(exclude="number")
    if named.shape[1]:
        parts.append(pd.get_dummies(named.astype(str)).astype(float))
    y = np.asarray(dataset.y)
    y = np.unique(y.astype(str), return_inverse=True)[1] if dataset.task == "classification" else y.astype(float)
    rows = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    return pd.concat(parts, axis=1).to_numpy()[rows], y[rows], dataset.task


def contenders(task: str, seed: int) -> Iterator[tuple[str, Any, Any]]:
    """Name, ours and the peer, both at defaults."""
    for entry in catalog.ENTRIES:
        if entry.task != task:
            continue
        ours = catalog.class_of(entry.name)
        theirs = next((found for home in HOMES if (found := _class(f"sklearn.{home}", ours.__name__))), None)
        if theirs is not None and ours.__name__ not in LEFT_OUT:
            yield ours.__name__, _seeded(ours, seed), _seeded(theirs, seed)
    if importlib.util.find_spec("pytabkit"):
        kind = "Classifier" if task == "classification" else "Regressor"
        theirs = getattr(importlib.import_module("pytabkit"), f"RealMLP_TD_S_{kind}")
        ours = getattr(importlib.import_module("margin.neural"), f"TabularNet{kind}")
        yield f"TabularNet{kind} / RealMLP", ours(random_state=seed), theirs(random_state=seed, n_threads=1)


def _class(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name, None)


def _seeded(cls: Any, seed: int) -> Any:
    model = cls()
    return model.set_params(random_state=seed) if "random_state" in model.get_params() else model


def judged(model: Any, data: tuple[np.ndarray, ...], task: str) -> dict[str, float]:
    """Log-loss (or the error rate without probabilities), or the error in deviations of y; smaller is better."""
    from sklearn.metrics import log_loss

    X, y, test_X, test_y = data
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    seconds = time.process_time() - began
    if task == "regression":
        loss = float(np.sqrt(np.mean((model.predict(test_X).reshape(-1) - test_y) ** 2)) / test_y.std())
    elif hasattr(model, "predict_proba"):
        loss = float(log_loss(test_y, model.predict_proba(test_X), labels=np.unique(y)))
    else:
        loss = float(np.mean(model.predict(test_X) != test_y))
    return {"loss": loss, "seconds": seconds}


def compared(name: str, splits: int, only: str | None) -> Iterator[dict[str, Any]]:
    """Every contender on one table."""
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    X, y, task = table(name)
    found: dict[str, list[tuple[dict[str, float], dict[str, float]]]] = {}
    for seed in range(splits):
        labels = y if task == "classification" else None
        train, test = train_test_split(np.arange(len(y)), test_size=0.25, random_state=seed, stratify=labels)
        scaler = StandardScaler().fit(X[train])
        data = scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]
        for k, (model, ours, theirs) in enumerate(contenders(task, seed)):
            if only and only not in model:
                continue
            rows = slice(MOST_FOR_CUBIC if model in CUBIC else None)
            given = data[0][rows], data[1][rows], data[2], data[3]
            pair = [judged(each, given, task) for each in ((ours, theirs) if (seed + k) % 2 else (theirs, ours))]
            found.setdefault(model, []).append((pair[0], pair[1]) if (seed + k) % 2 else (pair[1], pair[0]))
    for model, pairs in found.items():
        yield {"table": name, "rows": len(y), "model": model, **difference(pairs)}


def difference(pairs: list[tuple[dict[str, float], dict[str, float]]]) -> dict[str, Any]:
    """Mean losses, their difference with a 95 % interval, and the ratio of times."""
    from scipy.stats import t

    losses = np.array([[ours["loss"], theirs["loss"]] for ours, theirs in pairs])
    seconds = np.array([[ours["seconds"], theirs["seconds"]] for ours, theirs in pairs])
    gap = losses[:, 0] - losses[:, 1]
    n = len(gap)
    # Splits share training rows, so their differences are not independent: the variance of the mean gets the
    # fraction of test to training rows besides.
    half = float(t.ppf(0.975, n - 1) * np.sqrt((1 / n + 0.25 / 0.75) * gap.var(ddof=1))) if n > 1 else float("inf")
    return {
        "ours": float(losses[:, 0].mean()),
        "theirs": float(losses[:, 1].mean()),
        "difference": float(gap.mean()),
        "interval": half,
        "worse": bool(gap.mean() > half + 1e-9),
        "time_ratio": float(seconds[:, 1].min() / max(seconds[:, 0].min(), 1e-9)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--tables", default=None, help="Names separated by commas.")
    parser.add_argument("--only", default=None, help="Models whose name contains this.")
    parser.add_argument("--out", type=Path, default=None, help="JSON file to write.")
    options = parser.parse_args()
    names = options.tables.split(",") if options.tables else [*BUNDLED, *(REAL if has_real() else ())]
    results = []
    for name in names:
        for row in compared(name, options.splits, options.only):
            results.append(row)
            mark = "  WORSE" if row["worse"] else ""
            print(
                f"{name:20s} {row['model']:34s} ours {row['ours']:.4f}  theirs {row['theirs']:.4f}  "
                f"difference {row['difference']:+.4f} ± {row['interval']:.4f}  time x{row['time_ratio']:.2f}{mark}",
                flush=True,
            )
        if options.out:
            options.out.write_text(json.dumps({"conditions": conditions(1), "results": results}, indent=1) + "\n")
    worse = [row for row in results if row["worse"]]
    print(f"{len(results)} comparisons, {len(worse)} worse beyond their interval")


if __name__ == "__main__":
    main()
