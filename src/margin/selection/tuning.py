"""Settings found on the training rows alone: random search by successive halving, inside whatever fold it is fitted in.

Because the search is part of ``fit``, a cross-validation of a :class:`TunedModel` is nested: its test rows have no part
in the choice, so its score is honest for the search as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from margin.metrics import Metric
from margin.selection.outputs import output_of, scores_of
from margin.selection.trial import rows_of

__all__ = ["TunedModel", "search_settings"]

#: Of three settings one goes on, with three times the rows.
ETA = 3
#: A part with fewer rows than this says too little to cut by.
LEAST_ROWS = 300

Folds = Sequence[tuple[np.ndarray, np.ndarray]]


def search_settings(
    model: Any,
    space: Mapping[str, Any],
    X: Any,
    y: np.ndarray,
    folds: Folds,
    metric: Metric,
    *,
    n_settings: int = 20,
    seed: int = 0,
) -> tuple[dict[str, Any], float]:
    """The best of ``n_settings`` draws from ``space`` and the model's own setting, and its score over ``folds``.

    Each of ``space`` draws a value with ``rvs(random_state)``; a draw changes about half of them. Settings are compared
    on a part of the first fold's training rows; the best third goes on to three times the rows, the last ones to all
    rows of all folds. The model's own setting always comes that far: a search must not end below where it began.
    """
    rng = np.random.default_rng(seed)
    drawn = [_draw(space, rng) for _ in range(n_settings)]
    alive: list[dict[str, Any]] = [{}, *drawn]
    sign = 1 if metric.greater_is_better else -1
    train, test = folds[0]
    order = rng.permutation(len(train))
    for size in _sizes(len(alive), len(train)):
        part = [(train[order[:size]], test)]
        values = [sign * _score(model, setting, X, y, part, metric) for setting in alive[1:]]
        best = np.argsort([-value for value in values], kind="stable")[: math.ceil(len(values) / ETA)]
        alive = [{}, *(alive[1 + i] for i in sorted(best))]
    values = [sign * _score(model, setting, X, y, folds, metric) for setting in alive]
    if not np.isfinite(max(values)):
        raise ValueError(f"search_settings: no setting of {type(model).__name__} could be fitted and measured.")
    winner = int(np.argmax(values))
    return alive[winner], sign * values[winner]


def _draw(space: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """New values for about half of the parameters: where all change at once, one bad value spoils the good ones."""
    names = list(space)
    chosen = [name for name in names if rng.random() < 0.5] or [names[int(rng.integers(len(names)))]]
    return {name: space[name].rvs(rng) for name in chosen}


def _sizes(n_settings: int, n_rows: int) -> list[int]:
    """Rows of the rounds before the last, as long as there is something to cut and enough to cut by.

    >>> _sizes(28, 9000), _sizes(4, 9000), _sizes(28, 500)
    ([1000, 3000], [], [])
    """
    rounds = max(0, math.floor(math.log(max(n_settings - 1, 1), ETA)) - 1)
    sizes = [round(n_rows / ETA**k) for k in range(rounds, 0, -1)]
    return [size for size in sizes if size >= LEAST_ROWS]


def _score(model: Any, setting: Mapping[str, Any], X: Any, y: np.ndarray, folds: Folds, metric: Metric) -> float:
    """Mean over the folds; minus or plus infinity, whichever is worst, for a setting that cannot be fitted."""
    values, classes = [], tuple(np.unique(y).tolist()) if "classification" in metric.tasks else ()
    for train, test in folds:
        try:
            fitted = clone(model).set_params(**setting).fit(rows_of(X, train), y[train])
            output = output_of(fitted, rows_of(X, test), classes)
            values.append(scores_of(output, y[test], classes, [metric])[0][metric.name])
        except Exception:
            return -math.inf if metric.greater_is_better else math.inf
    return float(np.mean(values))


class TunedModel(BaseEstimator):
    """A model that looks for its settings before it learns; ``best_`` is then the plain model with the setting found.

    Parameters
    ----------
    model : estimator
        The model, with the settings it has.
    space : mapping
        Parameter name -> something with ``rvs``, as ``margin.search_space`` gives it.
    metric : Metric
        What is compared.
    folds : list of (train, test) positions
        Inner folds of the rows that ``fit`` gets.
    n_settings : int
        How many settings are drawn.
    seed : int
        Seed of the draws.
    """

    def __init__(
        self, model: Any, space: Mapping[str, Any], metric: Metric, folds: Folds, n_settings: int = 20, seed: int = 0
    ):
        self.model, self.space, self.metric, self.folds = model, space, metric, folds
        self.n_settings, self.seed = n_settings, seed

    def fit(self, X: Any, y: Any) -> TunedModel:
        """Search, then fit the setting found to all rows."""
        self.setting_, self.inner_score_ = search_settings(
            self.model,
            self.space,
            X,
            np.asarray(y),
            self.folds,
            self.metric,
            n_settings=self.n_settings,
            seed=self.seed,
        )
        self.best_ = clone(self.model).set_params(**self.setting_).fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        """What the model with the setting found predicts."""
        return self.best_.predict(X)

    def __getattr__(self, name: str) -> Any:
        # What the model offers, the tuned one does: probabilities, decision values, classes.
        if name in ("predict_proba", "decision_function", "classes_") and "best_" in vars(self):
            return getattr(self.best_, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
