r"""Boosted trees against a random forest: who wins depends on the data.

Boosting usually wins on tables with structure that takes many steps to learn, after some tuning of rounds and rate;
with few rows, much noise or no tuning a forest is often ahead. Error here is that of held-out rows in the folds of a
cross-validation, relative to always saying the mean (or the commonest class).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, corrected, equal, every
from margin.data import load
from margin.trees import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLES = ("friedman", "spirals", "wine", "diabetes", "noise")


def run(seed: int, fast: bool) -> dict[str, Any]:
    folds = 3 if fast else 10
    names = ("boosting", "forest")
    errors = {name: np.array([_errors(table, name, folds, seed) for table in TABLES]) for name in names}
    return {"tables": list(TABLES), **errors}


def check(data: dict[str, Any]) -> Verdict:
    ahead = data["boosting"].mean(axis=1) < data["forest"].mean(axis=1)
    learned = [max(data[name][k].mean() for name in ("boosting", "forest")) for k in range(4)]
    truth = every(
        both_beat_the_constant=below(float(max(learned)), 1.0),
        boosting_wins_somewhere=equal(bool(ahead.any()), True),
        forest_wins_somewhere=equal(bool(ahead.all()), False),
    )
    return corrected(truth, printed=equal({"tables won by boosting": int(ahead.sum())}, {"tables won by boosting": 5}))


def draw(data: dict[str, Any], figure: Figure) -> None:
    axis = figure.subplots()
    place = np.arange(len(data["tables"]))
    for shift, name, color in ((-0.2, "boosting", "C0"), (0.2, "forest", "C2")):
        errors = data[name]
        spread = errors.std(axis=1) / np.sqrt(errors.shape[1])
        axis.bar(place + shift, errors.mean(axis=1), 0.38, color=color, label=name, alpha=0.8)
        axis.errorbar(
            place + shift,
            errors.mean(axis=1),
            spread,
            fmt="none",
            color="black",
            capsize=3,
        )
        for x, mean, half in zip(place + shift, errors.mean(axis=1), spread):
            axis.annotate(
                f"{mean:.2f}", (x, mean + half), xytext=(0, 4), textcoords="offset points", ha="center", fontsize=9
            )
    axis.axhline(1.0, color="0.5", linestyle="--")
    axis.text(-0.4, 1.01, "always the mean, or the commonest class", color="0.35", va="bottom")
    axis.set_xticks(place, data["tables"])
    axis.set(ylabel="held-out error, relative", ylim=(0, 1.15), title="Neither wins everywhere")
    axis.legend(loc="upper left", bbox_to_anchor=(0, 0.85))


def _table(name: str, seed: int) -> tuple[np.ndarray, np.ndarray, bool]:
    if name == "noise":  # few rows, ten useless columns, one weak effect
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(100, 11))
        return X, 0.7 * X[:, 0] + rng.normal(size=100), False
    generated = name in ("friedman", "spirals")
    data = load(name, **({"n_samples": 500, "seed": seed} if generated else {}))
    return np.asarray(data.X), np.asarray(data.y), data.task == "classification"


def _errors(table: str, name: str, folds: int, seed: int) -> list[float]:
    X, y, classify = _table(table, seed)
    parts = np.array_split(np.random.default_rng(seed).permutation(len(y)), folds)
    errors = []
    for test in parts:
        train = np.setdiff1d(np.arange(len(y)), test)
        predictions = _model(name, classify, seed).fit(X[train], y[train]).predict(X[test])
        if classify:
            common = np.bincount(y[train]).argmax()
            errors.append(float(np.mean(predictions != y[test]) / np.mean(common != y[test])))
        else:
            errors.append(float(np.mean((predictions - y[test]) ** 2) / np.mean((y[train].mean() - y[test]) ** 2)))
    return errors


def _model(name: str, classify: bool, seed: int) -> Any:
    if name == "boosting":
        boosting = GradientBoostingClassifier if classify else GradientBoostingRegressor
        return boosting(n_estimators=60, max_depth=None, max_leaf_nodes=6, min_samples_leaf=5, random_state=seed)
    forest = RandomForestClassifier if classify else RandomForestRegressor
    return forest(n_estimators=40, random_state=seed)
