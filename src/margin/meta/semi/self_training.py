r"""Self-training: a classifier labels rows that have no label, and learns again with those it is sure about.

.. math:: L_{t+1} = L_t \cup \{(x, \hat y(x)) : x \text{ without a label},\; \max_c p_t(c \mid x) \ge \tau\}
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.core.array_types import MatrixLike
from margin.core.domains import Choice, Either, Flag, Integer, Nested, Number, Optional, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.invariants import ArrayOf, Count, ModelWith, StringOf
from margin.core.labels import UNKNOWN, coded_labels
from margin.core.notices import warn_user
from margin.core.parameters import VERBOSE, attribute, parameter
from margin.core.randomness import RandomLike, seed_estimator, seed_from
from margin.core.records import Record
from margin.core.refusals import MissingMethod
from margin.linear import LogisticRegression

__all__ = ["SelfTrainingClassifier", "confident_rows"]


def confident_rows(probabilities: np.ndarray, criterion: str, threshold: float, k_best: int) -> np.ndarray:
    """Rows of ``probabilities`` (m, classes) sure enough to be labeled, most confident first.

    >>> confident_rows(np.array([[0.6, 0.4], [0.1, 0.9], [0.2, 0.8]]), "threshold", 0.75, 1)
    array([1, 2])
    >>> confident_rows(np.array([[0.6, 0.4], [0.1, 0.9], [0.2, 0.8]]), "k_best", 0.75, 1)
    array([1])
    """
    confidence = probabilities.max(axis=1)
    order = np.argsort(-confidence, kind="stable")
    return order[:k_best] if criterion == "k_best" else order[confidence[order] >= threshold]


def _decides(model: Any) -> bool:
    """Whether the classifier inside has decision values; its own error tells why not."""
    inside = getattr(model, "estimator_", model.estimator)
    return inside is None or bool(inside.decision_function)


class SelfTrainingClassifier(ClassifierMixin, IterativeEstimator):
    """A classifier that labels its own training rows, round after round.

    Every round it predicts the rows without a label, the surest of them keep the predicted label, and it learns again.
    That ends when every row has a label, when no row is sure enough, or after ``max_iter`` rounds. A wrong label is
    never taken back, so a low threshold lets early mistakes grow. Records carry ``added`` and ``unlabeled`` rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> y[np.arange(150) % 10 > 0] = -1
    >>> model = SelfTrainingClassifier().fit(X, y)
    >>> model.termination_condition_, int((model.labeled_iter_ == 0).sum())
    ('no_change', 15)
    """

    estimator: Any = parameter(
        None,
        Optional(Nested("fit")),
        "Classifier with probabilities that is fitted in every round; None: logistic regression.",
    )
    threshold: float = parameter(
        0.75, Number(low=0, high=1, search=(0.6, 0.99)), "Least probability at which a row keeps its predicted label."
    )
    criterion: str = parameter(
        "threshold",
        Choice("threshold", "k_best"),
        "Which rows are labeled in a round: all above threshold, or the k_best surest.",
    )
    k_best: int = parameter(10, Integer(low=1), "Rows labeled per round with criterion 'k_best'.")
    max_iter: int | None = parameter(
        10, Optional(Integer(low=0)), "Most rounds; None: no limit; 0: only the given labels count."
    )
    verbose: int = parameter(0, Either(Flag(), Integer(low=0)), VERBOSE)
    _: KW_ONLY
    random_state: RandomLike = parameter(None, Seed(), "Seeds the classifier, if it draws anything.")

    classes_: np.ndarray = attribute(ArrayOf("n_classes", kind="labels"), "The classes.")
    estimator_: Any = attribute(ModelWith(["predict"], columns="n_features"), "The classifier of the last round.")
    transduction_: np.ndarray = attribute(
        ArrayOf(None, kind="labels"), "Label of every training row; -1 or None where there is none."
    )
    labeled_iter_: np.ndarray = attribute(
        ArrayOf(None, kind="i"), "Round in which a row got its label: 0 for those given, -1 for none."
    )
    n_iter_: int = attribute(Count(), "Number of rounds.")
    termination_condition_: str = attribute(StringOf(), "Why it ended: 'all_labeled', 'no_change' or 'max_iter'.")

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn, yielding a record per round; ``y`` marks rows without a label by -1, None or NaN."""
        self._check_parameters()
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C")
        # One class is enough for some classifiers; the others refuse it themselves.
        self.classes_, codes = coded_labels("SelfTrainingClassifier", X, y, may_be_class=False, least=1)
        if state is None:
            self._look_at(codes)
        self._loop = loop = _Rounds(self, X, codes)
        if state is None:
            loop.learn()
        else:
            loop.restore(state)
        self._note(loop)
        for record in loop.iterations():
            self._note(loop)
            yield record

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Probability of every class."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=False)
        return self.estimator_.predict_proba(X)

    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """The logarithm of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @available_if(_decides)
    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """The decision values of the classifier learned last, if it has any."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=False)
        return self.estimator_.decision_function(X)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The class that the classifier learned last predicts."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=False)
        return self.classes_[self.estimator_.predict(X)]

    def _look_at(self, codes: np.ndarray) -> None:
        """Warn about what there is nothing to learn from."""
        unlabeled = int((codes == UNKNOWN).sum())
        if not unlabeled:
            warn_user("SelfTrainingClassifier: every row of y has a label, so there is nothing to label.")
        elif self.criterion == "k_best" and self.k_best > unlabeled:
            warn_user(
                f"SelfTrainingClassifier: k_best={self.k_best} exceeds the {unlabeled} rows without a label, which all "
                "get one in the first round."
            )

    def _note(self, loop: _Rounds) -> None:
        self.estimator_ = loop.classifier
        self.labeled_iter_ = loop.round_of_label.copy()
        self.n_iter_ = loop.iteration
        self.termination_condition_ = loop.ended
        self.transduction_ = _labels_of(self.classes_, loop.codes)


