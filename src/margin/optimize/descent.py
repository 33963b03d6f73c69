"""First-order minimizers of any differentiable function: one loop, and a function by the name of every update rule."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from margin.core.docstrings import with_parameters, with_sections
from margin.core.parameters import parameters_of
from margin.optimize.clipping import clip_norm
from margin.optimize.objective import Function, Gradient, Objective
from margin.optimize.parameter_texts import MINIMIZING
from margin.optimize.rate_schedules import RateSchedule, schedule_over
from margin.optimize.rules import RULES, Rule
from margin.optimize.schedules import Schedule, watch_loss
from margin.optimize.steps import StepOutcome, Steps, length

__all__ = [
    "FIRST_ORDER",
    "adadelta",
    "adagrad",
    "adam",
    "adamw",
    "descend",
    "gradient_descent",
    "momentum",
    "nesterov",
    "rmsprop",
]

Rate = float | Schedule | RateSchedule

PATIENCE = 10  # values without a gain before a plateau lowers the rate, if it does not say


@with_parameters(MINIMIZING)
def descend(
    f: Function,
    grad: Gradient,
    x0: Any,
    rule: Rule,
    *,
    learning_rate: Rate | None = None,
    max_iter: int = 1000,
    tol: float = 1e-6,
    max_norm: float | None = None,
    name: str = "descend",
) -> Steps:
    """Follow ``rule`` from ``x0`` until the gradient norm is at most ``tol``.

    ``max_norm`` clips gradients before the rule sees them.

    Parameters
    ----------
    rule : Rule
        How a gradient becomes a step, e.g. ``Adam()`` from :mod:`margin.optimize.rules`.
    learning_rate : float, callable, RateSchedule or None
        Learning rate, a function of the step from :mod:`margin.optimize.schedules`, or an object like ``Cosine()``;
        None for the usual rate of the rule.
    max_norm : float, optional
        Longer gradients are shortened to this norm first.
    name : str
        What messages and errors call this method.
    """
    objective = Objective(name, f, grad, x0, max_iter=max_iter)
    rate = schedule_over(rule.usual_rate if learning_rate is None else learning_rate, rule.usual_rate, max_iter)
    plateau = learning_rate.plateau if isinstance(learning_rate, RateSchedule) else None
    shape, x = objective.shape, objective.x  # flat, but a rule sees it in its own shape
    state = rule.start(x.reshape(shape))
    value, gradient = objective.both(x)
    norm = length(gradient)
    yield objective.record(0, x, value, norm, 0.0)
    first = best = value
    waited, fraction = 0, 1.0
    for t in range(1, max_iter + 1):
        if norm <= tol:
            return StepOutcome(True, f"{name}: gradient norm {norm:.3g} at step {t - 1}.")
        here = x.reshape(shape)
        point = rule.point(state, here)
        used = gradient if point is here else objective.gradient(point.ravel())
        used = used if max_norm is None else clip_norm(used, max_norm)
        state, step = rule.update(state, used.reshape(shape), here, fraction * rate(t - 1))
        x, move = x + step.ravel(), step
        value, gradient = objective.both(x)
        if plateau is not None:
            best, waited = watch_loss(best, waited, value)
            if waited >= (plateau.patience or PATIENCE):
                fraction, waited = plateau.lower(fraction) or fraction, 0
        norm = length(gradient)
        yield objective.record(t, x, value, norm, length(move))
    if norm <= tol:
        return StepOutcome(True, f"{name}: gradient norm {norm:.3g} at step {max_iter}.")
    rose = (
        f"; the value rose from {first:.6g} to {value:.6g}, so the learning rate is too large" if value > first else ""
    )
    return StepOutcome(False, f"{name}: gradient norm {norm:.3g} above tol after {max_iter} steps{rose}.")


def _method(name: str) -> Callable[..., Steps]:
    """The minimizer that goes by the name of a rule, with the parameters of the rule among its own."""
    rule = RULES[name]
    declared = parameters_of(rule)

    def method(
        f: Function,
        grad: Gradient,
        x0: Any,
        *,
        learning_rate: Rate = rule.usual_rate,
        max_iter: int = 1000,
        tol: float = 1e-6,
        max_norm: float | None = None,
        **parameters: Any,
    ) -> Steps:
        chosen = rule(**parameters)
        return descend(
            f, grad, x0, chosen, learning_rate=learning_rate, max_iter=max_iter, tol=tol, max_norm=max_norm, name=name
        )

    own = [inspect.Parameter(p.name, inspect.Parameter.KEYWORD_ONLY, default=p.default) for p in declared.values()]
    others = [p for p in inspect.signature(method).parameters.values() if p.kind is not p.VAR_KEYWORD]
    method.__signature__ = inspect.Signature([*others[:4], *own, *others[4:]])  # type: ignore[attr-defined]
    method.__name__ = method.__qualname__ = name
    summary = f":func:`descend` by the rule :class:`~margin.optimize.rules.{rule.__name__}`."
    if not declared:
        summary += "\n\nParameters\n----------\nlearning_rate : float, callable or RateSchedule\n    Learning rate."
    others_elsewhere = "\n\nThe others are those of :func:`descend`."
    method.__doc__ = with_sections(summary, declared.values(), []) + others_elsewhere
    return method


FIRST_ORDER: dict[str, Callable[..., Steps]] = {name: _method(name) for name in RULES}

gradient_descent = FIRST_ORDER["gradient_descent"]
momentum = FIRST_ORDER["momentum"]
nesterov = FIRST_ORDER["nesterov"]
adagrad = FIRST_ORDER["adagrad"]
rmsprop = FIRST_ORDER["rmsprop"]
adadelta = FIRST_ORDER["adadelta"]
adam = FIRST_ORDER["adam"]
adamw = FIRST_ORDER["adamw"]
