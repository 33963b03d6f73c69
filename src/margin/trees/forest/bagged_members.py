"""The members of a bag: their samples of rows and columns, their fits, and what left-out rows say of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import has_fit_parameter

from margin.core.parallel import map_in_order, worker_count
from margin.core.randomness import seed_estimator, seed_from
from margin.core.records import Record
from margin.trees.cart.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from margin.trees.forest.out_of_bag import OutOfBag, bootstrap_counts

__all__ = ["BaggingFit", "draw_columns", "draw_rows", "member_of", "member_values"]

WORK_PER_CELL = 500.0  # basic operations per cell of the table: about what a tree costs
MOST_DRAWS = 100  # samples drawn in search of one that has all classes; a class of one row is missed by one in three


def member_of(model: Any) -> Any:
    """The model, not fitted, that all members are copies of."""
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


def draw_columns(model: Any, rng: np.random.Generator, columns: int, count: int) -> np.ndarray:
    """``count`` of so many columns, ascending."""
    return np.sort(rng.choice(columns, size=count, replace=bool(model.bootstrap_features)))


def draw_rows(
    model: Any, rng: np.random.Generator, n: int, count: int, chances: np.ndarray | None = None
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


class BaggingFit:
    """The running fit: the members so far, their columns and what left-out rows say."""

    def __init__(
        self,
        model: Any,
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
        max_samples = 1.0 if model.max_samples is None else model.max_samples
        self.rows_drawn = _count(owner, "max_samples", max_samples, X.shape[0], "rows")
        self.columns_drawn = _count(owner, "max_features", model.max_features, X.shape[1], "columns")
        self.weighs = has_fit_parameter(member_of(model), "sample_weight")
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
        columns = draw_columns(model, rng, self.X.shape[1], self.columns_drawn)
        attempts, counts = 1, draw_rows(model, rng, n, self.rows_drawn, self.chances)
        while self._lacks_a_class(counts) and attempts < MOST_DRAWS:
            attempts, counts = attempts + 1, draw_rows(model, rng, n, self.rows_drawn, self.chances)
        return rng, columns, counts, attempts

    def _lacks_a_class(self, counts: np.ndarray) -> bool:
        return self.outputs > 0 and len(np.unique(self.y[counts * self.weight > 0])) < self.outputs

    def _fit(self, number: int) -> tuple[Any, np.ndarray, np.ndarray, int]:
        model, n = self.model, self.X.shape[0]
        rng, columns, counts, attempts = self._draw(number)
        member = clone(member_of(model))
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


def _count(owner: str, name: str, requested: Any, available: int, what: str) -> int:
    if isinstance(requested, float | np.floating):
        return max(1, int(requested * available))
    if requested > available:
        raise ValueError(f"{owner}: {name}={requested} exceeds the {available} {what} there are.")
    return int(requested)
