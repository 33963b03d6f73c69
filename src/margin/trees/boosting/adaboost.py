r"""AdaBoost: learners in turn, each on weights that stress what those before it got wrong.

For classes (SAMME), with :math:`e_m` the weighted error of learner :math:`h_m` among :math:`K` classes,

.. math:: \alpha_m = \eta\Big(\log\frac{1-e_m}{e_m} + \log(K-1)\Big), \qquad
          w_i \leftarrow w_i\, e^{\alpha_m [h_m(x_i) \ne y_i]}, \qquad
          H(x) = \arg\max_k \sum_m \alpha_m [h_m(x) = k] .

For two classes and :math:`\eta = 1` the training error is at most :math:`\prod_m 2\sqrt{e_m(1-e_m)}`. For numbers
(AdaBoost.R2) the error is the mean of relative losses, and the answer is the weighted median of the learners.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, has_fit_parameter, validate_data

from margin.core.domains import Choice, Integer, Nested, Number, Optional, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.parameters import attribute, parameter
from margin.core.randomness import SEED_BOUND, RandomLike, seed_estimator, seed_from
from margin.core.records import Record
from margin.core.sparse_input import allow_sparse, dense_rows
from margin.trees.boosting.tree_learners import TreeLearners, all_own_trees, answers, votes
from margin.trees.cart.training_data import ROWS
from margin.trees.members import MemberSequence

__all__ = ["AdaBoostClassifier", "AdaBoostRegressor", "training_error_bound", "weighted_median"]

LEARNER_ROWS: dict[str, Any] = {**ROWS, "accept_sparse": ("csr", "csc")}

# The weight of a learner without any error would be infinite; an error of one in 10^12 stands for it.
SMALLEST_ERROR = 1e-12
LARGEST_EXPONENT = 500.0  # of a row's weight: exp(500) times the number of rows is far from overflow


def training_error_bound(errors: np.ndarray) -> np.ndarray:
    r"""What the training error is at most after every round, :math:`\prod_{l \le m} 2\sqrt{e_l(1-e_l)}` (two classes).

    >>> training_error_bound(np.array([0.5, 0.1, 0.1])).round(3)
    array([1.  , 0.6 , 0.36])
    """
    errors = np.asarray(errors, dtype=np.float64)
    return np.cumprod(2.0 * np.sqrt(errors * (1.0 - errors)))


def weighted_median(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Per row of ``values`` (n, m) the smallest value at which half of the ``weights`` (m,) are reached, (n,)."""
    order = np.argsort(values, axis=1, kind="stable")
    reached = np.cumsum(weights[order], axis=1)
    half = np.argmax(reached >= 0.5 * reached[:, -1:], axis=1)
    return np.take_along_axis(values, np.take_along_axis(order, half[:, None], axis=1), axis=1)[:, 0]


