"""Matrices and operators against NumPy and SciPy, at scales far from 1 and shapes that are not square."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import scipy.linalg
from scipy import ndimage
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.foundations import linalg as ours
from margin.notes.claims.chance import average

PATH = "margin.foundations.linalg"


def relative(ours: Any, theirs: Any, tolerance: float) -> Verdict:
    """Near in units of the largest entry, for numbers far from 1."""
    size = float(np.abs(theirs).max())
    return near(np.asarray(ours) / size, np.asarray(theirs) / size, tolerance=tolerance)


@oracle(*(f"{PATH}.{name}" for name in ("adjoint", "adjoint_pair")))
def inner_products(seed: int) -> Verdict:
    """The two numbers of the test, drawn again, for a candidate that is 3 times the adjoint."""
    A = np.random.default_rng(seed).normal(size=(4, 3))
    test = ours.adjoint_pair(lambda f: A @ f, lambda g: 3 * A.T @ g, (3,), (4,), np.random.default_rng(seed + 1))
    again = np.random.default_rng(seed + 1)
    f, g = again.standard_normal(3), again.standard_normal(4)
    left, right = g @ A @ f, 3 * (f @ A.T @ g)
    gap = abs(left - right) / np.sqrt((A @ f) @ (A @ f) * (g @ g))
    return every(
        sides=near([test.left.real, test.right.real], [left, right], tolerance=1e-12),
        gap=near(test.gap, gap, tolerance=1e-12),
        factor=near(test.factor.real, 1 / 3, tolerance=1e-12),
        complex=near(ours.adjoint(A + 2j * A), A.T - 2j * A.T, tolerance=1e-12),
    )


@oracle(*(f"{PATH}.{name}" for name in ("determinant", "adjugate", "characteristic_polynomial")))
def determinants(seed: int) -> Verdict:
    """By Leibniz' sum over permutations, and as the polynomial with the eigenvalues as roots."""
    A = np.random.default_rng(seed).normal(0.3, 1.4, size=(4, 4))

    def leibniz(M: np.ndarray) -> float:
        orders = permutations(range(len(M)))
        signs = {order: np.linalg.det(np.eye(len(M))[list(order)]) for order in orders}
        return float(sum(sign * np.prod([M[i, j] for i, j in enumerate(order)]) for order, sign in signs.items()))

    return every(
        determinant=near(ours.determinant(A), leibniz(A), tolerance=1e-9),
        adjugate=near(ours.adjugate(A), leibniz(A) * np.linalg.inv(A), tolerance=1e-8),
        polynomial=near(ours.characteristic_polynomial(A), np.poly(A), tolerance=1e-8),
    )


@oracle(
    *(f"{PATH}.{name}" for name in ("gradient", "divergence", "laplacian", "integration_by_parts")),
)
def differences(seed: int) -> Verdict:
    """Stencils by SciPy's filters on a grid of three unequal sides, and sums written out."""
    rng = np.random.default_rng(seed)
    f, g = rng.normal(size=(3, 4, 5)), rng.normal(size=(3, 3, 4, 5))
    modes = {"dirichlet": "constant", "neumann": "nearest", "periodic": "wrap"}
    parts = {
        name: near(
            (ours.laplacian(f.shape, name) @ f.ravel()).reshape(f.shape),
            sum(ndimage.correlate1d(f, [1.0, -2.0, 1.0], axis=axis, mode=mode) for axis in range(3)),
            tolerance=1e-10,
        )
        for name, mode in modes.items()
    }
    for name, mode in (("periodic", "wrap"), ("zero", "constant")):
        ahead = [ndimage.correlate1d(f, [0.0, -1.0, 1.0], axis=axis, mode=mode) for axis in range(3)]
        back = [ndimage.correlate1d(g[axis], [-1.0, 1.0, 0.0], axis=axis, mode=mode) for axis in range(3)]
        parts[f"gradient_{name}"] = near(ours.gradient(f, name), np.stack(ahead), tolerance=1e-10)
        parts[f"divergence_{name}"] = near(ours.divergence(g, name), sum(back), tolerance=1e-10)
    a, b = rng.normal(size=6), rng.normal(size=6)
    terms = ours.integration_by_parts(a, b)
    left = sum((a[i + 1] - a[i]) * (b[i + 1] + b[i]) / 2 for i in range(5))
    right = -sum((b[i + 1] - b[i]) * (a[i + 1] + a[i]) / 2 for i in range(5))
    surface = a[5] * b[5] - a[0] * b[0]
    return every(**parts, by_parts=near(list(terms), [left, right, surface], tolerance=1e-12))


