"""What the minimizers of a family take alike, said once."""

from __future__ import annotations

from margin.core.docstrings import parameter_texts

__all__ = ["DIFFERENTIATED", "MINIMIZING", "PROXIMAL"]

MINIMIZING = parameter_texts(
    """
    f : callable
        The function to minimize, of an array of the shape of ``x0``.
    tol : float
        The gradient norm at which it ends.
    x0 : array-like
        The starting point.
    max_iter : int
        Most iterations.
    grad : callable, True, "torch" or None
        Its gradient; True where ``f`` returns (value, gradient), "torch" where it is written with torch
        operations, None for central differences.
    hess : callable, optional
        Its Hessian; differences of the gradient by default.
    """
)
PROXIMAL = parameter_texts(
    """
    f : callable
        The smooth part of the objective.
    grad : callable, True, "torch" or None
        Gradient of the smooth part, as in :func:`~margin.optimize.minimize`.
    x0 : array-like
        The starting point.
    g : callable
        The rough part of the objective.
    prox : callable
        Its proximal map, ``prox(v, t)``.
    step : float
        The first step size t.
    max_iter : int
        Most iterations.
    tol : float
        The norm of the gradient map at which it ends.
    """
)
DIFFERENTIATED = parameter_texts(
    """
    f : callable
        A function of an array (d,) that returns a number.
    x : array-like of shape (d,)
        The point.
    """
)
