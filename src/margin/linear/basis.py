r"""Basis functions: :math:`\sum_j \beta_j \varphi_j(x)` is linear in its parameters whatever the functions are."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement

import numpy as np
from scipy.special import comb

from margin.linear.moments import LEAST_SPREAD

__all__ = [
    "NAMED",
    "check_terms",
    "fourier_basis",
    "monomial_powers",
    "monomials",
    "radial_basis",
    "without_constants",
]

MOST_TERMS = 20_000  # columns of a design matrix beyond which the expansion is surely a mistake

# What a model file can name: a function of a number, column by column.
NAMED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "identity": lambda x: x,
    "square": np.square,
    "cube": lambda x: x**3,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "inverse": lambda x: 1.0 / x,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "abs": np.abs,
}


def monomial_powers(n_features: int, degree: int) -> np.ndarray:
    """(m, n_features) exponents of all monomials of total degree 1 to ``degree``.

    >>> monomial_powers(2, 2).tolist()
    [[1, 0], [0, 1], [2, 0], [1, 1], [0, 2]]
    """
    chosen = [
        [list(term).count(j) for j in range(n_features)]
        for d in range(1, degree + 1)
        for term in combinations_with_replacement(range(n_features), d)
    ]
    return np.array(chosen, dtype=np.int64).reshape(-1, n_features)


def check_terms(owner: str, n_features: int, degree: int) -> None:
    """Refuse an expansion that is surely a mistake before anything is made for it."""
    terms = comb(n_features + int(degree), n_features, exact=True) - 1 if degree <= MOST_TERMS else degree
    if terms > MOST_TERMS:
        raise ValueError(
            f"{owner}: degree {degree} in {n_features} columns has {terms} terms; at most {MOST_TERMS} are possible."
        )


def without_constants(X: np.ndarray) -> np.ndarray:
    """``X`` with zeros in columns of one value, up to rounding: no monomial of such a column is learned."""
    constant = np.ptp(X, axis=0) <= LEAST_SPREAD * np.abs(X).max(axis=0)
    return np.where(constant, 0.0, X) if constant.any() else X


def monomials(X: np.ndarray, powers: np.ndarray) -> np.ndarray:
    """(n, m) products of powers of the columns of ``X``, one per row of ``powers``."""
    out = np.ones((len(X), len(powers)))
    for j in range(X.shape[1]):
        used = powers[:, j] > 0
        out[:, used] *= X[:, [j]] ** powers[used, j]
    return out


def radial_basis(X: np.ndarray, centers: np.ndarray, width: float) -> np.ndarray:
    r"""(n, k) Gaussian bumps :math:`\exp(-\lVert x - c_k\rVert^2 / (2 s^2))` at ``centers`` (k, p)."""
    squares = (X**2).sum(axis=1)[:, None] + (centers**2).sum(axis=1) - 2.0 * X @ centers.T
    return np.exp(-np.maximum(squares, 0.0) / (2.0 * width**2))


def fourier_basis(X: np.ndarray, low: np.ndarray, period: np.ndarray, order: int) -> np.ndarray:
    r"""(n, 2 order p) :math:`\sin, \cos(2\pi k (x - l)/T)` for k = 1 .. ``order``, column by column."""
    turns = 2 * np.pi * (X - low) / period
    return np.hstack([wave(k * turns) for k in range(1, order + 1) for wave in (np.sin, np.cos)])
