r"""Learning-rate schedules: pure functions of the step, counted from 0.

Every constructor returns a ``Schedule``, a function t -> rate. ``warm_up`` puts a rise before any of them.
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
    "exponential",
    "inverse_power",
    "inverse_time",
    "linear",
    "on_plateau",
    "one_cycle",
    "step_decay",
    "warm_up",
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
        if t <= top:
            return _cosine_between(start, peak, t / top)
        return _cosine_between(peak, end, min((t - top) / (steps - 1 - top), 1.0))

    return rate


def _cosine_between(a: float, b: float, fraction: float) -> float:
    return b + (a - b) / 2 * (1 + math.cos(math.pi * fraction))


def on_plateau(rate: float, losses: Sequence[float], *, patience: int = 10, factor: float = 0.1) -> float:
    """The rate after these losses: lowered each time more than ``patience`` of them brought no new minimum.

    The only schedule that looks at the run; still a pure function, of the loss history.
    """
    _positive("on_plateau", rate=rate, factor=factor)
    best, waited = np.inf, 0
    for loss in losses:
        if loss < best:
            best, waited = loss, 0
        else:
            waited += 1
        if waited > patience:
            rate, waited = rate * factor, 0
    return rate
