"""Adjoints: the conjugate transpose, and the dot-product test that recognizes the adjoint of any linear operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from margin.foundations.linalg.arguments import Array, as_matrix

__all__ = ["DotProductTest", "adjoint", "adjoint_pair"]


class DotProductTest(NamedTuple):
    r"""The two sides :math:`\langle Af, g\rangle` and :math:`\langle f, Bg\rangle` on random f and g.

    ``gap`` is their distance relative to :math:`\|Af\|\|g\|`; ``factor`` is left over right: 1 for an adjoint, c when
    the adjoint is c times what was offered.
    """

    left: complex
    right: complex
    gap: float
    factor: complex


def adjoint(A: Any) -> Array:
    r"""The conjugate transpose :math:`A^* = \overline{A}^\top`; for a real matrix, its transpose.

    Not the adjugate ("classical adjoint"), which is :func:`~margin.foundations.linalg.adjugate`.

    >>> adjoint([[1, -2 - 1j]])
    array([[ 1.-0.j],
           [-2.+1.j]])
    """
    return as_matrix("adjoint", "A", A).conj().T


def adjoint_pair(
    operator: Callable[[Array], Array],
    candidate: Callable[[Array], Array],
    shape_in: tuple[int, ...],
    shape_out: tuple[int, ...],
    rng: np.random.Generator,
    *,
    complex_valued: bool = False,
) -> DotProductTest:
    r"""Test :math:`\langle Af, g\rangle = \langle f, A^*g\rangle` on one random pair (f, g).

    ``operator`` maps arrays of ``shape_in`` to ``shape_out``, ``candidate`` the other way. A wrong candidate passes
    only by a coincidence of probability zero.

    >>> A = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> test = adjoint_pair(lambda f: A @ f, lambda g: A.T @ g, (2,), (2,), np.random.default_rng(0))
    >>> test.gap < 1e-14
    True
    """
    f, g = _draw(shape_in, rng, complex_valued), _draw(shape_out, rng, complex_valued)
    Af, Bg = np.asarray(operator(f)), np.asarray(candidate(g))
    for name, image, shape in (("operator", Af, shape_out), ("candidate", Bg, shape_in)):
        if image.shape != tuple(shape):
            raise ValueError(f"adjoint_pair: {name} must return shape {tuple(shape)}; got {image.shape}.")
    left, right = complex(np.vdot(Af, g)), complex(np.vdot(f, Bg))
    scale = float(np.linalg.norm(Af) * np.linalg.norm(g))
    return DotProductTest(
        left,
        right,
        gap=abs(left - right) / scale if scale else abs(right),
        factor=left / right if right else complex(np.inf if left else 1.0),
    )


def _draw(shape: tuple[int, ...], rng: np.random.Generator, complex_valued: bool) -> Array:
    real = rng.standard_normal(shape)
    return real + 1j * rng.standard_normal(shape) if complex_valued else real
