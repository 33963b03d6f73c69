r"""Kernel regression of Nadaraya and Watson: the mean of the known values, weighted by likeness.

.. math:: f(x) = \frac{\sum_i w_i\,k(x_i, x)\,y_i}{\sum_i w_i\,k(x_i, x)}
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from margin.core.domains import Choice, Either, Flag
from margin.core.estimator import Estimator
from margin.core.invariants import ArrayOf, OneOf
from margin.core.number_range import validate_squarable
from margin.core.parameters import attribute, parameter
from margin.core.targets import numeric_target
from margin.foundations.probability.kernels import squared_distances
from margin.kernels.kernel import Kernel
from margin.kernels.kernel_model import ROWS_DTYPES, expansion
from margin.kernels.kernel_names import GAMMA, GAMMA_SENTENCE, KernelObject, named_kernel
from margin.kernels.stored import FITTED_KERNEL, FITTED_ROWS

__all__ = ["KernelRegression"]


class KernelRegression(MultiOutputMixin, RegressorMixin, Estimator):
    r"""Predicts from the training rows themselves; nothing is solved.

    Where every weight is zero (a row farther away than floating point reaches) the value is that of the nearest
    training row, which is the limit. Time and memory: n per predicted row.

    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> KernelRegression(gamma=1.0).fit(X, [1.0, 1.0, 1.0]).predict([[0.3], [500.0]]).tolist()
    [1.0, 1.0]
    """

    _: KW_ONLY
    kernel: Any = parameter(
        "rbf", Either(Choice("rbf", "laplace", "periodic"), KernelObject()), "Name, object or function; never negative."
    )
    gamma: Any = parameter("scale", GAMMA, GAMMA_SENTENCE)
    normalize: bool = parameter(
        True, Flag(), "Whether weights sum to one; the plain sum is a vote of labels -1 and 1 whose size means nothing."
    )

    X_fit_: NDArray[Any] = attribute(FITTED_ROWS, "The training rows of positive weight.")
    y_fit_: NDArray[np.float64] = attribute(OneOf(ArrayOf("n_samples"), ArrayOf("n_samples", None)), "Their values.")
    weights_: NDArray[np.float64] = attribute(ArrayOf("n_samples"), "Their weights.")
    kernel_: Kernel = attribute(FITTED_KERNEL, "The kernel object.")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRegression:
        """Keep the rows and their values."""
        self._check_parameters()
        X, y = validate_squarable(
            self, X, numeric_target(self, y), dtype=ROWS_DTYPES, order="C", y_numeric=True, multi_output=True
        )
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise ValueError("KernelRegression: sample_weight must be positive for some row; got only zeros.")
        kernel = named_kernel(self.kernel, self.gamma, 1, 0.0, X, weights)
        # A kernel with negative values on the data is no weight; a hundred rows are enough to notice.
        if kernel(X[:: max(1, len(X) // 100)]).min() < 0:
            raise ValueError(f"KernelRegression: kernel must not be negative, as weights are; got {self.kernel!r}.")
        counted = weights > 0
        self.X_fit_, self.y_fit_, self.weights_ = X[counted], np.asarray(y, float)[counted], weights[counted]
        self.kernel_ = kernel
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The weighted mean (or sum) for every row."""
        check_is_fitted(self)
        X = validate_squarable(self, X, reset=False, dtype=ROWS_DTYPES, order="C")
        y = self.y_fit_.reshape(len(self.y_fit_), -1)
        # Values relative to their mean: a common level passes through without rounding.
        level = self.weights_ @ y / self.weights_.sum() if self.normalize else np.zeros(y.shape[1])
        coef = np.column_stack([y - level, np.ones(len(y))]).T * self.weights_
        sums = expansion(self.kernel_, X, self.X_fit_, coef)
        values, total = sums[:, :-1], sums[:, -1:]
        if self.normalize:
            near = total[:, 0] > 0
            values = np.divide(values, total, out=np.zeros_like(values), where=total > 0) + level
            if not near.all():
                nearest = np.argmin(squared_distances(X[~near], self.X_fit_), axis=1)
                values[~near] = y[nearest]
        return values[:, 0] if self.y_fit_.ndim == 1 else values
