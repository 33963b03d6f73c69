r"""Texts as weighted counts of their commonest terms."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from margin.core.domains import Flag, Integer
from margin.core.estimator import Estimator
from margin.core.invariants import ArrayOf, ListOf, StringOf
from margin.core.parameters import attribute, parameter
from margin.core.streaming import RowBlock
from margin.core.summaries import union_of
from margin.data.stored import one_weight_per_term

__all__ = ["TfidfColumns"]


class TermCounts(NamedTuple):
    """The terms of a column in alphabetical order, how often each occurs, in how many texts, and of how many."""

    terms: np.ndarray
    total: np.ndarray
    texts_with: np.ndarray
    n_texts: int

    def merge(self, other: TermCounts) -> TermCounts:
        terms, mine, theirs = union_of(self.terms, other.terms)
        total, texts_with = np.zeros(len(terms), dtype=np.int64), np.zeros(len(terms), dtype=np.int64)
        for places, counted in ((mine, self), (theirs, other)):
            total[places] += counted.total
            texts_with[places] += counted.texts_with
        return TermCounts(terms, total, texts_with, self.n_texts + other.n_texts)


class TfidfColumns(TransformerMixin, Estimator):
    r"""Columns of text as tf-idf: how often a term occurs in a row, times how rare it is, each row of length 1.

    .. math:: w_{ij} \propto n_{ij}\left(\ln\frac{1+n}{1+d_j} + 1\right)

    with :math:`n_{ij}` the occurrences of term :math:`j` in row :math:`i`, :math:`d_j` the rows that have it. Terms are
    words of at least two letters or digits in lower case. The vocabulary of a column are its ``max_features``
    commonest terms among those that occur in at least ``min_df`` rows (in any row, if no term does). A row without a
    known term is zero, and a column without a term is one column of zeros. ``longest_run`` words next to each other
    are a term too. The result is a dense array, because most models take no other, unless it is asked to be
    ``sparse``: then thousands of terms cost little.

    Examples
    --------
    >>> import pandas as pd
    >>> texts = pd.DataFrame({"note": ["red car", "red bike", "blue car", ""]})
    >>> tfidf = TfidfColumns().fit(texts)
    >>> tfidf.get_feature_names_out().tolist()
    ['note_car', 'note_red']
    >>> tfidf.transform(texts).round(2).tolist()
    [[0.71, 0.71], [0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]
    """

    _: KW_ONLY
    max_features: int = parameter(256, Integer(low=1), "How many terms of a column are counted, the commonest.")
    min_df: int = parameter(2, Integer(low=1), "In how many rows of training a term must occur.")
    longest_run: int = parameter(1, Integer(low=1), "Runs of up to so many neighboring words are terms too.")
    sparse: bool = parameter(False, Flag(), "Whether the result is a sparse matrix.")

    terms_: list[list[str]] = attribute(
        ListOf(ListOf(StringOf()), "n_features"), "The terms of each column, in alphabetical order."
    )
    idf_: list[np.ndarray] = attribute(ListOf(ArrayOf(None, low=0), "n_features"), "How rare each term is.")
    _stored_rules = (one_weight_per_term,)

    def fit(self, X: Any, y: Any = None) -> TfidfColumns:
        """Learn the terms of each column and how rare they are."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn the terms and weigh them in the same rows, which are counted once."""
        self._check_parameters()
        columns = _columns(X)
        self.n_features_in_ = len(columns)
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.array([str(name) for name in X.columns], dtype=object)
        counted = [_term_counts(texts, self.longest_run) for texts in columns]
        self.solve([terms for terms, _ in counted])
        chosen = [self._choose(terms) for terms, _ in counted]
        kept = [counts[:, some] if len(some) else counts for (_, counts), some in zip(counted, chosen)]
        return self._side_by_side([_weights(counts, idf) for counts, idf in zip(kept, self.idf_)])

    def summarize(self, block: RowBlock) -> list[TermCounts]:
        """The terms of each column of some rows, and how often each occurs."""
        return [_term_counts(texts, self.longest_run)[0] for texts in _columns(block.X)]

    def merge(self, first: list[TermCounts], second: list[TermCounts]) -> list[TermCounts]:
        """The terms of both."""
        return [one.merge(other) for one, other in zip(first, second, strict=True)]

    def solve(self, summary: list[TermCounts]) -> TfidfColumns:
        """Keep the commonest terms of each column."""
        chosen = [self._choose(counted) for counted in summary]
        self.terms_ = [[str(term) for term in counted.terms[some]] for counted, some in zip(summary, chosen)]
        self.idf_ = [
            np.log((1 + counted.n_texts) / (1 + counted.texts_with[some])) + 1 for counted, some in zip(summary, chosen)
        ]
        return self

    def transform(self, X: Any) -> Any:
        """The weights of all terms, column after column."""
        check_is_fitted(self)
        columns = _columns(X)
        if len(columns) != self.n_features_in_:
            raise ValueError(f"TfidfColumns: X has {len(columns)} columns, training had {self.n_features_in_}.")
        counted = zip(columns, self.terms_, self.idf_)
        return self._side_by_side([_weights(_counts(texts, terms), idf) for texts, terms, idf in counted])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names such as ``note_car``."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])
        feature_names = [f"{name}_{term}" for name, terms in zip(names, self.terms_) for term in terms or ["(no term)"]]
        return np.array(feature_names, dtype=object)

    def _side_by_side(self, parts: list[Any]) -> Any:
        from scipy.sparse import hstack

        return hstack(parts, format="csr") if self.sparse else np.hstack([part.toarray() for part in parts])

    def _choose(self, counted: TermCounts) -> np.ndarray:
        """Which terms are kept: the commonest, ties in alphabetical order."""
        if not len(counted.terms):
            return np.zeros(0, dtype=np.int64)
        allowed = counted.texts_with >= min(self.min_df, counted.texts_with.max())
        order = np.lexsort((np.arange(len(counted.terms)), -counted.total))
        return np.sort(order[allowed[order]][: self.max_features])


def _term_counts(texts: list[str], longest_run: int) -> tuple[TermCounts, Any]:
    """The terms of some texts, and how often each occurs in each text, as a sparse matrix."""
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(ngram_range=(1, longest_run))
    try:
        counts = counter.fit_transform(texts)
    except ValueError:  # not a single term in any row
        nothing = np.zeros(0, dtype=np.int64)
        return TermCounts(np.zeros(0, dtype=object), nothing, nothing, len(texts)), _counts(texts, [])
    rows_with = np.bincount(counts.indices, minlength=counts.shape[1])
    total = np.asarray(counts.sum(axis=0)).ravel()
    return TermCounts(np.asarray(counter.get_feature_names_out(), dtype=object), total, rows_with, len(texts)), counts


def _counts(texts: list[str], terms: list[str]) -> Any:
    """How often each term occurs in each text, as a sparse matrix."""
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import CountVectorizer

    if not terms:
        return csr_matrix((len(texts), 1), dtype=np.int64)
    longest = max(term.count(" ") for term in terms) + 1
    return CountVectorizer(vocabulary=terms, ngram_range=(1, longest)).transform(texts)


def _weights(counts: Any, idf: np.ndarray) -> Any:
    """Sparse rows of length 1."""
    weights = counts.astype(np.float64).tocsr()
    if len(idf):
        weights.data *= idf[weights.indices]
    row = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
    lengths = np.sqrt(np.bincount(row, weights.data**2, minlength=weights.shape[0]))
    weights.data /= lengths[row]  # a stored weight is above zero, so its row has a length
    return weights


def _columns(X: Any) -> list[list[str]]:
    columns = [X.iloc[:, i].to_numpy() for i in range(X.shape[1])] if hasattr(X, "iloc") else list(np.asarray(X).T)
    return [["" if value is None or value != value else str(value) for value in column] for column in columns]
