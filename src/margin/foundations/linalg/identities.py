"""The rules of matrix algebra as experiments: both sides of each identity, evaluated on random matrices.

``check("trace-cyclic")`` draws matrices of several sizes, measures the largest gap between the two sides and, where a
tempting variant of the rule is false, the matrices that refute it. Inverses, determinants and logarithms are the ones
of this package.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from margin.core.arguments import integer
from margin.foundations.linalg.arguments import Array
from margin.foundations.linalg.definiteness import random_positive_definite
from margin.foundations.linalg.determinants import determinant
from margin.foundations.linalg.exponential import logm
from margin.foundations.linalg.inverses import inverse
from margin.foundations.linalg.orthogonal import random_orthogonal
from margin.foundations.linalg.spectra import eig

__all__ = ["IDENTITIES", "Identity", "IdentityReport", "Refutation", "check"]

Matrices = tuple[Array, ...]
Sides = Callable[..., tuple[Any, Any]]
Draw = Callable[[np.random.Generator, int], Matrices]

# What scalars the rules about scalar multiples are tried with.
SCALAR = -1.7


@dataclass(frozen=True)
class Identity:
    """``sides(*matrices)`` returns the left and the right side; ``draw(rng, n)`` the matrices it is about.

    ``variant`` is a similar rule that is not true in general, with its own ``variant_draw`` if it needs one.
    """

    equation: str
    draw: Draw
    sides: Sides
    variant_equation: str = ""
    variant: Sides | None = None
    variant_draw: Draw | None = None


class Refutation(NamedTuple):
    """The matrices on which a false variant of an identity misses most, and by how much."""

    equation: str
    gap: float
    matrices: Matrices


class IdentityReport(NamedTuple):
    """``gap`` is the largest entry of left - right over all draws, relative to the right side where that exceeds 1."""

    equation: str
    gap: float
    tolerance: float
    refutation: Refutation | None

    @property
    def holds(self) -> bool:
        return self.gap <= self.tolerance


def check(name: str, *, tolerance: float = 1e-9, max_size: int = 6, draws: int = 5, seed: int = 0) -> IdentityReport:
    """Evaluate the identity ``name`` on ``draws`` random sets of matrices of each size 1..max_size.

    >>> report = check("trace-cyclic")
    >>> report.holds, report.refutation.equation
    (True, 'Tr(ABC) = Tr(ACB)')
    """
    if name not in IDENTITIES:
        raise ValueError(f"check: no identity {name!r}; there are {', '.join(IDENTITIES)}.")
    identity = IDENTITIES[name]
    max_size = integer("check", "max_size", max_size, low=1)
    draws = integer("check", "draws", draws, low=1)
    rng = np.random.default_rng(seed)
    worst, _ = _worst(identity.draw, identity.sides, rng, max_size, draws)
    refutation = None
    if identity.variant is not None:
        draw = identity.variant_draw or identity.draw
        refutation = Refutation(identity.variant_equation, *_worst(draw, identity.variant, rng, max_size, draws))
    return IdentityReport(identity.equation, worst, tolerance, refutation)


def _worst(draw: Draw, sides: Sides, rng: np.random.Generator, max_size: int, draws: int) -> tuple[float, Matrices]:
    worst: float = -1.0
    witness: Matrices = ()
    for n in range(1, max_size + 1):
        for _ in range(draws):
            matrices = draw(rng, n)
            left, right = sides(*matrices)
            gap = float(np.abs(left - right).max() / max(1.0, np.abs(right).max()))
            if gap > worst:
                worst, witness = gap, matrices
    return worst, witness


def _square(count: int) -> Draw:
    """Random square matrices with singular values in [1/2, 2], so that inverses are far from rounding trouble."""

    def draw(rng: np.random.Generator, n: int) -> Matrices:
        return tuple(
            (random_orthogonal(n, rng) * rng.uniform(0.5, 2.0, n)) @ random_orthogonal(n, rng) for _ in range(count)
        )

    return draw


def _chain(count: int, *, closed: bool) -> Draw:
    """Rectangular matrices whose product exists; if ``closed`` the product is square, so that its trace exists."""

    def draw(rng: np.random.Generator, n: int) -> Matrices:
        sizes = [*rng.integers(1, n + 2, count), 0]
        sizes[-1] = sizes[0] if closed else int(rng.integers(1, n + 2))
        return tuple(rng.standard_normal((rows, columns)) for rows, columns in pairwise(sizes))

    return draw


def _same_shape(rng: np.random.Generator, n: int) -> Matrices:
    shape = (n, int(rng.integers(1, n + 2)))
    return rng.standard_normal(shape), rng.standard_normal(shape)


def _triangular(rng: np.random.Generator, n: int) -> Matrices:
    # Well separated diagonal entries: close eigenvalues of a non-symmetric matrix are not computable to 1e-9.
    A = np.tril(rng.standard_normal((n, n)), -1) + np.diag(rng.permutation(n) + 1.0)
    return (A if rng.random() < 0.5 else A.T,)


def _definite_pair(rng: np.random.Generator, n: int) -> Matrices:
    return random_positive_definite(n, rng), random_positive_definite(n, rng)


def _commuting_definite_pair(rng: np.random.Generator, n: int) -> Matrices:
    Q = random_orthogonal(n, rng)  # the same eigenvectors
    return tuple((Q * rng.uniform(0.2, 5.0, n)) @ Q.T for _ in range(2))


def _triangular_sides(A: Array) -> tuple[Array, Array]:
    diagonal = np.sort(np.diag(A))
    return np.append(np.sort(eig(A).values), determinant(A)), np.append(diagonal, np.prod(diagonal))


r, Tr, Det, inv = SCALAR, np.trace, determinant, inverse

IDENTITIES: dict[str, Identity] = {
    "inverse-of-product": Identity(
        "(AB)^-1 = B^-1 A^-1",
        _square(2),
        lambda A, B: (inv(A @ B), inv(B) @ inv(A)),
        "(AB)^-1 = A^-1 B^-1",
        lambda A, B: (inv(A @ B), inv(A) @ inv(B)),
    ),
    "inverse-of-long-product": Identity(
        "(ABCD)^-1 = D^-1 C^-1 B^-1 A^-1",
        _square(4),
        lambda A, B, C, D: (inv(A @ B @ C @ D), inv(D) @ inv(C) @ inv(B) @ inv(A)),
        "(ABCD)^-1 = A^-1 B^-1 C^-1 D^-1",
        lambda A, B, C, D: (inv(A @ B @ C @ D), inv(A) @ inv(B) @ inv(C) @ inv(D)),
    ),
    "inverse-commutes-with-transpose": Identity("(A^-1)^T = (A^T)^-1", _square(1), lambda A: (inv(A).T, inv(A.T))),
    "inverse-of-scalar-multiple": Identity(
        "(rA)^-1 = r^-1 A^-1",
        _square(1),
        lambda A: (inv(r * A), inv(A) / r),
        "(rA)^-1 = r A^-1",
        lambda A: (inv(r * A), r * inv(A)),
    ),
    "transpose-of-product": Identity(
        "(AB)^T = B^T A^T",
        _chain(2, closed=False),
        lambda A, B: ((A @ B).T, B.T @ A.T),
        "(AB)^T = A^T B^T",
        lambda A, B: ((A @ B).T, A.T @ B.T),
        _square(2),
    ),
    "transpose-of-long-product": Identity(
        "(ABCD)^T = D^T C^T B^T A^T",
        _chain(4, closed=False),
        lambda A, B, C, D: ((A @ B @ C @ D).T, D.T @ C.T @ B.T @ A.T),
    ),
    "transpose-of-sum": Identity("(A + B)^T = A^T + B^T", _same_shape, lambda A, B: ((A + B).T, A.T + B.T)),
    "transpose-of-scalar-multiple": Identity("(rA)^T = r A^T", _chain(1, closed=False), lambda A: ((r * A).T, r * A.T)),
    "trace-of-product-commutes": Identity(
        "Tr(AB) = Tr(BA)",
        _chain(2, closed=True),
        lambda A, B: (Tr(A @ B), Tr(B @ A)),
        "Tr(AB) = Tr(A) Tr(B)",
        lambda A, B: (Tr(A @ B), Tr(A) * Tr(B)),
        _square(2),
    ),
    "trace-cyclic": Identity(
        "Tr(ABC) = Tr(BCA) = Tr(CAB)",
        _chain(3, closed=True),
        lambda A, B, C: (np.repeat(Tr(A @ B @ C), 2), np.array([Tr(B @ C @ A), Tr(C @ A @ B)])),
        "Tr(ABC) = Tr(ACB)",
        lambda A, B, C: (Tr(A @ B @ C), Tr(A @ C @ B)),
        _square(3),
    ),
    "trace-of-sum": Identity("Tr(A + B) = Tr(A) + Tr(B)", _square(2), lambda A, B: (Tr(A + B), Tr(A) + Tr(B))),
    "trace-of-transpose": Identity("Tr(A^T) = Tr(A)", _square(1), lambda A: (Tr(A.T), Tr(A))),
    "trace-of-scalar-multiple": Identity("Tr(rA) = r Tr(A)", _square(1), lambda A: (Tr(r * A), r * Tr(A))),
    "trace-similarity-invariant": Identity(
        "Tr(P^-1 A P) = Tr(A)",
        _square(2),
        lambda A, P: (Tr(inv(P) @ A @ P), Tr(A)),
        "Tr(P^T A P) = Tr(A)",
        lambda A, P: (Tr(P.T @ A @ P), Tr(A)),
    ),
    "determinant-of-product": Identity(
        "Det(AB) = Det(A) Det(B)", _square(2), lambda A, B: (Det(A @ B), Det(A) * Det(B))
    ),
    "determinant-of-inverse": Identity("Det(A^-1) = 1 / Det(A)", _square(1), lambda A: (Det(inv(A)), 1 / Det(A))),
    "determinant-of-transpose": Identity("Det(A^T) = Det(A)", _square(1), lambda A: (Det(A.T), Det(A))),
    "determinant-of-scalar-multiple": Identity(
        "Det(rA) = r^n Det(A)",
        _square(1),
        lambda A: (Det(r * A), r ** len(A) * Det(A)),
        "Det(rA) = r Det(A)",
        lambda A: (Det(r * A), r * Det(A)),
    ),
    "determinant-of-triangular": Identity(
        "Det(A) = prod A_ii and the A_ii are the eigenvalues, A triangular", _triangular, _triangular_sides
    ),
    "log-of-product": Identity(
        "log(AB) = log(A) + log(B) for commuting A, B",
        _commuting_definite_pair,
        lambda A, B: (logm(A @ B), logm(A) + logm(B)),
        "log(AB) = log(A) + log(B) for any A, B",
        lambda A, B: (logm(A @ B), logm(A) + logm(B)),
        _definite_pair,
    ),
}
