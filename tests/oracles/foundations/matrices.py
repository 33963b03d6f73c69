"""Rules and forms of matrices against NumPy and loops, on matrices that are neither symmetric nor of size 1."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
from tests.oracles import oracle

from margin.core.verdict import Verdict, above, equal, every, near
from margin.foundations import linalg
from margin.foundations.linalg.identities import IDENTITIES, Identity, check

PATH = "margin.foundations.linalg"


@oracle(f"{PATH}.identities.check")
def both_sides_again(seed: int) -> Verdict:
    """Every rule holds for these draws; a false one, added for a moment, misses by what a loop over its draws finds."""
    reports = {name: check(name, max_size=4, draws=2, seed=seed) for name in IDENTITIES}
    draw = lambda rng, n: (rng.standard_normal((n, n)) + 0.3,)  # noqa: E731
    IDENTITIES["false rule of an oracle"] = Identity("A = 2 A^T", draw, lambda A: (A, 2 * A.T))
    try:
        found = check("false rule of an oracle", max_size=3, draws=2, seed=seed)
    finally:
        del IDENTITIES["false rule of an oracle"]
    rng, gaps = np.random.default_rng(seed), []
    for n in (1, 1, 2, 2, 3, 3):
        A = rng.standard_normal((n, n)) + 0.3
        largest = max(abs(2 * A[j, i]) for i in range(n) for j in range(n))
        gaps.append(max(abs(A[i, j] - 2 * A[j, i]) for i in range(n) for j in range(n)) / max(1.0, largest))
    refuted = [report.refutation for report in reports.values() if report.refutation is not None]
    return every(
        hold=equal([name for name, report in reports.items() if not report.holds], []),
        false=equal(found.holds, False),
        gap=near(found.gap, max(gaps), tolerance=1e-12),
        variants=above(min(refutation.gap for refutation in refuted), 1e-3),
    )


@oracle(*(f"{PATH}.{name}" for name in ("matmul_inner", "matmul_outer", "column_images", "principal_submatrices")))
def entries_one_by_one(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    A, B, S = rng.normal(size=(3, 4)), rng.normal(size=(4, 2)), rng.normal(size=(4, 4))
    product = [[sum(A[i, k] * B[k, j] for k in range(4)) for j in range(2)] for i in range(3)]
    outer = linalg.matmul_outer(A, B)
    kept = chain.from_iterable(combinations(range(4), size) for size in range(1, 5))
    parts = dict(linalg.principal_submatrices(S))
    return every(
        inner=near(linalg.matmul_inner(A, B), product, tolerance=1e-12),
        total=near(outer[0], product, tolerance=1e-12),
        terms=near(outer[1][2], [[A[i, 2] * B[2, j] for j in range(2)] for i in range(3)], tolerance=1e-12),
        images=near(np.column_stack(linalg.column_images(A)), A, tolerance=0.0),
        chosen=equal(list(parts), list(kept)),
        part=near(parts[0, 2, 3], [[S[i, j] for j in (0, 2, 3)] for i in (0, 2, 3)], tolerance=0.0),
    )


@oracle(
    *(f"{PATH}.{name}" for name in ("inverse", "eigendecompose", "is_diagonalizable", "is_positive_definite")),
    f"{PATH}.classify_orthogonal",
)
def kinds_of_matrices(seed: int) -> Verdict:
    """Matrices made of eigenvalues that are known; turned ones and mirrored ones."""
    rng = np.random.default_rng(seed)
    P, Q, T = (np.linalg.qr(rng.normal(size=(4, 4)))[0] for _ in range(3))
    V = P * rng.uniform(0.5, 2.0, 4) @ T
    values = np.array([-1.5, 0.4, 2.0, 3.5])
    A = V @ np.diag(values) @ np.linalg.inv(V)
    found = linalg.eigendecompose(A)
    order = np.argsort(np.real(np.diag(found[1])))
    turned = Q if np.linalg.det(Q) > 0 else Q[:, [1, 0, 2, 3]]
    definite = [linalg.is_positive_definite(Q @ np.diag(d) @ Q.T) for d in (np.abs(values), values)]
    return every(
        inverse=near(linalg.inverse(A), np.linalg.solve(A, np.eye(4)), tolerance=1e-6),
        transposed=near(linalg.inverse(Q, "orthogonal"), Q.T, tolerance=1e-12),
        values=near(np.real(np.diag(found[1]))[order], values, tolerance=1e-6),
        product=near(np.real(found[0] @ found[1] @ np.linalg.inv(found[0])), A, tolerance=1e-6),
        diagonal=equal([linalg.is_diagonalizable(A), linalg.is_diagonalizable(jordan_block())], [True, False]),
        definite=equal(definite, [True, False]),
        kinds=equal(
            [linalg.classify_orthogonal(M) for M in (turned, turned[:, [1, 0, 2, 3]])], ["rotation", "reflection"]
        ),
    )


def jordan_block() -> np.ndarray:
    return np.array([[2.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 5.0]])


@oracle(*(f"{PATH}.{name}" for name in ("fourier", "inverse_fourier")))
def waves_added_up(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    f = rng.normal(size=(3, 5)) + 1j * rng.normal(size=(3, 5))
    expected = np.zeros((3, 5), dtype=complex)
    for k, m in np.ndindex(3, 5):
        expected[k, m] = sum(f[i, j] * np.exp(-2j * np.pi * (i * k / 3 + j * m / 5)) for i, j in np.ndindex(3, 5))
    gap = lambda a, b: float(np.abs(a - b).max())  # noqa: E731
    return every(
        plain=near(gap(linalg.fourier(f, "backward"), expected), 0.0, tolerance=1e-10),
        unitary=near(gap(linalg.fourier(f), expected / np.sqrt(15)), 0.0, tolerance=1e-10),
        back=near(gap(linalg.inverse_fourier(expected, "backward"), f), 0.0, tolerance=1e-10),
        unitary_back=near(gap(linalg.inverse_fourier(expected / np.sqrt(15)), f), 0.0, tolerance=1e-10),
    )


@oracle(f"{PATH}.operator_eigenvalues")
def an_operator_with_known_eigenvalues(seed: int) -> Verdict:
    """cos cos + c sin sin on the unit interval has two eigenvalues, 1/2 and c/2."""
    c = 0.2 + 0.1 * (seed % 5)
    wave = 2 * np.pi

    def kernel(s: np.ndarray, t: np.ndarray) -> np.ndarray:
        return np.cos(wave * s) * np.cos(wave * t) + c * np.sin(wave * s) * np.sin(wave * t)

    return near(linalg.operator_eigenvalues(kernel, 400, 3), [0.5, c / 2, 0.0], tolerance=0.01)
