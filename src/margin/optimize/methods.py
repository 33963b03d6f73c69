"""One door to all minimizers: ``minimize(f, x0, method="lbfgs")``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from margin.optimize.conjugate import nonlinear_cg
from margin.optimize.coordinate import coordinate_descent
from margin.optimize.descent import FIRST_ORDER, descend
from margin.optimize.objective import Function, Gradient
from margin.optimize.proximal import fista, proximal_gradient
from margin.optimize.quasi_newton import bfgs, lbfgs
from margin.optimize.rules import Rule
from margin.optimize.second_order import damped_newton, newton
from margin.optimize.steps import Result, Steps, follow
from margin.optimize.trust import newton_cg, trust_region

__all__ = ["METHODS", "minimize"]

METHODS: dict[str, Callable[..., Steps]] = FIRST_ORDER | {
    method.__name__: method
    for method in (
        newton,
        damped_newton,
        trust_region,
        newton_cg,
        bfgs,
        lbfgs,
        nonlinear_cg,
        coordinate_descent,
        proximal_gradient,
        fista,
    )
}


def minimize(f: Function, x0: Any, *, method: str | Rule = "lbfgs", grad: Gradient = None, **options: Any) -> Result:
    """Minimize ``f`` from ``x0`` and return where it ended, at what cost, and the path.

    ``grad`` is a function, True when ``f`` returns (value, gradient), ``"torch"`` when ``f`` is written with
    torch operations, or None for central differences. ``options`` are the keyword arguments of the method's
    own function, such as ``learning_rate`` of :func:`~margin.optimize.descent.adam`, and those of
    :func:`~margin.optimize.descent.descend` for an update rule such as ``Adam(beta_1=0.8)``; others are refused.

    Parameters
    ----------
    f : callable
        The function to minimize, of an array of the shape of ``x0``.
    x0 : array-like
        The starting point.
    method : str or Rule
        One of ``METHODS``, or an update rule from :mod:`margin.optimize.rules`.
    grad : callable, True, "torch" or None
        Its gradient.
    **options
        Options of the method.

    Examples
    --------
    >>> minimize(lambda x: (x[0] - 1) ** 2 + 10 * (x[1] + 2) ** 2, [0.0, 0.0]).x.round(5)
    array([ 1., -2.])
    """
    if isinstance(method, Rule):
        _refuse_unknown(repr(method), descend, options)
        return follow(descend(f, grad, x0, method, **{"name": type(method).__name__, **options}))
    if method not in METHODS:
        raise ValueError(f"minimize: method must be one of {', '.join(METHODS)}, or an update rule; got {method!r}.")
    _refuse_unknown(method, METHODS[method], options)
    return follow(METHODS[method](f, grad, x0, **options))


def _refuse_unknown(method: str, run: Callable[..., Steps], options: dict[str, Any]) -> None:
    known = [p.name for p in inspect.signature(run).parameters.values() if p.kind is p.KEYWORD_ONLY]
    unknown = sorted(options.keys() - known)
    if unknown:
        raise ValueError(f"minimize: {method} has no option {unknown[0]!r}; it has {', '.join(known)}.")
