"""What bagging of classifiers and of regressors share: drawing, fitting member by member, averaging."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.classes import check_classes, encode_classes
from margin.core.domains import Choice, Either, Flag, Integer, Nested, Number, Optional, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.invariants import ArrayOf, ListOf
from margin.core.new_rows import validate_new_rows
from margin.core.notices import warn_user
from margin.core.parameters import VERBOSE, attribute, parameter
from margin.core.randomness import RandomLike
from margin.core.records import Record
from margin.core.targets import numeric_target
from margin.trees.cart import walking
from margin.trees.forest.bagged_members import BaggingFit, draw_columns, draw_rows, member_of, member_values
from margin.trees.forest.bagged_trees import table_of, trees_of_members
from margin.trees.forest.out_of_bag import forget_out_of_bag
from margin.trees.members import MemberSequence
from margin.trees.stored import DRAWS, MEMBERS, SCORE, members_see_their_columns

__all__ = ["MEMBER_ROWS", "Bagging"]

# What reaches the members: they say themselves what they can do with NaN and with a sparse table.
# Whether an entry may be missing or infinite is for the members to say: one may be a pipeline that replaces it.
MEMBER_ROWS: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": False, "accept_sparse": ("csr", "csc")}


class Bagging(MemberSequence, IterativeEstimator):
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

    estimators_: list[Any] = attribute(MEMBERS, "The fitted members.")
    estimators_features_: list[np.ndarray] = attribute(
        ListOf(ArrayOf(None, kind="i", low=0, below="n_features"), "n_members"), "The columns of every member."
    )
    oob_score_: float = attribute(
        SCORE, "Accuracy, or coefficient of determination, of the out-of-bag averages, if oob_score=True."
    )
    _sampling: dict[str, Any] = attribute(DRAWS, "How rows and columns of every member were drawn.")
    _stored_rules = (members_see_their_columns,)

    def fit(self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit all members."""
        return self._consume(self.iterate(X, y, sample_weight), X, y)

    def iterate(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn, yielding a record per member, with ``oob_error`` (NaN until a row was left out) if oob_score=True."""
        self._check_parameters()
        owner, classify = type(self).__name__, isinstance(self, ClassifierMixin)
        go_on = state is None and self.warm_start and hasattr(self, "estimators_")
        y = y if classify else numeric_target(self, y)
        X, y = validate_data(self, X, y, reset=not go_on, y_numeric=not classify, multi_output=True, **MEMBER_ROWS)
        if classify or y.ndim == 1 or y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weight.any():
            raise ValueError(f"{owner}: at least one row must have a positive weight; got none.")
        classes = None
        if classify:
            check_classes(y)
            classes, y = encode_classes(y)
        if go_on:
            state = self._earlier(owner, X.shape[0], classes)
        self._loop = loop = BaggingFit(self, X, y, weight, classes, state)
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

    def _learn(self, loop: BaggingFit, classes: np.ndarray | None) -> None:
        self.estimators_, self.estimators_features_ = loop.members[:], loop.columns[:]
        self._sampling = {
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
        return member_of(self)

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """The rows drawn for every member, repeats included, drawn again from the same seeds."""
        check_is_fitted(self)
        made = self._sampling
        drawn = []
        for number, attempts in enumerate(made["attempts"]):
            rng = np.random.default_rng([made["seed"], number])
            draw_columns(self, rng, self.n_features_in_, made["columns"])
            for _ in range(attempts):
                counts = draw_rows(self, rng, made["rows"], made["drawn"], made.get("chances"))
            drawn.append(np.repeat(np.arange(made["rows"], dtype=np.int32), counts.astype(np.int64)))
        return drawn

    def _average(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_new_rows(self, X, **MEMBER_ROWS)
        outputs = len(self.classes_) if isinstance(self, ClassifierMixin) else 0
        trees = trees_of_members(self.estimators_, self.estimators_features_, outputs)
        if trees is not None:
            return walking.sum_values(trees, table_of(self.estimators_[0], X)) / len(trees)
        member_outputs = [
            member_values(m, X[:, c], outputs) for m, c in zip(self.estimators_, self.estimators_features_)
        ]
        return np.mean(member_outputs, axis=0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        member = member_of(self)
        # What the members can take, the ensemble can: it hands the columns on as they are.
        tags.input_tags.allow_nan = member.__sklearn_tags__().input_tags.allow_nan
        tags.input_tags.sparse = member.__sklearn_tags__().input_tags.sparse
        return tags
