"""Cholesky, LU, the singular value decomposition, and the systems they solve."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, raises
from margin.foundations.linalg import (
    backward_substitution,
    cholesky,
    cholesky_solve,
    eigh,
    forward_substitution,
    is_diagonally_dominant,
    is_positive_definite,
    lu,
    random_positive_definite,
    solve,
    svd,
    svd_solve,
    svd_terms,
)
from margin.kernels.gaussian_process.triangular import cholesky_in_place, solve_factored
from margin.linear import least_squares
from margin.notes.claims import claim


@claim("cholesky-decomposition")
def a_definite_matrix_is_a_lower_triangle_squared(seed: int) -> Verdict:
    A = random_positive_definite(8, np.random.default_rng(seed))
    L, in_place = cholesky(A), A.copy()
    return every(
        definite=equal(cholesky_in_place(in_place), True),
        as_run=near(np.tril(in_place), L, tolerance=1e-12),
        product=near(L @ L.T, A, tolerance=1e-12),
        lapack=near(L, np.linalg.cholesky(A), tolerance=1e-12),
        diagonal=above(np.diag(L).min(), 0.0),
        indefinite=raises(np.linalg.LinAlgError, lambda: cholesky([[1, 2], [2, 1]]), match="not positive definite"),
    )


@claim("cholesky-solve")
def two_substitutions_solve_a_definite_system(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    A, b = random_positive_definite(8, rng), rng.standard_normal(8)
    steps = cholesky_solve(A, b)
    return every(
        as_run=near(solve_factored(cholesky(A), b), steps.x, tolerance=1e-12),
        x=near(solve(A, b, method="cholesky"), np.linalg.solve(A, b), tolerance=1e-10),
        z=near(cholesky(A) @ steps.z, b, tolerance=1e-12),
        second_step=near(cholesky(A).T @ steps.x, steps.z, tolerance=1e-12),
    )


@claim("forward-backward-substitution")
def triangles_are_solved_row_by_row(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    T, b = rng.standard_normal((70, 70)) / 70 + np.eye(70), rng.standard_normal(70)
    lower = np.tril(T)
    return every(
        as_run=near(
            solve_factored(lower, b), backward_substitution(lower.T, forward_substitution(lower, b)), tolerance=1e-12
        ),
        forward=near(forward_substitution(T, b), scipy.linalg.solve_triangular(T, b, lower=True), tolerance=1e-12),
        backward=near(backward_substitution(T, b), scipy.linalg.solve_triangular(T, b), tolerance=1e-12),
    )


@claim("lu-decomposition")
def lu_exists_where_the_leading_minors_do_not_vanish(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((7, 7))
    pivoted, plain = lu(A), lu(A, pivot=False)
    example = np.array([[1.0, 2.0], [3.0, 4.0]])
    factors = lu(example, pivot=False)
    exchange = [[0, 1], [1, 0]]
    exists = np.allclose(factors.L @ factors.U, example)
    return corrected(
        every(
            pivoted=near(pivoted.L @ pivoted.U, A[pivoted.order], tolerance=1e-12),
            plain=near(plain.L @ plain.U, A, tolerance=1e-10),
            example=equal([factors.L.tolist(), factors.U.tolist()], [[[1, 0], [3, 1]], [[1, 2], [0, -2]]]),
            sign=near(pivoted.sign * np.prod(np.diag(pivoted.U)), np.linalg.det(A), tolerance=1e-9),
            sign_of_an_exchange=equal([lu(exchange).sign, lu(np.eye(3)[[1, 2, 0]]).sign], [-1, 1]),
            zero_minor=raises(np.linalg.LinAlgError, lambda: lu(exchange, pivot=False), match="minor of order 1"),
        ),
        printed=equal(is_diagonally_dominant(example), exists),  # dominance as the condition for A = LU
    )


@claim("diagonal-dominance")
def dominance_is_judged_row_by_row() -> Verdict:
    weak, not_dominant, strong = [[2, -1, 1], [0, 1, -1], [3, 0, 4]], [[1, 2], [0, 1]], [[3, 1], [-1, 2]]
    cases = (weak, not_dominant, strong)
    factors = lu(weak, pivot=False)
    return every(
        weak=equal([is_diagonally_dominant(A) for A in cases], [True, False, True]),
        strict=equal([is_diagonally_dominant(A, strict=True) for A in cases], [False, False, True]),
        implies_lu=near(factors.L @ factors.U, np.array(weak), tolerance=1e-12),
    )


@claim("lu-solve")
def two_substitutions_solve_any_invertible_system(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    A, b = rng.standard_normal((9, 9)), rng.standard_normal(9)
    return near(solve(A, b, method="lu"), np.linalg.solve(A, b), tolerance=1e-10)


@claim("singular-value-decomposition")
def every_matrix_has_a_singular_value_decomposition(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    parts = {}
    for shape in ((5, 5), (7, 4), (4, 7)):
        A = rng.standard_normal(shape)
        for method in ("lapack", "jacobi"):
            U, s, V = svd(A, method=method)
            name = f"{method}_{shape[0]}x{shape[1]}"
            parts[name] = near((U * s) @ V.T, A, tolerance=1e-12)
            parts[f"{name}_sorted"] = equal(bool(np.all(np.diff(s) <= 0) and s[-1] >= 0), True)
    tall = rng.standard_normal((7, 4))
    rectangular = svd(tall, full=True)
    return corrected(
        every(**parts, orthogonal=near(rectangular.U.T @ rectangular.U, np.eye(7), tolerance=1e-12)),
        # As stated, what is no square matrix has no decomposition; this one is 7 x 4 and is restored from its own.
        printed=equal(bool(np.allclose((rectangular.U[:, :4] * rectangular.s) @ rectangular.V.T, tall)), False),
    )


@claim("figure-svd-geometry")
def a_factor_may_reflect() -> Verdict:
    M = np.array([[1.0, 2.0], [1.5, -0.5]])  # negative determinant
    U, s, V = svd(M)
    angle = np.linspace(0, 2 * np.pi, 20_001)
    radii = np.linalg.norm(M @ [np.cos(angle), np.sin(angle)], axis=0)
    return corrected(
        every(
            semi_axes=near(np.array([radii.max(), radii.min()]), s, tolerance=1e-6),
            orientation=near(np.linalg.det(U) * np.linalg.det(V), -1.0, tolerance=1e-12),
        ),
        printed=near(np.array([np.linalg.det(U), np.linalg.det(V.T)]), np.ones(2), tolerance=1e-6),
    )


@claim("claim-svd-sum-of-rank-one")
def the_svd_is_a_weighted_sum_of_rank_one_matrices(seed: int) -> Verdict:
    A = np.random.default_rng(seed).standard_normal((6, 4))
    s = svd(A).s
    errors = [np.linalg.norm(A - svd_terms(A, k)) for k in range(5)]
    remaining = [np.sqrt(np.sum(s[k:] ** 2)) for k in range(5)]
    outer = np.outer([1.0, 2.0, -1.0], [0.5, 3.0])
    truth = every(
        all_terms=near(svd_terms(A, 4), A, tolerance=1e-12),
        errors=near(errors, remaining, tolerance=1e-12),
        separable_is_one_term=near(svd_terms(outer, 1), outer, tolerance=1e-12),
    )
    # By the printed definition the identity is separable; it is no product of a column and a row.
    is_sum_of_outer_products = np.allclose(svd_terms(np.eye(2), 2), np.eye(2))
    is_outer_product = np.allclose(svd_terms(np.eye(2), 1), np.eye(2))
    return corrected(truth, printed=equal(is_sum_of_outer_products, is_outer_product))


@claim("claim-svd-eigenvector-relation")
def singular_vectors_are_eigenvectors_for_any_matrix(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    A, S = rng.standard_normal((4, 3)), random_positive_definite(4, rng)

    def residual(A: np.ndarray, method: str = "lapack") -> float:
        U, s, V = svd(A, method=method)
        assert np.linalg.norm(U) > 1  # zero vectors would satisfy both equations
        return float(max(np.abs(A @ A.T @ U - U * s**2).max(), np.abs(A.T @ A @ V - V * s**2).max()))

    of_definite = svd(S)
    indefinite = np.diag([2.0, -1.0, 0.5])
    return corrected(
        every(
            tall=below(residual(A), 1e-10),
            wide=below(residual(A.T), 1e-10),
            jacobi=below(residual(A, "jacobi"), 1e-10),
            values=near(svd(A).s, np.sqrt(np.linalg.eigvalsh(A.T @ A)[::-1]), tolerance=1e-10),
            any_size=every(
                **{
                    f"{method}_{size:g}": near(svd(size * A, method=method).s / size, svd(A).s, tolerance=1e-10)
                    for method in ("lapack", "jacobi")
                    for size in (1e-3, 7e4)
                }
            ),
            pairs=near(A @ svd(A).V, svd(A).U * svd(A).s, tolerance=1e-10),
            definite_values=near(of_definite.s, eigh(S).values[::-1], tolerance=1e-10),
            definite_vectors=near(of_definite.U, of_definite.V, tolerance=1e-10),
        ),
        # As printed the relation belongs to positive-definite matrices; here is one that is none and has it.
        printed=equal(residual(indefinite) < 1e-10, is_positive_definite(indefinite)),
    )


@claim("svd-solve")
def the_svd_solves_singular_systems_too(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.standard_normal((5, 5)))[0] for _ in range(2))
    A, b = left @ np.diag([5.0, 3.0, 2.0, 1.0, 0.2]) @ right, rng.standard_normal(5)  # digits lost are those of 25
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    target = np.array([1.0, 1.0])
    tall, y = rng.standard_normal((6, 3)), rng.standard_normal(6)
    dependent = np.column_stack([tall, tall[:, 0] + tall[:, 1]])
    U, s, V = svd(singular)
    with np.errstate(all="ignore"):
        as_printed = V @ np.diag(1 / s) @ U.T @ target
    return corrected(
        every(
            invertible=near(solve(A, b, method="svd"), np.linalg.solve(A, b), tolerance=1e-10),
            singular=near(svd_solve(singular, target), np.linalg.pinv(singular) @ target, tolerance=1e-12),
            rectangular=near(svd_solve(tall, y), np.linalg.lstsq(tall, y)[0], tolerance=1e-12),
            as_run=near(
                least_squares(dependent, y[:, None], intercept=False).coef[:, 0],
                svd_solve(dependent, y),
                tolerance=1e-10,
            ),
        ),
        printed=near(as_printed, np.linalg.pinv(singular) @ target, tolerance=1.0),
    )