class _AdaBoost(MemberSequence, IterativeEstimator):
    """The loop that both share: fit a learner on the weights, weigh it, weigh the rows anew."""

    estimator: Any = parameter(
        None,
        Optional(Nested("fit", "predict")),
        "The learner, which must take sample weights (a regressor without them sees rows drawn by weight); None is a "
        "small tree.",
    )
    _: KW_ONLY
    n_estimators: int = parameter(50, Integer(low=1, search=(20, 300)), "Learners, at most.")
    learning_rate: float = parameter(
        1.0, Number(above=0, search=(0.05, 2.0), log=True), "Factor by which every learner's weight is shrunk."
    )
    random_state: RandomLike = parameter(None, Seed(), "Seeds the learners, and the parts of a learner that is nested.")

    estimators_: list[Any] = attribute("The fitted learners.")
    estimator_weights_: np.ndarray = attribute("Weight of every learner.")
    estimator_errors_: np.ndarray = attribute("Weighted error of every learner on the rows it was fitted to.")
    n_iter_: int = attribute("Number of learners.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn all rounds."""
        return self._consume(self.iterate(X, y, sample_weight), X, y)

    def iterate(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn, yielding a record per round: the learner's weighted error and its weight."""
        self._check_parameters()
        X, y = validate_data(self, X, y, **LEARNER_ROWS, **self._y_rules)
        X = self._as_learned(X)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        learner = self._learner()
        if not self._resamples and not has_fit_parameter(learner, "sample_weight"):
            raise ValueError(
                f"{type(self).__name__}: estimator must take sample_weight in fit; {type(learner).__name__} does not."
            )
        y, weighing = self._targets(y, weight), weight > 0
        if not weighing.any():
            raise ValueError(f"{type(self).__name__}: sample_weight must be positive for at least one row.")
        self._loop = loop = _AdaBoostFit(self, learner, X[weighing], y[weighing], weight[weighing])
        if state is not None:
            loop.restore(state)
            self._learn(loop)
        for record in loop.iterations():
            self._learn(loop)
            yield record

    def _learn(self, loop: _AdaBoostFit) -> None:
        self.estimators_ = list(loop.learners)
        self.estimator_weights_ = np.array(loop.alphas)
        self.estimator_errors_ = np.array(loop.errors)
        self.n_iter_ = len(loop.learners)

    @property
    def estimator_(self) -> Any:
        """The learner, not fitted, that the fitted ones are copies of."""
        check_is_fitted(self)
        return self._learner()

    @property
    def feature_importances_(self) -> np.ndarray:
        """Weighted mean of the learners' importances, (p,)."""
        check_is_fitted(self)
        if not all(hasattr(learner, "feature_importances_") for learner in self.estimators_):
            raise AttributeError(
                f"{type(self).__name__}: {type(self.estimators_[0]).__name__} has no feature_importances_ to average."
            )
        weights = self.estimator_weights_ / self.estimator_weights_.sum()
        parts = (weight * learner.feature_importances_ for weight, learner in zip(weights, self.estimators_))
        return np.sum(list(parts), axis=0)

    def _rows(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self._as_learned(validate_data(self, X, reset=False, **LEARNER_ROWS))

    def _as_learned(self, X: Any) -> Any:
        """Rows as learners get them: sparse ones stay so for learners that take them, but trees look at every cell."""
        if not sp.issparse(X):
            return X
        learner = self._learner()
        keeps = get_tags(learner).input_tags.sparse and not all_own_trees([learner])
        return X if keeps else dense_rows(type(self).__name__, X)

    def _learner(self) -> Any:
        return self._default() if self.estimator is None else self.estimator

    _y_rules = {}  # type: ignore[var-annotated]
    _resamples = False  # whether a learner that takes no weights sees rows drawn by them instead

    @abstractmethod
    def _default(self) -> Any:
        """The learner taken when none is given."""

    @abstractmethod
    def _targets(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Targets as learners see them."""

    @abstractmethod
    def _judge(self, said: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[float, float, np.ndarray]:
        """The learner's error, its weight (0: it is no better than chance), and the rows' next weights."""

    @abstractmethod
    def _only_weight(self, error: float) -> float:
        """The weight of a first learner that is no better than chance, after which the fit ends."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.estimator is None or get_tags(self.estimator).input_tags.allow_nan
        return allow_sparse(tags)


class _AdaBoostFit:
    """The running fit: learners so far and the weights that the next one sees."""

    def __init__(self, model: _AdaBoost, learner: Any, X: np.ndarray, y: np.ndarray, weight: np.ndarray):
        self.model, self.learner, self.X, self.y = model, learner, X, y
        self.weight, self.total = weight, weight.sum()
        self.trees = TreeLearners.of(learner, X, y)
        self.weighs = has_fit_parameter(learner, "sample_weight")
        self.seed = seed_from(model.random_state)
        self.learners: list[Any] = []
        self.alphas: list[float] = []
        self.errors: list[float] = []
        self.done = False

    def iterations(self) -> Iterator[Record]:
        total = self.model.n_estimators
        while len(self.learners) < total and not self.done:
            values = self._round()
            if values is not None:
                yield Record(len(self.learners), values, total=total)

    def _round(self) -> dict[str, float] | None:
        rng = np.random.default_rng([self.seed, len(self.learners)])
        if self.trees is not None and self.weight.min() > 0.0:
            wanted = self.model.n_estimators - len(self.learners)
            learner, said = self.trees.fitted(int(rng.integers(SEED_BOUND)), self.weight, wanted)
        else:
            learner = clone(self.learner)
            seed_estimator(learner, rng)
            if self.weighs:
                learner.fit(self.X, self.y, sample_weight=self.weight)
            else:
                rows = rng.choice(len(self.y), size=len(self.y), p=self.weight / self.weight.sum())
                learner.fit(self.X[rows], self.y[rows])
            said = learner.predict(self.X)
        error, alpha, weight = self.model._judge(said, self.y, self.weight)
        self.done = alpha <= 0.0 or error <= 0.0
        if alpha <= 0.0:
            if self.learners:
                return None
            alpha = self.model._only_weight(error)
        self.learners.append(learner)
        self.alphas.append(alpha)
        self.errors.append(error)
        self.weight = weight * (self.total / weight.sum())
        return {"error": error, "weight": alpha}

    def state(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "learners": list(self.learners),
            "alphas": list(self.alphas),
            "errors": list(self.errors),
            "weight": self.weight.copy(),
            "done": self.done,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.seed, self.done = int(state["seed"]), bool(state["done"])
        self.learners = list(state["learners"])
        self.alphas, self.errors = list(state["alphas"]), list(state["errors"])
        self.weight = np.array(state["weight"], dtype=np.float64)


class AdaBoostClassifier(ClassifierMixin, _AdaBoost):
    """AdaBoost for any number of classes (SAMME) over any classifier that takes sample weights.

    The default learner is a decision stump. The fit ends early when a learner makes no error, or none that is better
    than chance.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(10.0)[:, None]
    >>> y = np.array([0, 0, 0, 1, 1, 1, 1, 0, 0, 0])
    >>> AdaBoostClassifier(n_estimators=20, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    classes_: np.ndarray = attribute("The classes, ascending.")

    def decision_function(self, X: Any) -> np.ndarray:
        """Weighted votes for minus votes against: of the second class (n,), or of every class (n, classes)."""
        return self._decision(self._votes(self._rows(X)), self.estimator_weights_.sum())

    def predict(self, X: Any) -> np.ndarray:
        """The class with most weighted votes."""
        return self._classes_of(self.decision_function(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities that make the votes their optimal decision function: a softmax of them, (n, classes)."""
        return self._probabilities(self.decision_function(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithm of the probability of every class, (n, classes)."""
        return np.log(self.predict_proba(X))

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """What :meth:`decision_function` would have said after every round."""
        rows = self._rows(X)
        total, weight = np.zeros((rows.shape[0], len(self.classes_))), 0.0
        for number, alpha in enumerate(self.estimator_weights_):
            total += self._votes(rows, slice(number, number + 1))
            weight += alpha
            yield self._decision(total, weight)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """What :meth:`predict` would have said after every round."""
        for score in self.staged_decision_function(X):
            yield self._classes_of(score)

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """What :meth:`predict_proba` would have said after every round."""
        for score in self.staged_decision_function(X):
            yield self._probabilities(score)

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """The accuracy after every round."""
        from sklearn.metrics import accuracy_score

        for said in self.staged_predict(X):
            yield float(accuracy_score(y, said, sample_weight=sample_weight))

    def _votes(self, X: np.ndarray, chosen: slice = slice(None)) -> np.ndarray:
        """The weight of the chosen learners that vote for every class, (n, classes)."""
        learners, weights = self.estimators_[chosen], self.estimator_weights_[chosen]
        if all_own_trees(learners):
            return votes(learners, weights, self.classes_, X)
        said = np.column_stack([learner.predict(X) for learner in learners])
        return np.stack([(said == label) @ weights for label in self.classes_], axis=1)

    def _decision(self, total: np.ndarray, weight: float) -> np.ndarray:
        fractions, classes = total / weight, len(self.classes_)
        if classes == 2:
            return fractions[:, 1] - fractions[:, 0]
        return fractions - (1.0 - fractions) / (classes - 1)

    def _classes_of(self, score: np.ndarray) -> np.ndarray:
        return self.classes_[(score > 0).astype(int) if score.ndim == 1 else score.argmax(axis=1)]

    def _probabilities(self, score: np.ndarray) -> np.ndarray:
        scores = np.column_stack([-score, score]) if score.ndim == 1 else score / (len(self.classes_) - 1)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)

    def _default(self) -> Any:
        from margin.trees.cart.decision_tree import DecisionTreeClassifier

        return DecisionTreeClassifier(max_depth=1)

    def _targets(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        check_classification_targets(y)
        classes = np.unique(y)
        if len(np.unique(y[weight > 0])) < 2:
            raise ValueError("AdaBoostClassifier: y must have at least two classes with weight; got one class.")
        self.classes_ = classes
        return y

    def _only_weight(self, error: float) -> float:
        raise ValueError(
            f"AdaBoostClassifier: the first learner has a weighted error of {error:.3g}, no better than chance among "
            f"{len(self.classes_)} classes; choose a stronger estimator."
        )

    def _judge(self, said: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[float, float, np.ndarray]:
        wrong, classes = said != y, len(self.classes_)
        error = float(weight[wrong].sum() / weight.sum())
        bounded = min(max(error, SMALLEST_ERROR), 1.0)
        if bounded >= 1.0 - 1.0 / classes:
            return error, 0.0, weight
        alpha = self.learning_rate * float(np.log((1.0 - bounded) / bounded) + np.log(classes - 1.0))
        # Only ratios count, so a learner of great weight lowers the weights of the others' rows before any overflow.
        return error, alpha, weight * np.exp(alpha * wrong - max(alpha - LARGEST_EXPONENT, 0.0))


class AdaBoostRegressor(RegressorMixin, _AdaBoost):
    """AdaBoost.R2 over any regressor that takes sample weights; the answer is the weighted median of the learners.

    The default learner is a tree of depth 3. Weights are handed to the learner as they are, without drawing rows, so
    the fit has no randomness of its own.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(20.0)[:, None]
    >>> AdaBoostRegressor(n_estimators=10, random_state=0).fit(X, X[:, 0] ** 2).score(X, X[:, 0] ** 2) > 0.98
    True
    """

    _: KW_ONLY
    loss: str = parameter(
        "linear",
        Choice("linear", "square", "exponential"),
        "How the residuals, relative to the largest, count as error.",
    )

    _y_rules = {"y_numeric": True}
    _resamples = True

    def predict(self, X: Any) -> np.ndarray:
        """The weighted median of what the learners say."""
        said = self._answers(self._rows(X))
        return weighted_median(said, self.estimator_weights_)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """What :meth:`predict` would have said after every round."""
        said = self._answers(self._rows(X))
        for number in range(1, said.shape[1] + 1):
            yield weighted_median(said[:, :number], self.estimator_weights_[:number])

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """The coefficient of determination after every round."""
        from sklearn.metrics import r2_score

        for said in self.staged_predict(X):
            yield float(r2_score(y, said, sample_weight=sample_weight))

    def _answers(self, X: np.ndarray) -> np.ndarray:
        """What every learner says, (n, learners)."""
        if all_own_trees(self.estimators_):
            return answers(self.estimators_, X)
        return np.column_stack([learner.predict(X) for learner in self.estimators_])

    def _default(self) -> Any:
        from margin.trees.cart.decision_tree import DecisionTreeRegressor

        return DecisionTreeRegressor(max_depth=3)

    def _targets(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.asarray(y, dtype=np.float64)

    def _only_weight(self, error: float) -> float:
        return 1.0  # the median of one learner is what it says

    def _judge(self, said: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[float, float, np.ndarray]:
        residual = np.abs(said - y)
        largest = residual.max()
        if largest == 0.0:
            return 0.0, float(-np.log(SMALLEST_ERROR)), weight
        relative = np.minimum(residual / largest, 1.0)
        relative = {"linear": relative, "square": relative**2, "exponential": 1.0 - np.exp(-relative)}[self.loss]
        error = float((weight * relative).sum() / weight.sum())
        if error >= 0.5:
            return error, 0.0, weight
        alpha = self.learning_rate * float(np.log((1.0 - error) / error))
        return error, alpha, weight * np.exp(-alpha * (1.0 - relative))