@oracle(*(f"{PATH}.{name}" for name in ("eig", "eigh", "svd", "svd_terms", "svd_compress", "is_eigenpair")))
def spectra(seed: int) -> Verdict:
    """Both methods, at numbers of the size 1e6 and 1e-6, in the order that is promised."""
    rng = np.random.default_rng(seed)
    base, wide = rng.normal(size=(5, 5)), rng.normal(size=(4, 6))
    parts: dict[str, Verdict] = {}
    for size in (1e6, 1e-6):
        A, B = size * base, size * wide
        values = np.linalg.eigvals(A)
        order = np.lexsort((values.imag, np.round(values.real / np.abs(values).max(), 8)))
        for method in ("lapack", "qr"):
            eigen = ours.eig(A, method)
            parts[f"eig_{method}_{size:g}"] = relative(eigen.values, values[order], 1e-8)
            parts[f"vectors_{method}_{size:g}"] = near(
                (A @ eigen.vectors - eigen.vectors * eigen.values) / size, np.zeros((5, 5)), tolerance=1e-8
            )
        for method in ("lapack", "jacobi"):
            pair, triple = ours.eigh(A + A.T, method), ours.svd(B, method)
            parts[f"eigh_{method}_{size:g}"] = relative(pair.values, np.linalg.eigvalsh(A + A.T), 1e-9)
            parts[f"whole_{method}_{size:g}"] = relative((pair.vectors * pair.values) @ pair.vectors.T, A + A.T, 1e-9)
            parts[f"svd_{method}_{size:g}"] = relative(triple.s, scipy.linalg.svdvals(B), 1e-9)
            parts[f"product_{method}_{size:g}"] = relative((triple.U * triple.s) @ triple.V.T, B, 1e-9)
    s = scipy.linalg.svdvals(wide)
    small = ours.svd_compress(wide, 2)
    value, vector = np.linalg.eigh(base + base.T)
    return every(
        **parts,
        terms=near(np.linalg.norm(wide - ours.svd_terms(wide, 2)), np.sqrt(s[2] ** 2 + s[3] ** 2), tolerance=1e-10),
        image=near(small.image, ours.svd_terms(wide, 2), tolerance=1e-12),
        stored=near([small.stored, small.ratio], [22, 22 / 24], tolerance=1e-12),
        error=near(small.relative_error, np.sqrt((s[2:] ** 2).sum() / (s**2).sum()), tolerance=1e-10),
        pair=equal(
            [ours.is_eigenpair(1e9 * (base + base.T), 1e9 * value[1] + shift, vector[:, 1]) for shift in (0, 1e5)],
            [True, False],
        ),
    )