def _labels_of(classes: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The class of every code; -1 where there is none, or None where classes are no numbers.

    >>> _labels_of(np.array([3, 7], dtype=np.uint8), np.array([1, UNKNOWN]))
    array([ 7, -1], dtype=int16)
    """
    missing = codes == UNKNOWN
    if not missing.any():
        return classes[codes]
    if classes.dtype.kind in "iuf":
        # An unsigned type has no -1, so the next one that holds it and the classes does.
        labels = classes.astype(np.promote_types(classes.dtype, np.int8))[codes]
        labels[missing] = UNKNOWN
        return labels
    labels = classes.astype(object)[codes]
    labels[missing] = None
    return labels


class _Rounds:
    """The running fit: the labels so far, the round each was given in, and the classifier that learned from them."""

    def __init__(self, model: SelfTrainingClassifier, X: np.ndarray, codes: np.ndarray):
        self.model, self.X, self.codes = model, X, codes.copy()
        self.round_of_label = np.where(codes == UNKNOWN, UNKNOWN, 0)
        self.seed = seed_from(model.random_state)
        self.iteration, self.ended = 0, "max_iter" if model.max_iter == 0 else ""
        self.classifier: Any = None

    def iterations(self) -> Iterator[Record]:
        while not self.ended:
            added = self._label()
            if added:
                self.learn()
            self.iteration += 1
            left = int((self.codes == UNKNOWN).sum())
            self.ended = self._reason_to_end(added, left)
            yield Record(self.iteration, {"added": added, "unlabeled": left}, total=self.model.max_iter)

    def learn(self) -> None:
        """Fit a new classifier to the rows that have a label."""
        self.classifier = clone(LogisticRegression() if self.model.estimator is None else self.model.estimator)
        seed_estimator(self.classifier, np.random.default_rng(self.seed))
        known = self.codes != UNKNOWN
        self.classifier.fit(self.X[known], self.codes[known])
        if not hasattr(self.classifier, "predict_proba"):
            name = type(self.classifier).__name__
            raise MissingMethod(
                f"SelfTrainingClassifier: estimator must give probabilities; got {name} without predict_proba."
            )

    def _label(self) -> int:
        """Label the rows the classifier is sure about; how many."""
        open_rows = np.flatnonzero(self.codes == UNKNOWN)
        if not len(open_rows):
            return 0
        probabilities = self.classifier.predict_proba(self.X[open_rows])
        model = self.model
        sure = confident_rows(probabilities, model.criterion, model.threshold, model.k_best)
        self.codes[open_rows[sure]] = probabilities[sure].argmax(axis=1)
        self.round_of_label[open_rows[sure]] = self.iteration + 1
        return len(sure)

    def _reason_to_end(self, added: int, left: int) -> str:
        if not left:
            return "all_labeled"
        if not added:
            return "no_change"
        return "max_iter" if self.iteration == self.model.max_iter else ""

    def state(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "iteration": self.iteration,
            "ended": self.ended,
            "codes": self.codes.copy(),
            "round_of_label": self.round_of_label.copy(),
            "classifier": self.classifier,  # a fitted classifier never changes
        }

    def restore(self, state: dict[str, Any]) -> None:
        if len(state["codes"]) != len(self.X):
            raise ValueError(f"SelfTrainingClassifier: state belongs to {len(state['codes'])} rows; got {len(self.X)}.")
        self.seed, self.iteration, self.ended = int(state["seed"]), int(state["iteration"]), str(state["ended"])
        self.codes, self.round_of_label = np.array(state["codes"]), np.array(state["round_of_label"])
        self.classifier = state["classifier"]
