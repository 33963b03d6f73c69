r"""Bagging: the average (or vote) of models trained on bootstrap samples of the rows.

.. math:: \hat f(x) = \frac1B \sum_{b=1}^B f_b(x), \qquad f_b \text{ fitted to } n \text{ rows drawn with replacement.}

Averaging leaves the bias of the members and lowers their variance, so members should be flexible: a fully grown tree
gains much, a stump little.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
    validate_data,
)

from margin.core.domains import Choice, Either, Flag, Integer, Nested, Number, Optional, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.notices import warn_user
from margin.core.parallel import map_in_order, worker_count
from margin.core.parameters import VERBOSE, attribute, parameter
from margin.core.randomness import RandomLike, seed_estimator, seed_from
from margin.core.records import Record
from margin.trees.cart.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from margin.trees.forest.out_of_bag import OutOfBag, bootstrap_counts, forget_out_of_bag
from margin.trees.members import MemberSequence

__all__ = ["BaggingClassifier", "BaggingRegressor"]

# What reaches the members: they say themselves what they can do with NaN and with a sparse table.
# Whether an entry may be missing or infinite is for the members to say: one may be a pipeline that replaces it.
MEMBER_ROWS: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": False, "accept_sparse": ("csr", "csc")}

WORK_PER_CELL = 500.0  # basic operations per cell of the table: about what a tree costs
MOST_DRAWS = 100  # samples drawn in search of one that has all classes; a class of one row is missed by one in three


class _Bagging(MemberSequence, IterativeEstimator):
    """What both share: drawing, fitting member by member, judging by what was left out."""

    estimator: Any = parameter(
        None, Optional(Nested("fit", "predict")), "The model that every member is a copy of; None is a decision tree."
    )
    n_estimators: int = parameter(10, Integer(low=1, search=(10, 200)), "Number of members.")
    _: KW_ONLY
    max_samples: int | float | None = parameter(
        None,
        Optional(Either(Integer(low=1), Number(above=0, high=1, search=(0.3, 1.0)))),
        "Rows drawn for every member, as a count or a fraction; None draws as many as there are.",
    )
    max_features: int | float = parameter(
        1.0,
        Either(Integer(low=1), Number(above=0, high=1, search=(0.3, 1.0))),
        "Columns drawn for every member, as a count or a fraction.",
    )
    bootstrap: bool = parameter(True, Flag(), "Whether rows are drawn with replacement.")
    bootstrap_features: bool = parameter(False, Flag(), "Whether columns are drawn with replacement.")
    oob_score: bool = parameter(
        False, Flag(), "Whether the rows that members left out judge the ensemble, in the records too."
    )
    warm_start: bool = parameter(False, Flag(), "Whether a further fit keeps the members there are and adds new ones.")
    n_jobs: int | None = parameter(
        None,
        Optional(Either(Integer(low=1), Choice(-1))),
        "Members fitted at the same time in threads: None takes as many as the work is worth, -1 all; any number gives "
        "the same result.",
    )
    random_state: RandomLike = parameter(
        None, Seed(), "Draws rows and columns, and a seed for every random_state in a member."
    )
    verbose: int = parameter(0, Either(Flag(), Integer(low=0)), VERBOSE)

    estimators_: list[Any] = attribute("The fitted members.")
    estimators_features_: list[np.ndarray] = attribute("The columns of every member.")
    oob_score_: float = attribute(
        "Accuracy, or coefficient of determination, of the out-of-bag averages, if oob_score=True."
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit all members."""
        return self._consume(self.iterate(X, y, sample_weight), X, y)

    def iterate(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn, yielding a record per member, with ``oob_error`` (NaN until a row was left out) if oob_score=True."""
        self._check_parameters()
        owner, classify = type(self).__name__, isinstance(self, ClassifierMixin)
        go_on = state is None and self.warm_start and hasattr(self, "estimators_")
        X, y = validate_data(self, X, y, reset=not go_on, y_numeric=not classify, multi_output=True, **MEMBER_ROWS)
        if classify or y.ndim == 1 or y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weight.any():
            raise ValueError(f"{owner}: at least one row must have a positive weight; got none.")
        classes = None
        if classify:
            check_classification_targets(y)
            classes, y = np.unique(y, return_inverse=True)
        if go_on:
            state = self._earlier(owner, X.shape[0], classes)
        self._loop = loop = _Members(self, X, y, weight, classes, state)
        if go_on and self.oob_score:
            loop.judge_again()
        if state is not None:
            self._learn(loop, classes)
        for record in loop.iterations():
            self._learn(loop, classes)
            yield record
        if self.oob_score:
            loop.judged.warn_of_unjudged(owner)

    def _earlier(self, owner: str, n: int, classes: np.ndarray | None) -> dict[str, Any]:
        """The members of an earlier fit as a state to go on from; their samples are of the same rows."""
        if self.n_estimators < len(self.estimators_):
            raise ValueError(
                f"{owner}: n_estimators={self.n_estimators} must be at least the {len(self.estimators_)} members there "
                "are when warm_start=True."
            )
        if classes is not None and not np.array_equal(classes, self.classes_):
            raise ValueError(f"{owner}: warm_start=True needs the classes of the first fit in y.")
        if self.oob_score and n != self._sampling["rows"]:
            raise ValueError(f"{owner}: oob_score=True with warm_start=True needs the rows of the first fit.")
        if self.n_estimators == len(self.estimators_):
            warn_user(f"{owner}: warm_start without more members (n_estimators={self.n_estimators}) fits none.")
        return {
            "members": self.estimators_,
            "columns": self.estimators_features_,
            "seed": self._sampling["seed"],
            "attempts": self._sampling["attempts"],
        }

    def _learn(self, loop: _Members, classes: np.ndarray | None) -> None:
        self.estimators_, self.estimators_features_ = loop.members[:], loop.columns[:]
        self._sampling: dict[str, Any] = {
            "seed": loop.seed,
            "rows": loop.X.shape[0],
            "drawn": loop.rows_drawn,
            "columns": loop.columns_drawn,
            "attempts": loop.attempts[:],
        }
        if loop.chances is not None:
            self._sampling["chances"] = loop.chances
        if classes is not None:
            self.classes_ = classes
        forget_out_of_bag(self)
        if self.oob_score:
            self.oob_score_ = loop.judged.score()
            averages = loop.judged.averages()
            if classes is None:
                self.oob_prediction_ = averages[:, 0] if averages.shape[1] == 1 else averages
            else:
                self.oob_decision_function_ = averages

    @property
    def estimator_(self) -> Any:
        """The model, not fitted, that all members are copies of."""
        check_is_fitted(self)
        return _member(self)

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """The rows drawn for every member, repeats included, drawn again from the same seeds."""
        check_is_fitted(self)
        made = self._sampling
        drawn = []
        for number, attempts in enumerate(made["attempts"]):
            rng = np.random.default_rng([made["seed"], number])
            _draw_columns(self, rng, self.n_features_in_, made["columns"])
            for _ in range(attempts):
                counts = _draw_rows(self, rng, made["rows"], made["drawn"], made.get("chances"))
            drawn.append(np.repeat(np.arange(made["rows"], dtype=np.int32), counts.astype(np.int64)))
        return drawn

    def _average(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **MEMBER_ROWS)
        outputs = len(self.classes_) if isinstance(self, ClassifierMixin) else 0
        found = [member_values(m, X[:, c], outputs) for m, c in zip(self.estimators_, self.estimators_features_)]
        return np.mean(found, axis=0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        member = _member(self)
        # What the members can take, the ensemble can: it hands the columns on as they are.
        tags.input_tags.allow_nan = member.__sklearn_tags__().input_tags.allow_nan
        tags.input_tags.sparse = member.__sklearn_tags__().input_tags.sparse
        return tags


def _member(model: _Bagging) -> Any:
    if model.estimator is not None:
        return model.estimator
    return DecisionTreeClassifier() if isinstance(model, ClassifierMixin) else DecisionTreeRegressor()


def member_values(member: Any, X: np.ndarray, outputs: int) -> np.ndarray:
    """A member's prediction, (n, outputs): probabilities (or a vote) of all classes, or a response per target."""
    if outputs == 0:
        return np.asarray(member.predict(X), dtype=np.float64).reshape(X.shape[0], -1)
    values = np.zeros((X.shape[0], outputs))
    if hasattr(member, "predict_proba"):
        values[:, np.asarray(member.classes_, dtype=np.int64)] = member.predict_proba(X)
    else:
        values[np.arange(X.shape[0]), np.asarray(member.predict(X), dtype=np.int64)] = 1.0
    return values


def _draw_columns(model: _Bagging, rng: np.random.Generator, columns: int, count: int) -> np.ndarray:
    return np.sort(rng.choice(columns, size=count, replace=bool(model.bootstrap_features)))


def _draw_rows(
    model: _Bagging, rng: np.random.Generator, n: int, count: int, chances: np.ndarray | None = None
) -> np.ndarray:
    """How often each of ``n`` rows is drawn, all alike or by their ``chances``."""
    if chances is not None:
        drawn = rng.choice(n, size=count, replace=bool(model.bootstrap), p=chances)
        return np.bincount(drawn, minlength=n).astype(np.float64)
    if model.bootstrap:
        return bootstrap_counts(n, count, rng)
    counts = np.zeros(n)
    counts[rng.choice(n, size=count, replace=False)] = 1.0
    return counts


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
        self.attempts: list[int] = []  # samples drawn for every member; the last one counts
        self.seed = seed_from(model.random_state) if state is None else int(state["seed"])
        if state is not None:
            self.members = list(state["members"])
            self.columns = [np.array(columns) for columns in state["columns"]]
            self.attempts = [int(attempts) for attempts in state["attempts"]]
            if "out_of_bag" in state:
                self.judged.restore(state["out_of_bag"])
        owner = type(model).__name__
        asked = 1.0 if model.max_samples is None else model.max_samples
        self.rows_drawn = _count(owner, "max_samples", asked, X.shape[0], "rows")
        self.columns_drawn = _count(owner, "max_features", model.max_features, X.shape[1], "columns")
        self.weighs = has_fit_parameter(_member(model), "sample_weight")
        # A member that takes no weights gets rows that are drawn by them.
        self.chances = None if self.weighs or np.all(weight == 1.0) else weight / weight.sum()
        if self.chances is not None and not model.bootstrap and (weight > 0).sum() < self.rows_drawn:
            raise ValueError(
                f"{owner}: bootstrap=False needs {self.rows_drawn} rows of positive weight to draw; got "
                f"{int((weight > 0).sum())}."
            )

    def iterations(self) -> Iterator[Record]:
        model = self.model
        threads = worker_count(model.n_jobs, WORK_PER_CELL * self.X.size)
        for member, columns, counts, attempts in map_in_order(
            self._fit, len(self.members), model.n_estimators, threads
        ):
            self.members.append(member)
            self.columns.append(columns)
            self.attempts.append(attempts)
            values = {}
            if model.oob_score:
                self._judge(member, columns, counts)
                values["oob_error"] = self.judged.error()
            yield Record(len(self.members), values, total=model.n_estimators)

    def _judge(self, member: Any, columns: np.ndarray, counts: np.ndarray) -> None:
        left_out = np.flatnonzero((counts == 0) & (self.weight > 0))
        if len(left_out):
            self.judged.add(left_out, member_values(member, self.X[left_out][:, columns], self.outputs))

    def judge_again(self) -> None:
        """Let the rows that earlier members left out judge them: their samples are drawn again from their seeds."""
        for number, (member, columns) in enumerate(zip(self.members, self.columns)):
            self._judge(member, columns, self._draw(number)[2])

    def _draw(self, number: int) -> tuple[np.random.Generator, np.ndarray, np.ndarray, int]:
        """The stream of a member, its columns, how often it has each row, and how many samples were drawn.

        A sample that lacks a class is drawn again: many classifiers refuse a single class.
        """
        model, n = self.model, self.X.shape[0]
        rng = np.random.default_rng([self.seed, number])
        columns = _draw_columns(model, rng, self.X.shape[1], self.columns_drawn)
        attempts, counts = 1, _draw_rows(model, rng, n, self.rows_drawn, self.chances)
        while self._lacks_a_class(counts) and attempts < MOST_DRAWS:
            attempts, counts = attempts + 1, _draw_rows(model, rng, n, self.rows_drawn, self.chances)
        return rng, columns, counts, attempts

    def _lacks_a_class(self, counts: np.ndarray) -> bool:
        return self.outputs > 0 and len(np.unique(self.y[counts * self.weight > 0])) < self.outputs

    def _fit(self, number: int) -> tuple[Any, np.ndarray, np.ndarray, int]:
        model, n = self.model, self.X.shape[0]
        rng, columns, counts, attempts = self._draw(number)
        member = clone(_member(model))
        seed_estimator(member, rng)
        weight = counts * self.weight
        if not weight.any():  # every drawn row weighs nothing: fall back to the rows that do
            weight = self.weight
        if self.weighs:
            drawn = weight > 0
            member.fit(self.X[drawn][:, columns], self.y[drawn], sample_weight=weight[drawn])
        else:
            rows = np.repeat(np.arange(n), counts.astype(np.int64))
            member.fit(self.X[rows][:, columns], self.y[rows])
        return member, columns, counts, attempts

    def state(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "members": list(self.members),  # fitted members never change
            "columns": [columns.copy() for columns in self.columns],
            "attempts": list(self.attempts),
            "out_of_bag": self.judged.state(),
        }


def _count(owner: str, name: str, asked: Any, available: int, what: str) -> int:
    if isinstance(asked, float | np.floating):
        return max(1, int(asked * available))
    if asked > available:
        raise ValueError(f"{owner}: {name}={asked} exceeds the {available} {what} there are.")
    return int(asked)


class BaggingClassifier(ClassifierMixin, _Bagging):
    r"""The average of classifiers' probabilities (votes, if they have none).

    A member that takes sample weights gets the rows it drew with their counts as weights, any other the drawn rows
    themselves, which are drawn by their weights if they have any. A sample that lacks a class is drawn again.

    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = BaggingClassifier(n_estimators=25, oob_score=True, random_state=0).fit(X, y)
    >>> model.oob_score_ > 0.9
    True
    """

    classes_: np.ndarray = attribute("The classes, ascending.")
    oob_decision_function_: np.ndarray = attribute(
        "Class probabilities of every training row by the members that left it out, (n, classes), if oob_score=True; "
        "NaN where all drew it."
    )

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        check_is_fitted(self)
        return len(self.classes_)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The average of the members' class probabilities, (n, classes)."""
        return self._average(X)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithm of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @available_if(lambda self: hasattr(_member(self), "decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """The average of the members' decision functions, (n,) or (n, classes)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **MEMBER_ROWS)
        if any(len(member.classes_) < len(self.classes_) for member in self.estimators_):
            raise ValueError(
                f"{type(self).__name__}: decision_function needs members that know all classes; the samples of some "
                "lack one. predict_proba averages them all the same."
            )
        pairs = zip(self.estimators_, self.estimators_features_)
        return np.mean([member.decision_function(X[:, columns]) for member, columns in pairs], axis=0)

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest average probability."""
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]


class BaggingRegressor(RegressorMixin, _Bagging):
    r"""The average of regressors.

    A member that takes sample weights gets the rows it drew with their counts as weights, any other the drawn rows
    themselves, which are drawn by their weights if they have any.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> records = list(BaggingRegressor(n_estimators=30, oob_score=True, random_state=0).iterate(X, y))
    >>> records[-1]["oob_error"] < 0.6 * records[0]["oob_error"]
    True
    """

    oob_prediction_: np.ndarray = attribute(
        "Prediction for every training row by the members that left it out, (n,) or (n, targets), if oob_score=True; "
        "NaN where all drew it."
    )

    def predict(self, X: Any) -> np.ndarray:
        """The average of the members' predictions, (n,) or (n, targets)."""
        average = self._average(X)
        return average[:, 0] if average.shape[1] == 1 else average
