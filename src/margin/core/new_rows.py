"""New rows for a fitted model: scikit-learn's validation, which an array that passes it as it is need not wait for.

``validate_data`` asks of every input whether it is a data frame of one of a dozen libraries; for one row that takes
longer than most predictions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["passes_as_it_is", "require_fitted", "validate_new_rows"]

_KNOWN_RULES = {"dtype", "order", "accept_sparse", "ensure_all_finite"}


def require_fitted(estimator: Any) -> None:
    """scikit-learn's ``check_is_fitted``, which asks for all tags of a model before it looks for learned attributes."""
    for name in reversed(vars(estimator)):  # what was learned comes after the parameters
        if name.endswith("_") and not name.startswith("__"):
            return
    check_is_fitted(estimator)


def validate_new_rows(estimator: Any, X: Any, **rules: Any) -> np.ndarray:
    """What ``validate_data(estimator, X, reset=False, **rules)`` returns, with its errors and warnings.

    Where ``accept_sparse`` allows it this may be a sparse matrix, of which the type does not speak.
    """
    if type(X) is np.ndarray and rules.keys() <= _KNOWN_RULES and _knows(estimator, X) and passes_as_it_is(X, rules):
        return X
    return validate_data(estimator, X, reset=False, **rules)


def _knows(estimator: Any, X: np.ndarray) -> bool:
    """Whether X has the columns of the fit, which had no names."""
    known = vars(estimator)
    return X.ndim == 2 and X.shape[1] == known.get("n_features_in_") and "feature_names_in_" not in known


def passes_as_it_is(X: np.ndarray, rules: dict[str, Any]) -> bool:
    """Whether scikit-learn's ``check_array`` returns this very array."""
    if (
        X.ndim != 2
        or not X.size
        or X.dtype not in _kinds(rules.get("dtype", "numeric"))
        or X.dtype.kind != "f"
        or (rules.get("order") is not None and not _lies(X, rules["order"]))
    ):
        return False
    if rules.get("ensure_all_finite", True) is False:
        return True
    with np.errstate(over="ignore", invalid="ignore"):  # a sum that overflows is left to scikit-learn
        return bool(np.isfinite(np.add.reduce(X, axis=None)))


def _kinds(wanted: Any) -> Sequence[Any]:
    """Types of numbers that stay as they are."""
    if isinstance(wanted, str):  # "numeric"
        return (np.float64, np.float32)
    return wanted if isinstance(wanted, list | tuple) else (wanted,)


def _lies(X: np.ndarray, order: str) -> bool:
    return X.flags.c_contiguous if order == "C" else X.flags.f_contiguous if order == "F" else False
