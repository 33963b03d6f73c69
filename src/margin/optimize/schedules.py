r"""Learning-rate schedules: pure functions of the step, counted from 0.

Every constructor returns a ``Schedule``, a function t -> rate. ``warm_up`` puts a rise before any of them. The objects
of :mod:`margin.optimize.rate_schedules` lay them over the steps of a training.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

__all__ = [
    "Schedule",
    "as_schedule",
    "constant",
    "cosine",
    "cosine_restarts",
    "cyclical",
    "exponential",
    "inverse_power",
    "inverse_time",
    "linear",
    "on_plateau",
    "one_cycle",
    "step_decay",
    "warm_up",
    "watch_loss",
]

Schedule = Callable[[int], float]


def _positive(name: str, **numbers: float) -> None:
    for argument, value in numbers.items():
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name}: {argument} must be a positive finite number; got {value!r}.")


def as_schedule(rate: float | Schedule) -> Schedule:
    """A number is the schedule that never changes."""
    if callable(rate):
        return rate
    return constant(rate)


def constant(rate: float) -> Schedule:
    """The same rate at every step."""
    try:
        _positive("constant", rate=rate)
    except TypeError:
        raise ValueError(f"constant: rate must be a positive finite number; got {rate!r}.") from None
    return lambda t: rate  # noqa: ARG005


def step_decay(rate: float, *, every: int, factor: float = 0.1) -> Schedule:
    r""":math:`\eta_t = \eta_0 f^{\lfloor t / k \rfloor}`: multiplied by ``factor`` after each ``every`` steps."""
    _positive("step_decay", rate=rate, every=every, factor=factor)
    return lambda t: rate * factor ** (t // every)


def exponential(rate: float, *, factor: float) -> Schedule:
    r""":math:`\eta_t = \eta_0 f^t`."""
    _positive("exponential", rate=rate, factor=factor)
    return lambda t: rate * factor**t


def inverse_time(rate: float, *, half_life: float) -> Schedule:
    r""":math:`\eta_t = \eta_0 / (1 + t/\tau)`: sum diverges, sum of squares converges, as SGD theory asks."""
    _positive("inverse_time", rate=rate, half_life=half_life)
    return lambda t: rate / (1 + t / half_life)


def inverse_power(rate: float, *, power: float = 0.5) -> Schedule:
    r""":math:`\eta_t = \eta_0 / (1 + t)^p`."""
    _positive("inverse_power", rate=rate)
    return lambda t: rate / (1 + t) ** power


def linear(rate: float, *, steps: int, floor: float = 0.0) -> Schedule:
    """From ``rate`` straight down to ``floor`` after ``steps``, and there it stays."""
    _positive("linear", rate=rate, steps=steps)
    return lambda t: rate + (floor - rate) * min(t / steps, 1.0)


def cosine(rate: float, *, steps: int, floor: float = 0.0) -> Schedule:
    r""":math:`\eta_t = \eta_{min} + \tfrac12(\eta_0 - \eta_{min})(1 + \cos(\pi t / T))`, T = ``steps``, then the floor.

    >>> [round(cosine(1.0, steps=4)(t), 3) for t in range(6)]
    [1.0, 0.854, 0.5, 0.146, 0.0, 0.0]
    """
    _positive("cosine", rate=rate, steps=steps)
    return lambda t: floor + 0.5 * (rate - floor) * (1 + math.cos(math.pi * min(t / steps, 1.0)))


def cosine_restarts(rate: float, *, period: int, growth: float = 1.0, floor: float = 0.0) -> Schedule:
    r"""The cosine over ``period`` steps again and again, each time ``growth`` times as long (Loshchilov, Hutter, 2017).

    >>> [round(cosine_restarts(1.0, period=2, growth=2)(t), 3) for t in range(7)]
    [1.0, 0.5, 1.0, 0.854, 0.5, 0.146, 1.0]
    """
    _positive("cosine_restarts", rate=rate, period=period)
    if not (np.isfinite(growth) and growth >= 1):
        raise ValueError(f"cosine_restarts: growth must be a finite number at least 1; got {growth!r}.")

    def rate_at(t: int) -> float:
        within, length = float(t), float(period)
        if growth == 1:
            within %= length
        else:
            done = math.floor(math.log(t / period * (growth - 1) + 1, growth) + 1e-9)  # cycles that are over
            within, length = t - period * (growth**done - 1) / (growth - 1), period * growth**done
        return floor + 0.5 * (rate - floor) * (1 + math.cos(math.pi * within / length))

    return rate_at


def cyclical(rate: float, *, period: int, floor: float) -> Schedule:
    r"""A triangle: up from ``floor`` to ``rate`` in half a ``period``, and down again (Smith, 2017).

    >>> [cyclical(1.0, period=4, floor=0.5)(t) for t in range(5)]
    [0.5, 0.75, 1.0, 0.75, 0.5]
    """
    _positive("cyclical", rate=rate, period=period)
    return lambda t: floor + (rate - floor) * (1 - abs(1 - 2 * (t % period) / period))


def warm_up(schedule: Schedule, *, steps: int) -> Schedule:
    r"""A straight rise over ``steps`` to the schedule's first rate, then the schedule from its beginning.

    Step t of the rise has rate :math:`\eta_0 (t + 1)/(k + 1)`, so that no step is lost at rate zero.

    >>> [round(warm_up(linear(1.0, steps=2), steps=3)(t), 2) for t in range(6)]
    [0.25, 0.5, 0.75, 1.0, 0.5, 0.0]
    """
    _positive("warm_up", steps=steps)
    return lambda t: schedule(0) * (t + 1) / (steps + 1) if t < steps else schedule(t - steps)


def one_cycle(
    peak: float, *, steps: int, rise: float = 0.3, start_factor: float = 25.0, end_factor: float = 1e4
) -> Schedule:
    """Cosine rise from peak/start_factor over the first fraction ``rise``, cosine fall to start/end_factor."""
    _positive("one_cycle", peak=peak, steps=steps, start_factor=start_factor, end_factor=end_factor)
    if not 0 < rise < 1:
        raise ValueError(f"one_cycle: rise must lie strictly between 0 and 1; got {rise!r}.")
    start = peak / start_factor
    end = start / end_factor
    top = rise * steps - 1  # the index of the step with the peak rate; the last step has index steps - 1

    def rate(t: int) -> float:
        if t <= top and top > 0:  # a short run may begin at its peak
            return _cosine_between(start, peak, t / top)
        return _cosine_between(peak, end, min((t - top) / (steps - 1 - top), 1.0))

    return rate


def _cosine_between(a: float, b: float, fraction: float) -> float:
    return b + (a - b) / 2 * (1 + math.cos(math.pi * fraction))


def on_plateau(
    rate: float, losses: Sequence[float], *, patience: float = 10, factor: float = 0.1, tol: float = 0.0
) -> float:
    """The rate after these losses: lowered each time more than ``patience`` of them brought no gain above ``tol``.

    The only schedule that looks at the run; still a pure function, of the loss history.
    """
    _positive("on_plateau", rate=rate, factor=factor)
    best, waited = math.inf, 0
    for loss in losses:
        best, waited = watch_loss(best, waited, loss, tol=tol)
        if waited > patience:
            rate, waited = lower(rate, factor), 0
    return rate


def watch_loss(best: float, waited: int, loss: float, *, tol: float = 0.0) -> tuple[float, int]:
    """The lowest loss with this one, and how many in a row brought no gain above ``tol``.

    A smaller gain is remembered, but it is none: many of them are slow progress.

    >>> watch_loss(1.0, 3, 0.95, tol=0.1), watch_loss(1.0, 3, 0.5, tol=0.1)
    ((0.95, 4), (0.5, 0))
    """
    gain = best - loss
    return (loss if gain > 0 else best), (0 if gain > tol else waited + 1)


def lower(rate: float, factor: float) -> float:
    """``rate`` times ``factor``, by a division: 5 and 10 are exact, a fifth and a tenth are not."""
    return rate / (1 / factor)
