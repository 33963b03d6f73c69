"""Sums over the rows of each class compiled by Numba; see :mod:`margin.bayes.accumulate_reference`, same bits."""

from __future__ import annotations

from margin.core.cached_kernels import njit

__all__ = ["add_deviations", "add_rows", "add_sparse_rows"]


@njit(cache=True)
def add_deviations(X, codes, weights, total, mean, scatter):
    for i in range(X.shape[0]):
        w, c = weights[i], codes[i]
        if w == 0:
            continue
        total[c] += w
        fraction = w / total[c]
        x, m, s = X[i], mean[c], scatter[c]
        for j in range(X.shape[1]):
            gap = x[j] - m[j]
            moved = m[j] + fraction * gap
            s[j] += w * gap * (x[j] - moved)
            m[j] = moved


@njit(cache=True)
def add_rows(X, codes, weights, sums):
    for i in range(X.shape[0]):
        w, x, into = weights[i], X[i], sums[codes[i]]
        for j in range(X.shape[1]):
            into[j] += w * x[j]


@njit(cache=True)
def add_sparse_rows(data, indices, indptr, codes, weights, sums):
    for i in range(len(codes)):
        w, into = weights[i], sums[codes[i]]
        for position in range(indptr[i], indptr[i + 1]):
            into[indices[position]] += w * data[position]
