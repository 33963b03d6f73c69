"""Eigenvalues, eigenvectors and diagonalization."""

from __future__ import annotations

import numpy as np

from margin.core.verdict import Verdict, below, corrected, equal, every, near, raises
from margin.foundations.linalg import (
    characteristic_polynomial,
    determinant,
    diagonalize,
    eig,
    eigendecompose,
    eigh,
    is_diagonalizable,
    is_eigenpair,
    is_orthogonal,
    random_orthogonal,
    rotation,
)
from margin.notes.claims import claim

JORDAN_BLOCK = np.array([[1.0, 1.0], [0.0, 1.0]])


@claim("eigenvalues-eigenvectors")
def eigenvalues_are_roots_and_eigenvectors_are_not_zero(seed: int) -> Verdict:
    A = np.random.default_rng(seed).standard_normal((5, 5))
    residual = [float(np.linalg.norm(A @ x - x * values)) for values, x in (eig(A), eig(A, method="qr"))]
    roots = np.sort_complex(np.roots(characteristic_polynomial(A)))
    # Without the condition x != 0, any number with the zero vector satisfies A x = lambda x.
    stray, nothing = 17.0, np.zeros(5)
    satisfies = np.array_equal(A @ nothing, stray * nothing)
    return corrected(
        every(
            lapack=below(residual[0], 1e-10),
            as_run=near(eigh(A + A.T).values, eig(A + A.T, method="qr").values, tolerance=1e-10),
            qr_algorithm=below(residual[1], 1e-10),
            roots=near(np.sort_complex(eig(A).values), roots, tolerance=1e-8),
            refused=equal(is_eigenpair(A, stray, nothing), False),
        ),
        # As printed, a number for which some x satisfies the equation is an eigenvalue, a root of the polynomial.
        printed=equal(satisfies, bool(abs(np.polyval(characteristic_polynomial(A), stray)) < 1.0)),
    )


@claim("figure-shear-eigenvector")
def a_shear_keeps_one_direction() -> Verdict:
    shear = np.array([[1.0, 0.6], [0.0, 1.0]])
    turned = shear @ [0.0, 1.0]
    return every(
        kept=equal(is_eigenpair(shear, 1.0, [1.0, 0.0]), True),
        value=near(eig(shear).values, np.ones(2), tolerance=1e-12),
        other_arrow=equal(is_eigenpair(shear, float(np.linalg.norm(turned)), [0.0, 1.0]), False),
    )


@claim("claim-eigenvectors-are-scaling-directions")
def lengths_along_eigenvectors_grow_by_the_eigenvalue(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    P = random_orthogonal(4, rng) + 0.2 * rng.standard_normal((4, 4))
    A = P @ np.diag([3.0, -2.0, 1.0, 0.5]) @ np.linalg.inv(P)
    values, vectors = eig(A)
    quarter_turn = eig(rotation(np.pi / 2)).values
    return corrected(
        every(
            stretch=near(np.linalg.norm(A @ vectors, axis=0), np.abs(values), tolerance=1e-10),
            rotation_values=near(quarter_turn, np.array([-1j, 1j]), tolerance=1e-12),
        ),
        printed=equal(bool(np.isreal(quarter_turn).all()), True),
    )


@claim("claim-determinant-equals-product-of-eigenvalues")
def determinant_is_the_product_of_eigenvalues(seed: int) -> Verdict:
    A = np.random.default_rng(seed).standard_normal((6, 6))
    product = np.prod(eig(A, method="qr").values)
    return near(product / determinant(A), 1.0, tolerance=1e-10)


@claim("claim-trace-equals-sum-of-eigenvalues")
def trace_is_the_sum_of_eigenvalues(seed: int) -> Verdict:
    A = np.random.default_rng(seed).standard_normal((6, 6))
    return near(eig(A, method="qr").values.sum(), np.trace(A), tolerance=1e-10)


@claim("eigendecomposition")
def eigenvectors_and_eigenvalues_rebuild_the_matrix(seed: int) -> Verdict:
    A = np.random.default_rng(seed).standard_normal((5, 5))
    Q, Lambda = eigendecompose(A)
    values, orthonormal = eigh(A + A.T)
    vectors, diagonal = eigendecompose(A + A.T)
    return every(
        as_run=near(
            (orthonormal * values) @ orthonormal.T, vectors @ diagonal @ np.linalg.inv(vectors), tolerance=1e-10
        ),
        rebuilt=near(Q @ Lambda @ np.linalg.inv(Q), A, tolerance=1e-10),
        defective=raises(np.linalg.LinAlgError, lambda: eigendecompose(JORDAN_BLOCK), match="defective"),
    )


@claim("claim-defective-matrix-not-diagonalizable")
def a_defective_matrix_has_too_few_eigenvectors() -> Verdict:
    vectors = eig(JORDAN_BLOCK).vectors
    return every(
        diagonalizable=equal(is_diagonalizable(JORDAN_BLOCK), False),
        refused=raises(np.linalg.LinAlgError, lambda: eigendecompose(JORDAN_BLOCK)),
        eigenvector_rank=equal(int(np.linalg.matrix_rank(vectors)), 1),
    )


@claim("claim-symmetric-eigendecomposition-orthogonal")
def symmetric_matrices_have_an_orthonormal_eigenbasis(seed: int) -> Verdict:
    M = np.random.default_rng(seed).standard_normal((6, 6))
    A = M + M.T
    parts = {}
    for method in ("lapack", "jacobi"):
        values, Q = eigh(A, method=method)
        parts[method] = near(Q @ np.diag(values) @ Q.T, A, tolerance=1e-12)
        parts[f"{method}_orthogonal"] = equal(is_orthogonal(Q, tol=1e-12), True)
    # Both columns of the shear are eigenvectors of the identity; they are not orthogonal.
    is_basis = [is_eigenpair(np.eye(2), 1.0, column) for column in JORDAN_BLOCK.T]
    return corrected(
        every(**parts, any_basis_of_the_identity=equal(is_basis, [True, True])),
        printed=equal(is_orthogonal(JORDAN_BLOCK), True),
    )


@claim("diagonalization")
def an_invertible_matrix_makes_it_diagonal(seed: int) -> Verdict:
    A = np.random.default_rng(seed).standard_normal((5, 5))
    P, D = diagonalize(A)
    return every(
        as_run=near(eigh(A + A.T).values, np.sort(np.diag(diagonalize(A + A.T)[1])), tolerance=1e-10),
        diagonal=near(np.linalg.solve(P, A @ P), D, tolerance=1e-10),
        zeros_elsewhere=equal(int(np.count_nonzero(D - np.diag(np.diag(D)))), 0),
        diagonalizable=equal(is_diagonalizable(A), True),
    )
