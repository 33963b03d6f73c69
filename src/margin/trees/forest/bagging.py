r"""Bagging: the average (or vote) of models trained on bootstrap samples of the rows.

.. math:: \hat f(x) = \frac1B \sum_{b=1}^B f_b(x), \qquad f_b \text{ fitted to } n \text{ rows drawn with replacement.}

Averaging leaves the bias of the members and lowers their variance, so members should be flexible: a fully grown tree
gains much, a stump little.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, has_fit_parameter, validate_data

from margin.core.domains import Choice, Domain, Either, Flag, Integer, Nested, Number, Optional, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.parallel import map_in_order, worker_count
from margin.core.randomness import SEED_BOUND, seed_from
from margin.core.records import Record
from margin.trees.cart.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from margin.trees.forest.out_of_bag import OutOfBag, bootstrap_counts

__all__ = ["BaggingClassifier", "BaggingRegressor"]

WORK_PER_CELL = 500.0  # basic operations per cell of the table: about what a tree costs

DOMAINS: dict[str, Domain] = {
    "estimator": Optional(Nested("fit", "predict")),
    "n_estimators": Integer(low=1, search=(10, 200)),
    "max_samples": Either(Integer(low=1), Number(above=0, high=1, search=(0.3, 1.0))),
    "max_features": Either(Integer(low=1), Number(above=0, high=1, search=(0.3, 1.0))),
    "bootstrap": Flag(),
    "bootstrap_features": Flag(),
    "oob_score": Flag(),
    "n_jobs": Optional(Either(Integer(low=1), Choice(-1))),
    "random_state": Seed(),
}

PARAMETERS = """
    ``max_samples`` rows and ``max_features`` columns (counts or shares) are drawn for every member, rows with
    replacement if ``bootstrap``, columns if ``bootstrap_features``. A member that takes sample weights gets the whole
    table and the counts as weights, any other the drawn rows themselves. With ``oob_score`` the rows that members left
    out judge the ensemble. ``n_jobs`` members are fitted at the same time in threads; any number gives the same result.

    Learned: ``estimators_``, ``estimators_features_`` (the columns of each) and with ``oob_score`` also ``oob_score_``.
    Records carry ``oob_error`` (share of errors, or mean squared error; NaN as long as no row was left out) after every
    member if rows can be left out.
