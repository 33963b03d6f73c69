r"""Finite sums :math:`f(\theta) = \frac1n \sum_i \ell_i(\theta)`: empirical risk, batches, and descent by batches.

Textbook form; networks draw their batches in :mod:`margin.neural.training`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from margin.optimize.clipping import accumulate as weighted_mean
from margin.optimize.clipping import clip_norm
from margin.optimize.objective import starting_point
from margin.optimize.rate_schedules import RateSchedule, schedule_over
from margin.optimize.rules import Descent, Rule
from margin.optimize.schedules import Schedule
from margin.optimize.steps import Array, Diverged, MinimizerStep, OptimizationError, StepOutcome, Steps, length

__all__ = ["FiniteSum", "batches", "sgd"]

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True)
class FiniteSum:
    """A mean of ``n`` per-example losses.

    ``losses(theta, rows)`` gives (m,) losses and ``gradients(theta, rows)`` their (m, d) gradients;
    ``mean_gradient`` may give the mean of the latter more cheaply.
    """

    n: int
    losses: Callable[[Array, Rows], Array]
    gradients: Callable[[Array, Rows], Array]
    mean_gradient: Callable[[Array, Rows], Array] | None = None

    def value(self, theta: Array, rows: Rows | None = None) -> float:
        """The empirical risk: the mean loss over ``rows`` (all of them by default)."""
        return float(np.mean(self.losses(theta, self._rows(rows))))

    def gradient(self, theta: Array, rows: Rows | None = None) -> Array:
        """The mean gradient over ``rows`` (all of them by default)."""
        rows = self._rows(rows)
        if self.mean_gradient is not None:
            return self.mean_gradient(theta, rows)
        return np.mean(self.gradients(theta, rows), axis=0)

    def _rows(self, rows: Rows | None) -> Rows:
        return np.arange(self.n) if rows is None else rows


def batches(n: int, size: int, rng: np.random.Generator | None = None, *, drop_last: bool = False) -> Iterator[Rows]:
    """One epoch: disjoint index arrays that together are 0..n-1, in a new random order if ``rng`` is given.

    There are ceil(n / size) of them, the last one shorter where ``size`` does not divide ``n``.

    Parameters
    ----------
    n : int
        Number of rows.
    size : int
        Rows of a batch.
    rng : numpy.random.Generator, optional
        Shuffles the rows; without it they stay in order.
    drop_last : bool
        Whether a shorter last batch is left out.

    Examples
    --------
    >>> [rows.tolist() for rows in batches(5, 2)]
    [[0, 1], [2, 3], [4]]
    """
    if n < 1 or size < 1:
        raise ValueError(f"batches: n and size must be at least 1; got n={n} and size={size}.")
    order = np.arange(n) if rng is None else rng.permutation(n)
    stop = n - n % size if drop_last else n
    return (order[i : i + size] for i in range(0, stop, size))


def sgd(
    problem: FiniteSum,
    x0: Any,
    *,
    rng: np.random.Generator | None = None,
    rule: Rule | None = None,
    learning_rate: float | Schedule | RateSchedule = 0.01,
    batch_size: int | None = 1,
    epochs: int = 10,
    accumulate: int = 1,
    max_norm: float | None = None,
) -> Steps:
    r"""Descent by batches: :math:`\theta \leftarrow \theta - \eta_t \frac1M \sum_{i\in B} \nabla\ell_i(\theta)`.

    ``batch_size=1`` is stochastic, ``None`` full-batch, anything between mini-batch gradient descent; any
    update rule may stand in for plain descent. ``accumulate=k`` joins the gradients of k batches into one
    update. Batches are drawn without replacement, anew in every epoch, in file order if ``rng`` is None.

    Records are per update; value and gradient norm are those of the batch, at the point where its gradient
    was taken, ``evaluations`` counts per-example gradients, ``epoch`` counts from 1.

    Parameters
    ----------
    problem : FiniteSum
        The mean of losses to minimize.
    x0 : array-like
        The starting point.
    rng : numpy.random.Generator, optional
        Shuffles the rows; without it they stay in order.
    rule : Rule, optional
        How a gradient becomes a step; plain descent by default.
    learning_rate : float, callable or RateSchedule
        Learning rate, a function of the update from :mod:`margin.optimize.schedules`, or an object like ``Cosine()``.
    batch_size : int or None
        Rows of a batch; None for all.
    epochs : int
        Passes over the rows.
    accumulate : int
        Batches whose gradients are joined into one update.
    max_norm : float, optional
        Longer gradients are shortened to this norm first.
    """
    _check(problem.n, batch_size, epochs, accumulate)
    rule = Descent() if rule is None else rule
    size = problem.n if batch_size is None else batch_size
    total = epochs * ceil(ceil(problem.n / size) / accumulate)
    if isinstance(learning_rate, RateSchedule) and learning_rate.plateau is not None:
        raise ValueError(f"sgd: learning_rate must not wait for a plateau of single batches; got {learning_rate!r}.")
    rate = schedule_over(learning_rate, rule.usual_rate, total)
    x = starting_point("sgd", x0)
    state, seen, t = rule.start(x), 0, 0
    yield _record(0, x, problem.value(x), length(problem.gradient(x)), 0.0, 0, 0, total)
    for epoch in range(1, epochs + 1):
        for group in _groups(batches(problem.n, size, rng), accumulate):
            t += 1
            point = rule.point(state, x)
            with np.errstate(over="ignore", invalid="ignore"):
                value, gradient = _join(problem, point, group)
            if gradient.shape != x.shape:
                message = (
                    f"sgd: the gradient must have the shape {x.shape} of x; got {gradient.shape}, after update {t - 1}."
                )
                raise OptimizationError(message, x, t - 1)
            if not (np.isfinite(value) and np.all(np.isfinite(gradient))):
                raise Diverged(
                    f"sgd: diverged at update {t} of epoch {epoch} (batch loss {value:.6g}); the iterate of "
                    f"update {t - 1} is kept; a smaller learning_rate may help.",
                    x,
                    t - 1,
                )
            norm = length(gradient)
            state, move = rule.update(
                state, gradient if max_norm is None else clip_norm(gradient, max_norm), x, rate(t - 1)
            )
            x = x + move
            seen += sum(map(len, group))
            yield _record(t, x, value, norm, length(move), seen, epoch, total)
    return StepOutcome(True, f"sgd: {epochs} epochs of {t // epochs} updates.")


def _join(problem: FiniteSum, x: Array, group: list[Rows]) -> tuple[float, Array]:
    if len(group) == 1:
        return problem.value(x, group[0]), problem.gradient(x, group[0])
    gradients = [problem.gradient(x, rows) for rows in group]
    return problem.value(x, np.concatenate(group)), weighted_mean(gradients, [len(rows) for rows in group])


def _groups(stream: Iterator[Rows], k: int) -> Iterator[list[Rows]]:
    group: list[Rows] = []
    for rows in stream:
        group.append(rows)
        if len(group) == k:
            yield group
            group = []
    if group:
        yield group


def _record(
    t: int, x: Array, value: float, norm: float, move: float, seen: int, epoch: int, total: int
) -> MinimizerStep:
    values = {
        "value": value,
        "gradient_norm": norm,
        "step_size": move,
        "evaluations": float(seen),
        "epoch": float(epoch),
    }
    return MinimizerStep(t, values, total, x.copy())


def _check(n: int, batch_size: int | None, epochs: int, accumulate: int) -> None:
    if batch_size is not None and not 1 <= batch_size <= n:
        raise ValueError(f"sgd: batch_size must be None or between 1 and n={n}; got {batch_size!r}.")
    if epochs < 1 or accumulate < 1:
        raise ValueError(f"sgd: epochs and accumulate must be at least 1; got {epochs!r} and {accumulate!r}.")
