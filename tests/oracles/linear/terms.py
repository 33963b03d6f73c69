"""Matrices of terms, entry by entry."""

from __future__ import annotations

import numpy as np
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.linear.basis import monomials
from margin.linear.design import design_matrix


@oracle("margin.linear.design.design_matrix", "margin.linear.basis.monomials")
def terms_one_by_one(seed: int) -> Verdict:
    X = np.random.default_rng(seed).normal(0.5, 1.5, size=(6, 3))
    powers = np.array([[0, 0, 0], [2, 0, 1], [0, 3, 0], [1, 1, 1]])
    products = [[a**i * b**j * c**k for i, j, k in powers] for a, b, c in X]
    basis = [lambda Z: Z[:, 0] * Z[:, 1], lambda Z: np.cos(Z[:, 2])]
    return every(
        monomials=near(monomials(X, powers), products, tolerance=1e-10),
        plain=near(design_matrix(X), [[1, *row] for row in X], tolerance=0.0),
        basis=near(design_matrix(X, basis=basis), [[1, a * b, np.cos(c)] for a, b, c in X], tolerance=1e-12),
        without=equal(design_matrix(X, intercept=False, basis=basis[:1]).shape, (6, 1)),
    )
