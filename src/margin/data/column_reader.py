"""The first step of a pipeline on tables: any rows as the columns that training saw, in the kinds that training had."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from margin.core.domains import Options
from margin.core.estimator import Estimator
from margin.core.invariants import DictOf, StringOf
from margin.core.notices import warn_user
from margin.core.parameters import attribute, parameter
from margin.data.coercion import SPELLINGS, coerce, spelling_of
from margin.data.kinds import KINDS, missing_mask
from margin.data.stored import kinds_are_known
from margin.data.table import Table, close_names

if TYPE_CHECKING:
    import pandas

__all__ = ["MISSING_LABEL", "ColumnReader"]

#: What a missing category is called, so that it is a category of its own.
MISSING_LABEL = "(missing)"


class ColumnReader(TransformerMixin, Estimator):
    r"""Any table as a DataFrame of the columns named in ``kinds``, each read as its kind.

    Numbers and flags become float64 (missing: NaN), dates datetime64 (missing: NaT), categories and texts strings
    (missing: "(missing)" and ""). How strings spell numbers and dates (``1.234,50``, ``5/14/2023``) is learned in fit,
    so that three new rows are read as the thousand training rows were.

    New rows may have other columns, which are ignored with a warning; a column that is missing is one sentence. Values
    that cannot be read as the kind count as missing, with a warning; if no value of a column can be, that is an error.

    Examples
    --------
    >>> import pandas as pd
    >>> reader = ColumnReader({"price": "number", "town": "category"})
    >>> reader.fit_transform(pd.DataFrame({"id": [1, 2], "town": ["Ulm", None], "price": ["$5", "$1,200"]}))
        price       town
    0     5.0        Ulm
    1  1200.0  (missing)
    """

    kinds: dict[str, str] = parameter(
        {}, Options(), "What each column is: number, flag, category, text or date; other columns are left out."
    )
    _: KW_ONLY

    spellings_: dict[str, str] = attribute(
        DictOf(StringOf(), StringOf(SPELLINGS)),
        "How strings spell numbers or dates, by column: a decimal sign or an order.",
    )
    _stored_rules = (kinds_are_known,)

    def fit(self, X: Any, y: Any = None) -> ColumnReader:
        """Learn which columns there are, and how their strings spell numbers and dates."""
        self._check_parameters()
        self._check_kinds()
        frame = _frame(X, None)
        self.feature_names_in_ = np.array(list(frame.columns), dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        self._refuse_missing(frame)
        self.spellings_ = {name: spelling_of(frame[name], kind) for name, kind in self.kinds.items()}
        return self

    def transform(self, X: Any) -> pandas.DataFrame:
        """The columns of ``kinds``, in that order, whatever else ``X`` holds."""
        import pandas as pd

        check_is_fitted(self)
        frame = _frame(X, self.feature_names_in_)
        self._refuse_missing(frame)
        known = set(self.feature_names_in_)
        extra = [name for name in frame.columns if name not in known]
        if extra:
            listed = ", ".join(map(repr, extra[:5])) + (f" and {len(extra) - 5} more" if len(extra) > 5 else "")
            warn_user(f"Columns that training did not see are ignored: {listed}.")
        columns = {name: self._column(frame[name], kind) for name, kind in self.kinds.items()}
        # The dtype is given because pandas would otherwise look through all strings for one.
        series = {name: pd.Series(values, index=frame.index, dtype=values.dtype) for name, values in columns.items()}
        return pd.DataFrame(series, index=frame.index, columns=list(self.kinds))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the columns."""
        check_is_fitted(self)
        return np.array(list(self.kinds), dtype=object)

    def _column(self, series: pandas.Series, kind: str) -> np.ndarray:
        values = coerce(series, kind, self.spellings_[str(series.name)])
        if kind in ("category", "text"):
            values[missing_mask(values)] = MISSING_LABEL if kind == "category" else ""
            return values
        self._tell_lost(series, kind, missing_mask(values))
        return values

    def _tell_lost(self, series: pandas.Series, kind: str, absent: np.ndarray) -> None:
        """Warn of values that are there and cannot be read; refuse a column in which none can be."""
        lost = absent & _holds_something(series) if absent.any() else absent
        if not lost.any():
            return
        example = series.to_numpy(dtype=object)[lost][0]
        if absent.all() and len(absent) > 1:
            raise ValueError(
                f"ColumnReader: column {series.name!r} must hold a {kind}, as in training; got {example!r}."
            )
        one = lost.sum() == 1
        warn_user(
            f"{int(lost.sum())} value{'' if one else 's'} of {series.name!r} cannot be read as {kind}, such as"
            f" {example!r}, and {'counts' if one else 'count'} as missing."
        )

    def _check_kinds(self) -> None:
        wrong = next((name for name, kind in self.kinds.items() if kind not in KINDS), None)
        if wrong is not None:
            allowed = ", ".join(KINDS)
            raise ValueError(
                f"ColumnReader: the kind of {wrong!r} must be one of {allowed}; got {self.kinds[wrong]!r}."
            )

    def _refuse_missing(self, frame: pandas.DataFrame) -> None:
        absent = [name for name in self.kinds if name not in frame.columns]
        if absent:
            which = (
                f"the column {absent[0]!r}" if len(absent) == 1 else f"the columns {', '.join(map(repr, absent[:5]))}"
            )
            hint = close_names(absent[0], [str(name) for name in frame.columns])
            raise ValueError(f"ColumnReader: X lacks {which} that training uses; {hint}.")


def _frame(X: Any, names: np.ndarray | None) -> pandas.DataFrame:
    """``X`` with strings for names: a Table, a DataFrame, or rows in the order of the columns of training."""
    import pandas as pd

    from margin.data.delimited import unique_names

    if isinstance(X, Table):
        return X.to_pandas()
    if hasattr(X, "to_pandas") and not isinstance(X, pd.DataFrame):
        X = X.to_pandas()
    if isinstance(X, pd.DataFrame):
        unique, _ = unique_names([str(name) for name in X.columns])
        return X if list(X.columns) == unique else X.set_axis(unique, axis=1)
    values = np.asarray(X)
    if values.ndim != 2 or (names is not None and values.shape[1] != len(names)):
        allowed = "two dimensions" if names is None else f"the {len(names)} columns of training"
        raise ValueError(f"ColumnReader: X must be a table with {allowed}; got an array of shape {values.shape}.")
    return pd.DataFrame(values, columns=[str(i) for i in range(values.shape[1])] if names is None else list(names))


def _holds_something(series: pandas.Series) -> np.ndarray:
    """Which rows hold something that is no number, be it of the wrong kind; infinite numbers hold nothing."""
    if series.dtype.kind in "biufc":
        return np.zeros(len(series), dtype=bool)
    numbers = np.array([isinstance(value, int | float | np.number) for value in series.tolist()], dtype=bool)
    return ~missing_mask(coerce(series, "category")) & ~numbers
