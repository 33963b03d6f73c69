"""The logarithm of a positive target whose large values dwarf the others: ratios are learned, not differences."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from margin.core.estimator import Estimator
from margin.core.invariants import Real
from margin.core.parameters import attribute
from margin.data.stored import range_is_one

__all__ = ["LogTarget", "is_skewed"]

#: A target is skewed where the third moment about its mean is so many deviations cubed, and that of its logarithm much
#: less: only then is the logarithm the better scale. Of fewer rows one large value may do that.
SKEWED, LEAST_ROWS = 2.0, 30
#: What is predicted stays within half the smallest and twice the largest value seen: a power of e has no other bound.
LEEWAY = float(np.log(2.0))


class LogTarget(TransformerMixin, Estimator):
    r"""The natural logarithm of positive numbers, and back: :math:`t = \log y`, :math:`y = e^t`.

    The mean of logarithms is the logarithm of the geometric mean, which is near the median of a skewed target: errors
    in percent become small, a few large values may be missed. What comes back is at most twice the largest number seen
    and at least half the smallest.

    Examples
    --------
    >>> y = np.array([[1.0], [10.0], [1000.0]])
    >>> logs = LogTarget().fit(y)
    >>> logs.inverse_transform(logs.transform(y)).ravel().round(6).tolist()
    [1.0, 10.0, 1000.0]
    >>> logs.inverse_transform([[50.0]]).round(6).tolist()
    [[2000.0]]
    """

    lowest_: float = attribute(Real(), "The logarithm of the smallest number seen.")
    highest_: float = attribute(Real(), "The logarithm of the largest number seen.")
    _stored_rules = (range_is_one,)

    def fit(self, X: Any, y: Any = None) -> LogTarget:
        """Learn the range."""
        values = _positive(X)
        self.n_features_in_ = int(values.shape[1])
        self.lowest_, self.highest_ = float(np.log(values.min())), float(np.log(values.max()))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Logarithms."""
        check_is_fitted(self)
        return np.log(_positive(X))

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Numbers of the given logarithms, within the range."""
        check_is_fitted(self)
        return np.exp(np.clip(np.asarray(X, dtype=np.float64), *self.range))

    @property
    def range(self) -> tuple[float, float]:
        """The logarithms between which what comes back stays."""
        return self.lowest_ - LEEWAY, self.highest_ + LEEWAY


def _positive(X: Any) -> np.ndarray:
    values: np.ndarray = np.asarray(X, dtype=np.float64)
    if values.ndim != 2 or not values.size or not np.isfinite(values).all() or values.min() <= 0:
        raise ValueError("LogTarget: X must be a table of positive numbers, which alone have a logarithm.")
    return values


def is_skewed(y: np.ndarray) -> bool:
    """Whether a target is positive and its logarithm is far less skewed than itself.

    >>> z = np.random.default_rng(0).normal(size=500)
    >>> is_skewed(np.exp(z)), is_skewed(z), is_skewed(10 + z)
    (True, False, False)
    """
    if len(y) < LEAST_ROWS or y.dtype.kind not in "fiu" or not np.isfinite(y).all() or y.min() <= 0:
        return False
    skewness, of_logarithm = _skewness(y.astype(np.float64)), _skewness(np.log(y))
    return skewness > SKEWED and abs(of_logarithm) < skewness / 2


def _skewness(values: np.ndarray) -> float:
    centered = values - values.mean()
    deviation = float(np.sqrt(np.mean(centered**2)))
    return float(np.mean((centered / deviation) ** 3)) if deviation > 0 else 0.0
