"""Positive-definite matrices."""

from __future__ import annotations

import numpy as np

from margin.core.verdict import Verdict, above, corrected, equal, every, near
from margin.foundations.linalg import (
    determinant,
    eigh,
    is_positive_definite,
    principal_submatrices,
    random_positive_definite,
)
from margin.notes.claims import claim


@claim("positive-definite-matrix")
def cholesky_decides_definiteness(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((5, 5))
    indefinite, semidefinite = M + M.T, M[:, :3] @ M[:, :3].T
    return every(
        definite=equal(is_positive_definite(M.T @ M + np.eye(5)), True),
        indefinite=equal(is_positive_definite(indefinite), False),
        semidefinite=equal(is_positive_definite(semidefinite), False),
    )


@claim("claim-sum-of-positive-definite")
def sums_stay_positive_definite(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    margins, definite = [], []
    for n in range(1, 8):
        A, B = random_positive_definite(n, rng), random_positive_definite(n, rng)
        smallest = [eigh(matrix).values[0] for matrix in (A, B, A + B)]
        margins.append(smallest[2] - smallest[0] - smallest[1])
        definite.append(is_positive_definite(A + B))
    # Weyl: the smallest eigenvalue of a sum is at least the sum of the smallest (equal for n = 1, up to rounding).
    return every(definite=equal(definite, [True] * 7), least_margin=above(min(margins), -1e-12))


@claim("claim-positive-definite-eigenvalues-positive")
def definite_and_positive_eigenvalues_are_the_same(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    definite = [random_positive_definite(n, rng, smallest=0.1) for n in range(1, 8)]
    symmetric = [M + M.T for M in rng.standard_normal((40, 3, 3))] + [M @ M.T for M in rng.standard_normal((10, 3, 3))]
    by_eigenvalues = [bool(eigh(A).values[0] > 0) for A in symmetric]
    return every(
        smallest=above(min(eigh(A).values[0] for A in definite), 0.1 - 1e-9),
        converse=equal([is_positive_definite(A) for A in symmetric], by_eigenvalues),
        both_occur=equal(len(set(by_eigenvalues)), 2),
    )


@claim("claim-positive-definite-trace-and-determinant")
def trace_is_the_sum_and_determinant_the_product(seed: int) -> Verdict:
    A = random_positive_definite(3, np.random.default_rng(seed))
    values = eigh(A, method="jacobi").values
    return corrected(
        every(
            trace=near(np.trace(A), values.sum(), tolerance=1e-10),
            determinant=near(determinant(A), values.prod(), tolerance=1e-9),
            positive=above(min(np.trace(A), determinant(A)), 0.0),
        ),
        trace=near(np.trace(A), values.prod(), tolerance=1e-3),
        determinant=near(determinant(A), values.sum(), tolerance=1e-3),
    )


@claim("claim-principal-submatrix-positive-definite")
def principal_submatrices_stay_positive_definite(seed: int) -> Verdict:
    A = random_positive_definite(5, np.random.default_rng(seed), smallest=0.01)
    return equal([is_positive_definite(part) for _, part in principal_submatrices(A)], [True] * 31)
