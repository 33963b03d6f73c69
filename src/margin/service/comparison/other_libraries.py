"""Boosting of other libraries as rows of the board, where they are installed.

They show what a user would get elsewhere, at their defaults, on the same folds and columns. They cannot win: a model
file holds only classes that declare what their arrays must satisfy, and these do not.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from margin import catalog
from margin.selection import Candidate
from margin.service.comparison.rows import BoardRow, Preparations
from margin.service.preparation import behind

__all__ = ["NOT_SAVED", "CodedClassifier", "candidates_of_others", "installed_libraries"]

NOT_SAVED = "models of other libraries are compared, not saved"
#: Library -> its classifier and regressor, and what keeps them quiet, alone on a core and repeatable.
OTHERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "lightgbm": ("LGBMClassifier", "LGBMRegressor", {"verbose": -1, "n_jobs": 1}),
    "xgboost": ("XGBClassifier", "XGBRegressor", {"verbosity": 0, "n_jobs": 1}),
    "catboost": (
        "CatBoostClassifier",
        "CatBoostRegressor",
        {"verbose": 0, "thread_count": 1, "allow_writing_files": False},
    ),
}


def installed_libraries() -> list[str]:
    """The libraries that can be imported, without importing them."""
    return [name for name in OTHERS if importlib.util.find_spec(name) is not None]


def candidates_of_others(
    names: Sequence[str], task: str, prepared: Preparations, seed: int, margin: float | None
) -> list[Candidate]:
    """One candidate for each library, at its defaults, behind the columns that our own boosting sees."""
    candidates = []
    for name in names:
        entry = catalog.Entry(name, f"{name}.{OTHERS[name][task != 'classification']}", task)
        make = partial(_make, name, task, prepared.of(BoardRow(name, entry)), seed, margin)
        candidates.append(Candidate(name, make, can_win=False))
    return candidates


def _make(name: str, task: str, prepare: Any, seed: int, margin: float | None) -> Any:
    classifier, regressor, settings = OTHERS[name]
    library = importlib.import_module(name)
    if task == "classification":
        return behind(prepare, CodedClassifier(getattr(library, classifier)(random_state=seed, **settings)))
    return behind(prepare, getattr(library, regressor)(random_state=seed, **settings), margin)


class CodedClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that is taught classes 0, 1, ..., as some libraries demand, and predicts the classes themselves."""

    def __init__(self, classifier: Any):
        self.classifier = classifier

    def fit(self, X: Any, y: Any) -> CodedClassifier:
        """Fit to the codes of the classes."""
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        self.classifier.fit(np.asarray(X), codes)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each row."""
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities in the order of ``classes_``."""
        return np.asarray(self.classifier.predict_proba(np.asarray(X)), dtype=np.float64)
