"""The rules for inverse, transpose, trace and determinant, and what singular means."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.foundations.linalg import adjoint, adjugate, determinant, inverse, singularity_report
from margin.foundations.linalg.identities import check
from margin.notes.claims import claim

# The largest gap between the two sides that rounding can explain.
TOLERANCES = {
    "inverse-of-product": 1e-9,
    "inverse-of-long-product": 1e-9,
    "inverse-commutes-with-transpose": 1e-9,
    "inverse-of-scalar-multiple": 1e-9,
    "transpose-of-product": 1e-12,
    "transpose-of-sum": 1e-12,
    "transpose-of-scalar-multiple": 1e-12,
    "trace-of-product-commutes": 1e-10,
    "trace-cyclic": 1e-10,
    "trace-of-sum": 1e-10,
    "trace-of-transpose": 1e-10,
    "trace-of-scalar-multiple": 1e-10,
    "trace-similarity-invariant": 1e-10,
    "determinant-of-product": 1e-9,
    "determinant-of-inverse": 1e-9,
    "determinant-of-transpose": 1e-9,
    "determinant-of-scalar-multiple": 1e-9,
    "determinant-of-triangular": 1e-9,
}


def _identity_holds(name: str, tolerance: float) -> Callable[[], Verdict]:
    def both_sides_agree() -> Verdict:
        report = check(name)
        parts = {report.equation: below(report.gap, tolerance)}
        if report.refutation:
            parts[f"but not {report.refutation.equation}"] = above(report.refutation.gap, 0.1)
        return every(**parts)

    both_sides_agree.__name__ = name.replace("-", "_")
    return both_sides_agree


for _name, _tolerance in TOLERANCES.items():
    claim(f"claim-{_name}")(_identity_holds(_name, _tolerance))


@claim("claim-transpose-of-long-product")
def transposing_reverses_any_number_of_matrices(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    A, B, C, D = (rng.standard_normal(shape) for shape in ((2, 4), (4, 3), (3, 5), (5, 6)))
    return every(
        identity=below(check("transpose-of-long-product").gap, 1e-12),
        four_factors=near((A @ B @ C @ D).T, D.T @ C.T @ B.T @ A.T, tolerance=1e-12),
    )


@claim("claim-log-of-product")
def logarithms_add_for_commuting_matrices() -> Verdict:
    report = check("log-of-product", max_size=3, draws=2)
    assert report.refutation is not None
    return corrected(below(report.gap, 1e-9), printed=below(report.refutation.gap, 1e-3))


@claim("adjugate-identity")
def determinant_times_inverse_is_the_adjugate(seed: int) -> Verdict:
    A, singular = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 2.0], [2.0, 4.0]])
    R = np.random.default_rng(seed).standard_normal((4, 4))
    return corrected(
        every(
            random=near(determinant(R) * inverse(R), adjugate(R), tolerance=1e-10),
            example=near(adjugate(A), np.array([[4, -2], [-3, 1]]), tolerance=1e-12),
            singular=near(singular @ adjugate(singular), np.zeros((2, 2)), tolerance=1e-12),
        ),
        printed=near(determinant(A) * inverse(A), adjoint(A), tolerance=1e-6),
    )


@claim("singular-matrix-equivalences")
def all_signs_of_singularity_agree(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    reports = [
        singularity_report(rng.standard_normal((n, rank)) @ rng.standard_normal((rank, n)))
        for n in range(2, 7)
        for rank in range(1, n)
    ]
    # The columns are dependent as a set; the first one alone is no combination of the others.
    one_free_column = singularity_report([[1, 0, 0], [0, 1, 1], [0, 1, 1]])
    return corrected(
        every(
            agree=equal([report.agree for report in reports], [True] * len(reports)),
            invertible=equal(any(report.invertible for report in reports), False),
            one_free_column=equal(one_free_column.invertible, False),
        ),
        printed=equal(one_free_column.dependent_columns.tolist(), [True, True, True]),
    )


@claim("nonsingular-matrix-equivalences")
def all_signs_of_regularity_agree(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    reports = [singularity_report(rng.standard_normal((n, n))) for n in range(1, 8)]
    return every(
        agree=equal([report.agree for report in reports], [True] * 7),
        invertible=equal([report.invertible for report in reports], [True] * 7),
        rank=equal([report.rank for report in reports], list(range(1, 8))),
        null_vectors=equal([report.null_vector for report in reports], [None] * 7),
    )


def is_defined(call: Callable[[], object]) -> bool:
    """Whether an expression of the notes, evaluated as printed, has a value at all."""
    try:
        call()
    except ValueError:
        return False
    return True