"""


class _Bagging(IterativeEstimator):
    """What both share: drawing, fitting member by member, judging by what was left out."""

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        max_samples: Any = 1.0,
        max_features: Any = 1.0,
        bootstrap: bool = True,
        bootstrap_features: bool = False,
        oob_score: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.bootstrap_features = bootstrap_features
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit all members."""
        return self._consume(self.iterate(X, y, sample_weight), X, y)

    def iterate(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn, yielding a record per member."""
        self._check_parameters()
        owner, classify = type(self).__name__, isinstance(self, ClassifierMixin)
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan", y_numeric=not classify)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weight.any():
            raise ValueError(f"{owner}: at least one row must have a positive weight; got none.")
        classes = None
        if classify:
            check_classification_targets(y)
            classes, y = np.unique(y, return_inverse=True)
        self._loop = loop = _Members(self, X, y, weight, classes, state)
        if state is not None:
            self._learn(loop, classes)
        for record in loop.iterations():
            self._learn(loop, classes)
            yield record

    def _learn(self, loop: _Members, classes: np.ndarray | None) -> None:
        self.estimators_, self.estimators_features_ = loop.members[:], loop.columns[:]
        if classes is not None:
            self.classes_ = classes
        if self.oob_score:
            self.oob_score_ = loop.judged.score()
            averages = loop.judged.averages()
            if classes is None:
                self.oob_prediction_ = averages[:, 0]
            else:
                self.oob_decision_function_ = averages

    def _average(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        outputs = len(self.classes_) if isinstance(self, ClassifierMixin) else 0
        found = [said(m, X[:, c], outputs) for m, c in zip(self.estimators_, self.estimators_features_)]
        return np.mean(found, axis=0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        member = _member(self)
        # What the members can take, the ensemble can: it hands the columns on as they are.
        tags.input_tags.allow_nan = member.__sklearn_tags__().input_tags.allow_nan
        return tags


def _member(model: _Bagging) -> Any:
    if model.estimator is not None:
        return model.estimator
    return DecisionTreeClassifier() if isinstance(model, ClassifierMixin) else DecisionTreeRegressor()


def said(member: Any, X: np.ndarray, outputs: int) -> np.ndarray:
    """A member's prediction, (n, outputs): probabilities (or a whole vote) of all classes, or a response."""
    if outputs == 0:
        return np.asarray(member.predict(X), dtype=np.float64).reshape(len(X), 1)
    shares = np.zeros((len(X), outputs))
    if hasattr(member, "predict_proba"):
        shares[:, np.asarray(member.classes_, dtype=np.int64)] = member.predict_proba(X)
    else:
        shares[np.arange(len(X)), np.asarray(member.predict(X), dtype=np.int64)] = 1.0
    return shares


class _Members:
    """The running fit: the members so far, their columns and what left-out rows say."""

    def __init__(
        self,
        model: _Bagging,
        X: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray,
        classes: np.ndarray | None,
        state: dict[str, Any] | None,
    ):
        self.model, self.X, self.y, self.weight = model, X, y, weight
        self.outputs = 0 if classes is None else len(classes)
        self.judged = OutOfBag(np.asarray(y, dtype=np.float64), self.outputs, weight)
        self.members: list[Any] = []
        self.columns: list[np.ndarray] = []
        self.seed = seed_from(model.random_state) if state is None else int(state["seed"])
        if state is not None:
            self.members = list(state["members"])
            self.columns = [np.array(columns) for columns in state["columns"]]
            self.judged.restore(state["out_of_bag"])
        owner = type(model).__name__
        self.rows_drawn = _count(owner, "max_samples", model.max_samples, len(X), "rows")
        self.columns_drawn = _count(owner, "max_features", model.max_features, X.shape[1], "columns")

    def iterations(self) -> Iterator[Record]:
        model = self.model
        judge = model.oob_score or model.bootstrap or self.rows_drawn < len(self.X)
        threads = worker_count(model.n_jobs, WORK_PER_CELL * self.X.size)
        for member, columns, counts in map_in_order(self._fit, len(self.members), model.n_estimators, threads):
            self.members.append(member)
            self.columns.append(columns)
            values = {}
            if judge:
                left_out = np.flatnonzero((counts == 0) & (self.weight > 0))
                if len(left_out):
                    self.judged.add(left_out, said(member, self.X[left_out][:, columns], self.outputs))
                values["oob_error"] = self.judged.error()
            yield Record(len(self.members), values, total=model.n_estimators)

    def _fit(self, number: int) -> tuple[Any, np.ndarray, np.ndarray]:
        model, n = self.model, len(self.X)
        rng = np.random.default_rng([self.seed, number])
        columns = np.sort(rng.choice(self.X.shape[1], size=self.columns_drawn, replace=bool(model.bootstrap_features)))
        if model.bootstrap:
            counts = bootstrap_counts(n, self.rows_drawn, rng)
        else:
            counts = np.zeros(n)
            counts[rng.choice(n, size=self.rows_drawn, replace=False)] = 1.0
        member = clone(_member(model))
        if "random_state" in member.get_params(deep=False):
            member.set_params(random_state=int(rng.integers(SEED_BOUND)))
        weight = counts * self.weight
        if not weight.any():  # every drawn row weighs nothing: fall back to the rows that do
            weight = self.weight
        if has_fit_parameter(member, "sample_weight"):
            drawn = weight > 0
            member.fit(self.X[drawn][:, columns], self.y[drawn], sample_weight=weight[drawn])
        else:
            if not np.all(self.weight == 1.0):
                raise ValueError(
                    f"{type(model).__name__}: sample_weight needs members that take it; got {type(member).__name__}."
                )
            rows = np.repeat(np.arange(n), counts.astype(np.int64))
            member.fit(self.X[rows][:, columns], self.y[rows])
        return member, columns, counts

    def state(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "members": list(self.members),  # fitted members never change
            "columns": [columns.copy() for columns in self.columns],
            "out_of_bag": self.judged.state(),
        }


def _count(owner: str, name: str, asked: Any, available: int, what: str) -> int:
    if isinstance(asked, float | np.floating):
        return max(1, int(asked * available))
    if asked > available:
        raise ValueError(f"{owner}: {name}={asked} exceeds the {available} {what} there are.")
    return int(asked)


class BaggingClassifier(ClassifierMixin, _Bagging):
    __doc__ = f"""The average of classifiers' probabilities (votes, if they have none); decision trees if None is given.
    {PARAMETERS}
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = BaggingClassifier(n_estimators=25, oob_score=True, random_state=0).fit(X, y)
    >>> model.oob_score_ > 0.9
    True
    """

    domains = DOMAINS

    def predict_proba(self, X: Any) -> np.ndarray:
        """The average of the members' class probabilities, (n, classes)."""
        return self._average(X)

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest average probability."""
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]


class BaggingRegressor(RegressorMixin, _Bagging):
    __doc__ = f"""The average of regressors; decision trees if None is given.
    {PARAMETERS}
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> records = list(BaggingRegressor(n_estimators=30, random_state=0).iterate(X, y))
    >>> records[-1]["oob_error"] < 0.6 * records[0]["oob_error"]
    True
    """

    domains = DOMAINS

    def predict(self, X: Any) -> np.ndarray:
        """The average of the members' predictions."""
        return self._average(X)[:, 0]
