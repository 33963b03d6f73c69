"""Orthogonal matrices."""

from __future__ import annotations

import numpy as np

from margin.core.verdict import Verdict, corrected, equal, every, near, raises
from margin.foundations.linalg import (
    classify_orthogonal,
    determinant,
    inverse,
    is_orthogonal,
    random_orthogonal,
    rotation,
)
from margin.notes.claims import claim


@claim("orthogonal-matrix")
def orthogonal_means_orthonormal(seed: int) -> Verdict:
    Q = random_orthogonal(4, np.random.default_rng(seed))
    longer = [Q * np.where(np.arange(4) == j, 1 + 1e-6, 1.0) for j in range(4)]  # one column a little too long
    leaning = [Q + 1e-6 * np.outer(Q[:, j], np.eye(4)[(j + 1) % 4]) for j in range(4)]  # one not quite orthogonal
    doubled, shear = 2 * np.eye(2), np.array([[1.0, 1.0], [0.0, 1.0]])
    rows_are_orthogonal = float(doubled[0] @ doubled[1]) == 0.0
    return corrected(
        every(
            orthonormal=equal([is_orthogonal(Q), is_orthogonal(Q.T), is_orthogonal(Q[::-1])], [True] * 3),
            inverse_is_the_transpose=near(np.linalg.inv(Q), Q.T, tolerance=1e-12),
            almost=equal([is_orthogonal(A) for A in (*longer, *leaning)], [False] * 8),
            within_a_tolerance=equal([is_orthogonal(A, tol=1e-5) for A in (*longer, *leaning)], [True] * 8),
            only_square=equal(is_orthogonal(Q[:, :3]), False),
            stretch_of_the_shear=near(np.linalg.norm(shear @ [0.0, 1.0]), np.sqrt(2), tolerance=1e-12),
        ),
        # Each printed condition holds for a matrix whose transpose is not its inverse.
        orthogonal_rows=equal(rows_are_orthogonal, bool(np.allclose(doubled.T @ doubled, np.eye(2)))),
        determinant_one=equal(abs(determinant(shear)) == 1.0, bool(np.allclose(shear.T @ shear, np.eye(2)))),
    )


@claim("rotation-matrix-2d")
def rotations_are_orthogonal_and_add_their_angles(seed: int) -> Verdict:
    a, b = np.random.default_rng(seed).uniform(-np.pi, np.pi, 2)
    return every(
        orthogonal=near(rotation(a).T @ rotation(a), np.eye(2), tolerance=1e-12),
        determinant=near(determinant(rotation(a)), 1.0, tolerance=1e-12),
        sum=near(rotation(a) @ rotation(b), rotation(a + b), tolerance=1e-12),
    )


@claim("claim-orthogonal-determinant-plus-minus-one")
def determinant_is_one_up_to_sign(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    matrices = [random_orthogonal(n, rng) for n in range(2, 7) for _ in range(6)]
    determinants = np.array([determinant(Q) for Q in matrices])
    names = ["rotation" if np.linalg.det(Q) > 0 else "reflection" for Q in matrices]
    return every(
        size=near(np.abs(determinants), np.ones(30), tolerance=1e-12),
        names=equal([classify_orthogonal(Q) for Q in matrices], names),
        both_occur=equal(len(set(names)), 2),
    )


@claim("claim-orthogonal-preserves-norm")
def lengths_and_angles_survive(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    Q, x, y = random_orthogonal(7, rng), rng.standard_normal(7), rng.standard_normal(7)
    return every(
        length=near(np.linalg.norm(Q @ x) / np.linalg.norm(x), 1.0, tolerance=1e-12),
        inner_product=near((Q @ x) @ (Q @ y), x @ y, tolerance=1e-12),
    )


@claim("claim-orthogonal-inverse-is-cheap")
def transposing_computes_nothing(seed: int) -> Verdict:
    v = np.random.default_rng(seed).standard_normal(200)
    Q = np.eye(200) - 2 * np.outer(v, v) / (v @ v)  # a reflection
    Q = Q[np.roll(np.arange(200), 1)]  # and a rotation of the rows: no longer symmetric
    cheap, general = inverse(Q, structure="orthogonal"), inverse(Q)
    return every(
        same=near(cheap, general, tolerance=1e-10),
        no_operation_rounds=equal(cheap, Q.T),
        inverse=near(cheap @ Q, np.eye(200), tolerance=1e-10),
        refused=raises(ValueError, lambda: inverse(Q + 0.01, structure="orthogonal"), match="not orthogonal"),
    )