@oracle(*(f"{PATH}.{name}" for name in ("expm", "logm", "logm_partial_sums", "linear_ode_solution")))
def exponentials(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    A, c = rng.normal(size=(4, 4)), rng.normal(size=4)
    parts = {
        f"{method}_{size:g}": relative(ours.expm(size * A, method), scipy.linalg.expm(size * A), 1e-10)
        for method in ("pade", "series")
        for size in (0.02, 1.0, 6.0)
    }
    positive = scipy.linalg.expm(0.3 * A)
    for size in (1e7, 1.0, 1e-7):
        parts[f"log_{size:g}"] = near(ours.logm(size * positive), 0.3 * A + np.log(size) * np.eye(4), tolerance=1e-8)
    near_one = np.eye(4) + 0.1 * A
    powers = [np.linalg.matrix_power(0.1 * A, i) * (-1) ** (i + 1) / i for i in (1, 2, 3)]
    return every(
        **parts,
        log_series=near(ours.logm(near_one, "series"), scipy.linalg.logm(near_one), tolerance=1e-9),
        sums=near(ours.logm_partial_sums(near_one, 3), np.cumsum(powers, axis=0), tolerance=1e-12),
        flow=near(ours.linear_ode_solution(A, c, 0.7), scipy.linalg.expm(0.7 * A) @ c, tolerance=1e-10),
    )


@oracle(*(f"{PATH}.{name}" for name in ("exp_series", "log_series", "log_partial_sums")))
def series(seed: int) -> Verdict:
    a = float(np.random.default_rng(seed).uniform(0.2, 0.9))
    powers, logs = [1.0, a, a**2 / 2, a**3 / 6], [-((1 - a) ** i) / i for i in (1, 2, 3, 4, 5)]
    exp, log = ours.exp_series(a, 4), ours.log_series(a, 5)
    return every(
        exp=near(exp.sums, np.cumsum(powers), tolerance=1e-12),
        below_zero=near(
            ours.exp_series(-a, 3).errors,
            np.abs([1 - np.exp(-a), 1 - a - np.exp(-a), 1 - a + a**2 / 2 - np.exp(-a)]),
            tolerance=1e-12,
        ),
        exp_error=near(exp.errors, np.abs(np.cumsum(powers) - np.exp(a)), tolerance=1e-12),
        log=near(log.sums, np.cumsum(logs), tolerance=1e-12),
        log_error=near(log.errors, np.abs(np.cumsum(logs) - np.log(a)), tolerance=1e-12),
        diverging=near(ours.log_partial_sums(4.0, 3), [3.0, -1.5, 7.5], tolerance=1e-12),
    )


@oracle(
    "margin.foundations.linalg.backward_substitution",
    *(f"{PATH}.{name}" for name in ("svd_solve", "loaded_least_squares", "squared_error_gradient", "lu_solve")),
    *(f"{PATH}.{name}" for name in ("cholesky", "lu", "cholesky_solve", "normal_equations", "forward_substitution")),
)
def solutions(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X, y, b, theta = rng.normal(size=(7, 3)), rng.normal(size=7), rng.normal(size=(7, 2)), rng.normal(size=3)
    low = 1e-9 * np.column_stack([X, X[:, 0] - X[:, 2]])  # of rank 3, far from 1
    square, ridge = rng.normal(size=(40, 40)), X.T @ X + 0.8 * np.eye(3)
    factors, definite = ours.lu(square), square @ square.T + 0.1 * np.eye(40)
    right = rng.normal(size=(40, 2))
    root = ours.cholesky(definite)
    slope = [(np.sum((y - X @ (theta + h)) ** 2) - np.sum((y - X @ (theta - h)) ** 2)) / 2 for h in np.eye(3)]
    return every(
        shortest=relative(ours.svd_solve(low, b), np.linalg.pinv(low, rcond=1e-10) @ b, 1e-6),
        cut=relative(ours.svd_solve(X, y, rcond=0.999), np.linalg.pinv(X, rcond=0.999) @ y, 1e-9),
        loaded=near(ours.loaded_least_squares(X, y, 0.8), np.linalg.inv(ridge) @ X.T @ y, tolerance=1e-10),
        normal=near(ours.normal_equations(X, y), np.linalg.lstsq(X, y, rcond=None)[0], tolerance=1e-9),
        slope=near(ours.squared_error_gradient(X, y, theta), slope, tolerance=1e-9),
        lu=near(factors.L @ factors.U, square[factors.order], tolerance=1e-9),
        parity=near(factors.sign * np.prod(np.diag(factors.U)) / np.linalg.det(square), 1.0, tolerance=1e-8),
        plain=near(ours.lu(definite, pivot=False).L @ ours.lu(definite, pivot=False).U, definite, tolerance=1e-8),
        solved=near(square @ ours.lu_solve(square, right).x, right, tolerance=1e-8),
        root=near(root, np.linalg.cholesky(definite), tolerance=1e-8),
        by_root=near(definite @ ours.cholesky_solve(definite, right).x, right, tolerance=1e-8),
        forward=near(ours.forward_substitution(root, right), np.linalg.solve(np.tril(root), right), tolerance=1e-8),
    )


@oracle(f"{PATH}.singularity_report", f"{PATH}.is_diagonally_dominant")
def conditions_of_singular_matrices(seed: int) -> Verdict:
    """Rows and columns in units a billion apart change no condition; a null vector is one in these units too."""
    rng = np.random.default_rng(seed)
    units, other = 10.0 ** np.array([-9, 0, 9, 4]), 10.0 ** np.array([6, -8, 0, 8])
    base = rng.normal(size=(4, 4))
    flat = base.copy()
    flat[:, 3] = flat[:, 0] - 2 * flat[:, 1]
    regular, singular = (ours.singularity_report(units[:, None] * M * other) for M in (base, flat))
    v = np.array([1.0, -2.0, 0.0, -1.0]) / other
    assert singular.null_vector is not None
    return every(
        regular=equal((regular.agree, regular.rank, regular.invertible), (True, 4, True)),
        singular=equal((singular.agree, singular.rank, singular.invertible), (True, 3, False)),
        columns=equal(singular.dependent_columns.tolist(), [True, True, False, True]),
        null=near(abs(singular.null_vector @ v) / np.linalg.norm(v), 1.0, tolerance=1e-6),
        length=near(np.linalg.norm(singular.null_vector), 1.0, tolerance=1e-12),
        determinant=near(ours.singularity_report(base).determinant, np.linalg.det(base), tolerance=1e-9),
        dominant=equal(
            [ours.is_diagonally_dominant([[3.0, a, 0], [0, -2, 1.5], [1, 1, 2.5]]) for a in (-2.9, 3.2)], [True, False]
        ),
    )


@oracle(f"{PATH}.random_orthogonal", f"{PATH}.random_positive_definite", f"{PATH}.is_orthogonal", f"{PATH}.rotation")
def drawn_matrices(seed: int) -> Verdict:
    """The first entry of a uniformly drawn orthogonal matrix has mean 0 and square 1/n, whatever QR does with signs."""
    rng = np.random.default_rng(seed)
    Q = np.array([ours.random_orthogonal(3, rng) for _ in range(400)])
    again = np.random.default_rng(seed + 1)
    M = again.standard_normal((3, 3))
    drawn = ours.random_positive_definite(3, np.random.default_rng(seed + 1), smallest=0.4)
    turn = ours.rotation(0.7)
    return every(
        orthogonal=near(np.einsum("kij,kil->kjl", Q, Q), np.broadcast_to(np.eye(3), (400, 3, 3)), tolerance=1e-10),
        mean=average(Q[:, 0, 0], 0.0),
        last=average(Q[:, 1, 1], 0.0),
        square=average(Q[:, 0, 0] ** 2, 1 / 3),
        definite=near(drawn, M.T @ M + 0.4 * np.eye(3), tolerance=1e-12),
        turn=near(turn @ [1.0, 0.0], [np.cos(0.7), np.sin(0.7)], tolerance=1e-12),
        turned=near(turn @ [0.0, 1.0], [-np.sin(0.7), np.cos(0.7)], tolerance=1e-12),
        said=equal([ours.is_orthogonal(Q[0]), ours.is_orthogonal(Q[0] + 1e-6), ours.is_orthogonal(2 * Q[0])],
                   [True, False, False]),
    )  # fmt: skip


@oracle(f"{PATH}.interpolate_linear", f"{PATH}.splat_linear")
def sampled_grids(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    f, phi = rng.normal(size=(4, 5)), rng.uniform(-1, 6, size=(2, 7))
    expected = ndimage.map_coordinates(f, phi, order=1, mode="nearest")
    weights = np.array([ours.interpolate_linear(e.reshape(4, 5), phi) for e in np.eye(20)])  # (cells, points)
    g = rng.normal(size=7)
    return every(
        sampled=near(ours.interpolate_linear(f, phi), expected, tolerance=1e-10),
        spread=near(ours.splat_linear(g, phi, (4, 5)), (weights @ g).reshape(4, 5), tolerance=1e-10),
    )


@oracle(f"{PATH}.signed_distance", f"{PATH}.project_to_hyperplane")
def planes(seed: int) -> Verdict:
    """The foot of the perpendicular lies in the plane, and its distance from the point is the length of the rest."""
    rng = np.random.default_rng(seed)
    x, w, labels = rng.normal(size=(5, 3)), rng.normal(1.0, 2.0, size=3), np.array([1, -1, -1, 1, -1])
    foot = ours.project_to_hyperplane(x, w, 0.7)
    side = np.sign(x @ w + 0.7)
    return every(
        inside=near(foot @ w, np.full(5, -0.7), tolerance=1e-10),
        straight=near(np.cross(x - foot, w), np.zeros((5, 3)), tolerance=1e-9),
        length=near(ours.signed_distance(x, w, 0.7), side * np.linalg.norm(x - foot, axis=1), tolerance=1e-10),
        labeled=near(
            ours.signed_distance(x, w, 0.7, labels), labels * side * np.linalg.norm(x - foot, axis=1), tolerance=1e-10
        ),
    )
