"""Settings found on the training rows alone, proposed by Optuna and cut early, inside whatever fold it is fitted in.

Because the search is part of ``fit``, a cross-validation of a :class:`TunedModel` is nested: its test rows have no part
in the choice, so its score is honest for the search as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.full_disk import is_full_disk
from margin.metrics import Metric
from margin.selection.outputs import output_of, scores_of
from margin.selection.search_journal import SearchJournal, Tried, describe
from margin.selection.trial import rows_of

__all__ = ["TunedModel", "search_settings"]

#: A setting goes on, with three times the rows, while it is among the best third of those before it.
ETA = 3
#: A part with fewer rows than this says too little to cut by.
LEAST_ROWS = 300

Folds = Sequence[tuple[np.ndarray, np.ndarray]]


def search_settings(
    model: Any,
    space: Mapping[str, Any],
    X: MatrixLike,
    y: np.ndarray,
    folds: Folds,
    metric: Metric,
    *,
    n_settings: int = 20,
    seed: int = 0,
    journal: Path | None = None,
) -> tuple[dict[str, Any], float]:
    """The best of ``n_settings`` from ``space`` and the model's own setting, and its score over ``folds``.

    Each of ``space`` proposes a value with ``suggest(trial, name)``; Optuna's TPE chooses, by what the settings before
    gave, which parameters leave the value they have and what they become. A setting is first fitted to a part of the
    first fold's training rows, then to three times as many, at last to all rows of fold after fold; it goes no further
    once it is behind the best third of those that came as far. The model's own setting always comes to the end: a
    search must not end below where it began. With a ``journal``, a search that was killed goes on where it was.
    """
    search = _Search(model, X, y, metric, _stages(folds, n_settings, seed), len(folds))
    search_journal = SearchJournal(journal)
    own = Tried({}, {}, search.scores({}, []), "complete")
    best, best_score = ({}, own.scores[-1]) if search.is_complete(own.scores) else ({}, -math.inf)
    for tried in search_journal.tried:
        setting = _setting(space, FixedTrial(tried.params))
        if tried.state == "complete" and tried.scores[-1] > best_score:
            best, best_score = setting, tried.scores[-1]
    while len(search_journal.tried) < n_settings:
        trial = search_journal.ask(seed)
        setting = _setting(space, trial)
        scores = own.scores if not setting else search.scores(setting, [own, *search_journal.tried])
        state = "complete" if search.is_complete(scores) else "pruned" if scores else "fail"
        search_journal.add(Tried(*describe(trial), scores, state))
        if state == "complete" and scores[-1] > best_score:
            best, best_score = setting, scores[-1]
    if not np.isfinite(best_score):
        raise ValueError(f"search_settings: no setting of {type(model).__name__} could be fitted and measured.")
    return best, best_score if metric.greater_is_better else -best_score


class FixedTrial:
    """A trial that proposes what it proposed before."""

    def __init__(self, params: Mapping[str, Any]):
        self.params = params

    def suggest_float(self, name: str, *_: Any, **__: Any) -> Any:
        return self.params[name]

    suggest_int = suggest_categorical = suggest_float


def _setting(space: Mapping[str, Any], trial: Any) -> dict[str, Any]:
    """New values for the parameters that ``trial`` wants changed: where all change, one bad value spoils the others."""
    changed = [n for n in space if len(space) == 1 or trial.suggest_categorical(f"{n} changes", (False, True))]
    return {name: space[name].suggest(trial, name) for name in changed}


def _stages(folds: Folds, n_settings: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Parts of the first fold's training rows, growing, and then all folds."""
    train, test = folds[0]
    order = np.random.default_rng(seed).permutation(len(train))
    return [*((train[order[:size]], test) for size in _sizes(n_settings, len(train))), *folds]


