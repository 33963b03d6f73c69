r"""Multi-layer perceptron for classes: softmax and cross-entropy, or one logistic output per label.

Two classes have one output z, of which (0, z) is the softmax.

.. math:: \ell(y, f) = -\log \mathrm{softmax}(f)_y, \qquad\text{or}\qquad
          \ell(y, f) = \sum_j \log(1 + e^{f_j}) - y_j f_j \quad\text{for several labels per row}
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from margin.core.array_types import MatrixLike
from margin.core.domains import Number
from margin.core.invariants import StringOf
from margin.core.parameters import attribute, parameter
from margin.core.records import Record
from margin.core.refused_fits import unchanged_if_refused
from margin.neural.estimators.class_targets import ClassTargets, checked_labels, coded_labels
from margin.neural.estimators.mlp import FLOATS, MLPEstimator, has_first_order_solver, weighted_rows
from margin.neural.estimators.own_validation import OwnRows, known_classes
from margin.neural.nets.mlp import MLP, TwoClassMLP
from margin.neural.stored import CLASSES
from margin.neural.training.objectives import Supervised, accuracy, subset_accuracy
from margin.neural.training.steps import Objective

__all__ = ["MLPClassifier"]


class MLPClassifier(ClassTargets, MLPEstimator):
    """Fully connected layers, for classes of rows.

    Inputs are standardized on the training rows (``standardize``) because one learning rate then suits columns of any
    unit. With ``early_stopping`` a stratified ``validation_fraction`` of the rows is held back, and training ends
    after ``n_iter_no_change`` epochs without a gain of ``tol`` in its loss, with the best weights. A matrix of zeros
    and ones as ``y`` means that a row may have several labels.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MLPClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> [matrix.shape for matrix in model.coefs_]
    [(4, 100), (100, 3)]
    """

    _: KW_ONLY
    label_smoothing: float = parameter(
        0.0,
        Number(low=0, below=1),
        "Fraction of a row's target that loss 'cross_entropy' spreads evenly over all classes, or of a label over yes "
        "and no.",
    )

    classes_: np.ndarray = attribute(CLASSES, "The classes, or the numbers of the labels.")
    out_activation_: str = attribute(
        StringOf(("softmax", "logistic")), "What turns outputs into probabilities: 'softmax', or 'logistic' for labels."
    )

    def _learn_rows(self, X: Any, y: Any, sample_weight: Any, given: OwnRows | None, state: Any) -> Iterator[Record]:
        X, y = self._validate(X, y, reset=True)
        X, y, weight = weighted_rows(self, X, y, sample_weight)
        classes, codes = coded_labels(y)
        if self._goes_on() and not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"MLPClassifier: warm_start must go on with classes {self.classes_}; got {classes}. "
                "margin.meta.fine_tune starts a model of other classes from this one."
            )
        X, codes, weight = self._class_weighted(X, codes, classes, weight)
        seed = self._seed(state)
        split = self._split(X.shape[0], seed, codes if codes.ndim == 1 else None, given=given)
        loss = Supervised(self._class_loss(), several=codes.ndim == 2)
        held = None if given is None else self._own_rows(given, classes, several=codes.ndim == 2)
        yield from self.iterate_coded(X, codes, classes, loss, split, weight=weight, seed=seed, state=state, held=held)

    def iterate_coded(
        self,
        X: Any,
        codes: np.ndarray,
        classes: np.ndarray,
        objective: Objective,
        split: tuple[np.ndarray, np.ndarray],
        *,
        seed: int,
        weight: np.ndarray | None = None,
        state: dict[str, Any] | None = None,
        held: tuple[Any, np.ndarray, np.ndarray] | None = None,
    ) -> Iterator[Record]:
        """Learn checked rows by any ``objective`` of (inputs, codes of classes).

        ``split`` has the numbers of the rows that train, of which some may come several times, and validate; ``held``
        are rows, codes and weights that a user gave to validate.
        """
        train, valid = split
        weight = np.ones(X.shape[0]) if weight is None else weight
        self._begin(X, weight, codes, classes, train)
        score = accuracy if codes.ndim == 1 else subset_accuracy
        rows = self._rows(X, self._target(codes, X.dtype), weight)
        own = None if held is None else self._rows(held[0], self._target(held[1], X.dtype), held[2])
        yield from self._train(objective, rows, train, valid, seed=seed, state=state, score=score, held=own)

    def _own_rows(self, given: OwnRows, classes: np.ndarray, *, several: bool) -> tuple[Any, np.ndarray, np.ndarray]:
        """Rows, codes of classes and weights that judge every epoch."""
        X, y = self._validate(given.X, given.y, reset=False)
        X, y, weight = weighted_rows(self, X, y, given.weight)
        if several != (y.ndim == 2):
            raise ValueError("MLPClassifier: validation_data must have labels of the form of y.")
        if several:
            return X, y, weight
        return self._class_weighted(X, known_classes(self, y, classes), classes, weight)

    @available_if(has_first_order_solver)
    @unchanged_if_refused
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """One pass over the rows, from the weights and with the optimizer slots of the last one.

        ``classes`` are all that can come, needed in the first call unless ``y`` has them all. With ``standardize`` the
        rows of the first call decide the scaling.
        """
        self._check_parameters()
        first = not hasattr(self, "classes_")
        X, y = self._validate(X, y, reset=first)
        if first:
            seen, codes = coded_labels(y)
            known = seen if classes is None else np.unique(classes)
            self._begin(X, np.ones(X.shape[0]), codes, known)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"MLPClassifier: classes must be those of the first call, {self.classes_}; got {np.unique(classes)}."
            )
        if y.ndim == 1:
            strange = np.setdiff1d(y, self.classes_)
            if len(strange):
                raise ValueError(f"MLPClassifier: y must have classes among {self.classes_}; got {strange[0]!r}.")
            y = np.searchsorted(self.classes_, y)
        if isinstance(self.class_weight, str):
            raise ValueError(
                "MLPClassifier: class_weight must be None or a dict in partial_fit, which has not seen how often "
                f"classes are; got {self.class_weight!r}."
            )
        X, y, weight = self._class_weighted(X, y, self.classes_, np.ones(X.shape[0]))
        if len(y):
            self._pass(X, self._target(y, X.dtype), Supervised(self._class_loss(), several=y.ndim == 2), weight)
        return self

    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Log-probability of every class."""
        return self._log_proba_of(self._outputs(X))

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Probability of every class."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The most probable class; of several labels those more probable than not."""
        return self._labels_of(self._outputs(X))

    def _validate(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, np.ndarray]:
        X, y = validate_data(self, X, y, dtype=FLOATS, order="C", accept_sparse="csr", multi_output=True, reset=reset)
        return X, checked_labels(y)

    def _begin(
        self, X: Any, weight: np.ndarray, codes: np.ndarray, classes: np.ndarray, rows: np.ndarray | None = None
    ) -> None:
        self._scale_inputs(X, weight, rows)
        self.n_features_in_ = X.shape[1]
        one_class_per_row = codes.ndim == 1
        self._describe(n_outputs=1 if one_class_per_row and len(classes) == 2 else len(classes))
        self.classes_, self.out_activation_ = classes, "softmax" if one_class_per_row else "logistic"

    def _network(self) -> MLP:
        one_for_two = len(self.classes_) == 2 and self.network_["sizes"][-1] == 1
        return (TwoClassMLP if one_for_two else MLP)(**self.network_, initializer=self.initializer)

    def _target(self, codes: np.ndarray, dtype: Any) -> np.ndarray:
        return codes if codes.ndim == 1 else codes.astype(dtype)
