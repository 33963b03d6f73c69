r"""Texts as vectors: one-hot tokens, counts of n-grams, and tf-idf weights."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["count_terms", "inverse_document_frequency", "ngrams", "one_hot", "tf_idf", "words"]

WORD = re.compile(r"(?u)\b\w\w+\b")  # scikit-learn's default: at least two letters, digits or underscores


def one_hot(ids: Any, n_classes: int) -> np.ndarray:
    r"""Each id as a standard basis vector, a row of the result: :math:`(N,) \to (N, C)`.

    >>> one_hot([2, 0], 3).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    ids = np.asarray(ids)
    if ids.size and (ids.dtype.kind not in "iu" or ids.min() < 0 or ids.max() >= n_classes):
        raise ValueError(f"one_hot: ids must be integers from 0 to {n_classes - 1}; got {ids.min()} to {ids.max()}.")
    table = np.zeros((*ids.shape, n_classes))
    np.put_along_axis(table, ids[..., None].astype(np.intp), 1.0, axis=-1)
    return table


def words(text: str) -> list[str]:
    """The words of a text as scikit-learn's vectorizers find them: lower case, at least two characters.

    >>> words("A cat sat; the Cat!")
    ['cat', 'sat', 'the', 'cat']
    """
    return WORD.findall(text.lower())


def ngrams(tokens: Sequence[str], low: int, high: int, *, joined_by: str = " ") -> list[str]:
    """All runs of ``low`` to ``high`` neighboring tokens, shorter runs first.

    >>> ngrams(["to", "be", "or"], 1, 2)
    ['to', 'be', 'or', 'to be', 'be or']
    """
    if not 1 <= low <= high:
        raise ValueError(f"ngrams: 1 <= low <= high must hold; got low={low}, high={high}.")
    lengths = range(low, min(high, len(tokens)) + 1)  # no run is longer than the text, however long it may be
    return [joined_by.join(tokens[i : i + n]) for n in lengths for i in range(len(tokens) - n + 1)]


def count_terms(
    texts: Iterable[str],
    *,
    ngram_range: tuple[int, int] = (1, 1),
    vocabulary: Sequence[str] | None = None,
    tokenize: Callable[[str], Sequence[str]] = words,
) -> tuple[sparse.csr_matrix, list[str]]:
    """How often each term (n-gram of tokens) occurs in each text, and the terms.

    Without a ``vocabulary`` it is learned: all terms in alphabetical order. With one, other terms are left out.

    >>> counts, terms = count_terms(["red car", "car car"])
    >>> terms, counts.toarray().tolist()
    (['car', 'red'], [[1, 1], [2, 0]])
    """
    known: dict[str, int] = {} if vocabulary is None else {term: i for i, term in enumerate(vocabulary)}
    columns: list[int] = []
    ends = [0]
    for text in texts:
        for term in ngrams(tokenize(text), *ngram_range):
            if vocabulary is None:
                columns.append(known.setdefault(term, len(known)))
            elif term in known:
                columns.append(known[term])
        ends.append(len(columns))
    terms = list(known) if vocabulary is not None else sorted(known)
    position = np.empty(len(known), dtype=np.intp)
    position[[known[term] for term in terms]] = np.arange(len(terms))
    indices = position[columns] if columns else np.zeros(0, dtype=np.intp)
    ones = np.ones(len(indices), dtype=np.int64)
    counts = sparse.csr_matrix((ones, indices, ends), shape=(len(ends) - 1, len(terms)))
    counts.sum_duplicates()
    return counts, terms


def inverse_document_frequency(counts: Any, *, smooth: bool = True) -> np.ndarray:
    r"""How rare each term is: :math:`\ln\frac{1+n}{1+d_j} + 1`, without ``smooth`` :math:`\ln\frac{n}{d_j} + 1`."""
    counts = sparse.csr_matrix(counts)
    n, with_term = counts.shape[0], np.bincount(counts.indices[counts.data != 0], minlength=counts.shape[1])
    extra = 1 if smooth else 0
    with np.errstate(divide="ignore"):
        return np.log((n + extra) / (with_term + extra)) + 1


def tf_idf(
    counts: Any, idf: np.ndarray | None = None, *, norm: str | None = "l2", sublinear: bool = False
) -> sparse.csr_matrix:
    r"""Counts times how rare the terms are, each row of length 1 (``norm``).

    .. math:: w_{ij} \propto n_{ij}\left(\ln\frac{1+n}{1+d_j} + 1\right)

    ``sublinear`` puts :math:`1 + \ln n_{ij}` in place of :math:`n_{ij}`; without ``idf`` it is that of ``counts``.
    """
    if norm not in ("l1", "l2", None):
        raise ValueError(f"tf_idf: norm must be 'l1', 'l2' or None; got {norm!r}.")
    weights = sparse.csr_matrix(counts, dtype=np.float64, copy=True)
    if sublinear:
        weights.data = np.log(weights.data) + 1
    weights.data *= (inverse_document_frequency(counts) if idf is None else idf)[weights.indices]
    if norm:
        sizes = abs(weights).sum(axis=1) if norm == "l1" else np.sqrt(weights.multiply(weights).sum(axis=1))
        sizes = np.asarray(sizes).ravel()
        weights.data /= np.repeat(np.where(sizes > 0, sizes, 1.0), np.diff(weights.indptr))
    return weights