def _sizes(n_settings: int, n_rows: int) -> list[int]:
    """Rows of the stages before the folds, as long as there is something to cut and enough to cut by.

    >>> _sizes(27, 9000), _sizes(3, 9000), _sizes(27, 500)
    ([1000, 3000], [], [])
    """
    rounds = max(0, math.floor(math.log(max(n_settings, 1), ETA) + 1e-9) - 1)
    sizes = [round(n_rows / ETA**k) for k in range(rounds, 0, -1)]
    return [size for size in sizes if size >= LEAST_ROWS]


class _Search:
    """Settings of a model, measured stage after stage."""

    def __init__(
        self, model: Any, X: Any, y: np.ndarray, metric: Metric, stages: Sequence[tuple[np.ndarray, np.ndarray]], n: int
    ):
        self.model, self.X, self.y, self.metric, self.stages = model, X, y, metric, stages
        self.first_fold = len(stages) - n
        self.classes = tuple(np.unique(y).tolist()) if "classification" in metric.tasks else ()

    def is_complete(self, scores: Sequence[float]) -> bool:
        return len(scores) == len(self.stages)

    def scores(self, setting: Mapping[str, Any], others: Sequence[Tried]) -> list[float]:
        """A score for each stage, greater being better, as far as the setting comes; from the first fold on the mean of
        the folds so far. None for a setting that cannot be fitted."""
        scores: list[float] = []
        on_folds: list[float] = []
        for stage, (train, test) in enumerate(self.stages):
            try:
                value = self._score(setting, train, test)
            except Exception as error:  # a value that a model refuses, alone or with another, is no reason to end
                if is_full_disk(error):
                    raise
                return []
            if stage >= self.first_fold:
                on_folds.append(value)
                value = float(np.mean(on_folds))
            scores.append(value)
            if not np.isfinite(value):
                return []
            if stage < len(self.stages) - 1 and self._is_behind(
                value, [t.scores[stage] for t in others if len(t.scores) > stage]
            ):
                break
        return scores

    def _is_behind(self, value: float, others: Sequence[float]) -> bool:
        """Whether a value is not among the best third of ``others``, once they are enough to say so."""
        kept = math.ceil(len(others) / ETA)
        return len(others) >= ETA and value < sorted(others, reverse=True)[kept - 1]

    def _score(self, setting: Mapping[str, Any], train: np.ndarray, test: np.ndarray) -> float:
        fitted = clone(self.model).set_params(**setting).fit(rows_of(self.X, train), self.y[train])
        output = output_of(fitted, rows_of(self.X, test), self.classes)
        value = scores_of(output, self.y[test], self.classes, [self.metric])[0][self.metric.name]
        return value if self.metric.greater_is_better else -value


class TunedModel(BaseEstimator):
    """A model that looks for its settings before it learns; ``best_`` is then the plain model with the setting found.

    Parameters
    ----------
    model : estimator
        The model, with the settings it has.
    space : mapping
        Parameter name -> something with ``suggest``, as ``margin.search_space`` gives it.
    metric : Metric
        What is compared.
    folds : list of (train, test) positions
        Inner folds of the rows that ``fit`` gets.
    n_settings : int
        How many settings are tried.
    seed : int
        Seed of what is proposed.
    journal : path, optional
        File that keeps what was tried, so that a search that was killed goes on.
    """

    def __init__(
        self,
        model: Any,
        space: Mapping[str, Any],
        metric: Metric,
        folds: Folds,
        n_settings: int = 20,
        seed: int = 0,
        journal: Path | None = None,
    ):
        self.model, self.space, self.metric, self.folds = model, space, metric, folds
        self.n_settings, self.seed, self.journal = n_settings, seed, journal

    def fit(self, X: MatrixLike, y: ArrayLike) -> TunedModel:
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
            journal=self.journal,
        )
        self.best_ = clone(self.model).set_params(**self.setting_).fit(X, y)
        return self

    def predict(self, X: MatrixLike) -> Any:
        """What the model with the setting found predicts."""
        return self.best_.predict(X)

    def __getattr__(self, name: str) -> Any:
        # What the model offers, the tuned one does: probabilities, decision values, classes.
        if name in ("predict_proba", "decision_function", "classes_") and "best_" in vars(self):
            return getattr(self.best_, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
