"""The texts of a row as one string: what a model of texts reads."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from margin.core.estimator import Estimator

__all__ = ["BLANK", "JoinedTexts"]

#: Stands for a row without any text: models of texts need a token.
BLANK = "(blank)"


class JoinedTexts(TransformerMixin, Estimator):
    """All columns of a row as one string, a line for each that holds something; a row of blanks is "(blank)".

    Examples
    --------
    >>> import pandas as pd
    >>> texts = pd.DataFrame({"title": ["Fine", "", None], "review": ["a warm film", "dull", " "]})
    >>> JoinedTexts().fit_transform(texts).tolist()
    ['Fine\\na warm film', 'dull', '(blank)']
    """

    def fit(self, X: Any, y: Any = None) -> JoinedTexts:
        """Learn how many columns there are."""
        self.n_features_in_ = int(np.shape(X)[1])
        return self

    def transform(self, X: Any) -> np.ndarray:
        """One string per row, as an array of objects."""
        check_is_fitted(self)
        rows = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X, dtype=object)
        if rows.ndim != 2 or rows.shape[1] != self.n_features_in_:
            raise ValueError(
                f"JoinedTexts: X must have {self.n_features_in_} columns of texts; got shape {rows.shape}."
            )
        texts = np.empty(len(rows), dtype=object)
        texts[:] = [_join(row) for row in rows]
        return texts


def _join(values: Any) -> str:
    texts = ("" if value is None or value != value else str(value).strip() for value in values)
    return "\n".join(text for text in texts if text) or BLANK
