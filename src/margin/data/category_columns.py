"""Categories as columns of zeros and ones or as codes, the rarest of many merged into one."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from margin.core.domains import Choice, Integer
from margin.core.estimator import Estimator
from margin.core.invariants import ArrayOf, ListOf, StringOf
from margin.core.parameters import attribute, parameter
from margin.core.streaming import RowBlock
from margin.core.summaries import union_of
from margin.data.judgement import MAX_CATEGORIES
from margin.data.stored import labels_differ

__all__ = ["OTHER", "CategoryColumns"]

#: What the merged labels are called.
OTHER = "(other)"


class LabelCounts(NamedTuple):
    """The labels of a column in alphabetical order, and how often each occurs."""

    labels: np.ndarray
    counts: np.ndarray

    def merge(self, other: LabelCounts) -> LabelCounts:
        labels, mine, theirs = union_of(self.labels, other.labels)
        counts = np.zeros(len(labels), dtype=np.int64)
        counts[mine] += self.counts
        counts[theirs] += other.counts
        return LabelCounts(labels, counts)


class CategoryColumns(TransformerMixin, Estimator):
    r"""Columns of labels as one column per label (``encode="onehot"``) or as one column of codes (``"ordinal"``).

    A column of more than ``max_categories`` labels keeps the ``max_categories - 1`` commonest of training (of equally
    common ones the first in alphabetical order); the others are merged into one, called "(other)", and labels that
    training never saw join them. Where nothing was merged, a label never seen is all zeros, or the code -1.

    It does what scikit-learn's ``OneHotEncoder(max_categories=...)`` does with strings, several times faster.

    Examples
    --------
    >>> import pandas as pd
    >>> towns = pd.DataFrame({"town": ["Ulm", "Bonn", "Ulm", "Kiel", "Bonn", "Ulm", "Trier"]})
    >>> encoder = CategoryColumns(max_categories=3).fit(towns)
    >>> encoder.get_feature_names_out().tolist()
    ['town_Bonn', 'town_Ulm', 'town_(other)']
    >>> encoder.transform(pd.DataFrame({"town": ["Ulm", "Kiel", "Rome"]})).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    """

    _: KW_ONLY
    encode: str = parameter("onehot", Choice("onehot", "ordinal"), "A column per label, or one column of codes.")
    max_categories: int = parameter(MAX_CATEGORIES, Integer(low=2), "Most categories of a column, the merged one too.")

    labels_: list[list[str]] = attribute(
        ListOf(ListOf(StringOf()), "n_features"), "The labels of each column that are kept, in alphabetical order."
    )
    merged_: np.ndarray = attribute(ArrayOf("n_features", kind="b"), "Whether rare labels of a column were merged.")
    _stored_rules = (labels_differ,)

    def fit(self, X: Any, y: Any = None) -> CategoryColumns:
        """Learn the labels of each column, and which are merged."""
        self._check_parameters()
        counted = self.summarize(RowBlock(X))
        self.n_features_in_ = len(counted)
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.array([str(name) for name in X.columns], dtype=object)
        return self.solve(counted)

    def summarize(self, block: RowBlock) -> list[LabelCounts]:
        """The labels of each column of some rows, and how often each occurs."""
        return [_count(column) for column in _columns(block.X)]

    def merge(self, first: list[LabelCounts], second: list[LabelCounts]) -> list[LabelCounts]:
        """The labels of both."""
        return [one.merge(other) for one, other in zip(first, second, strict=True)]

    def solve(self, summary: list[LabelCounts]) -> CategoryColumns:
        """Keep the commonest labels."""
        learned = [self._commonest(counted) for counted in summary]
        self.labels_, self.merged_ = [labels for labels, _ in learned], np.array([merged for _, merged in learned])
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Zeros and ones for every label of every column, or one code per column."""
        check_is_fitted(self)
        columns = _columns(X)
        if len(columns) != self.n_features_in_:
            raise ValueError(f"CategoryColumns: X has {len(columns)} columns, training had {self.n_features_in_}.")
        codes = [_codes(*learned) for learned in zip(columns, self.labels_, self.merged_)]
        if self.encode == "ordinal":
            return np.column_stack(codes).astype(np.float64)
        widths = [len(labels) + int(merged) for labels, merged in zip(self.labels_, self.merged_)]
        one_hot = np.zeros((len(codes[0]), sum(widths)))
        for column, start in zip(codes, np.cumsum([0, *widths])):
            rows = np.flatnonzero(column >= 0)
            one_hot[rows, start + column[rows]] = 1.0
        return one_hot

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names such as ``town_Ulm``; codes keep the names of their columns."""
        check_is_fitted(self)
        names = list(getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)]))
        if self.encode == "ordinal":
            return np.array(names, dtype=object)
        named = zip(names, self.labels_, self.merged_)
        feature_names = [
            f"{name}_{label}" for name, labels, merged in named for label in [*labels, *[OTHER] * int(merged)]
        ]
        return np.array(feature_names, dtype=object)

    def _commonest(self, counted: LabelCounts) -> tuple[list[str], bool]:
        labels, counts = counted
        if len(labels) <= self.max_categories:
            return [str(label) for label in labels], False
        commonest = np.sort(np.argsort(-counts, kind="stable")[: self.max_categories - 1])
        return [str(label) for label in labels[commonest]], True


def _count(column: np.ndarray) -> LabelCounts:
    import pandas as pd

    codes, labels = pd.factorize(column, sort=True)
    return LabelCounts(np.asarray(labels, dtype=object), np.bincount(codes, minlength=len(labels)))


def _codes(column: np.ndarray, labels: list[str], merged: bool) -> np.ndarray:
    """The position of each label among ``labels``; others have the next one if some were merged, else -1."""
    import pandas as pd

    numbers, distinct = pd.factorize(column)
    position = {label: i for i, label in enumerate(labels)}
    other = len(labels) if merged else -1
    return np.array([position.get(label, other) for label in distinct], dtype=np.int64)[numbers]


def _columns(X: Any) -> list[np.ndarray]:
    columns = (
        [X.iloc[:, i].to_numpy(object) for i in range(X.shape[1])] if hasattr(X, "iloc") else list(np.asarray(X).T)
    )
    if not columns or not all(all(isinstance(label, str) for label in column) for column in columns):
        raise ValueError("CategoryColumns: X must hold strings in every column; a ColumnReader makes them so.")
    return columns
