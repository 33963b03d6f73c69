"""Learning-rate schedules by name: the functions of :mod:`margin.optimize.schedules` over a known number of steps."""

from __future__ import annotations

import math
from collections.abc import Callable

from margin.optimize.schedules import (
    Schedule,
    constant,
    cosine,
    exponential,
    inverse_power,
    linear,
    one_cycle,
    step_decay,
    warm_up,
)

__all__ = ["SCHEDULES", "rate_schedule"]

EXPONENTIAL_END = 0.01  # what is left of the rate at the end of an exponential schedule
STEP_DROP = 0.1  # each drop of the step schedule leaves this much
STEP_COUNT = 3  # the step schedule has this many equally long levels

# Of the full rate and the number of steps. "adaptive" is constant until the loss stops falling, which is the
# business of the training.
SCHEDULES: dict[str, Callable[[float, int], Schedule]] = {
    "constant": lambda rate, _: constant(rate),
    "adaptive": lambda rate, _: constant(rate),
    "cosine": lambda rate, steps: cosine(rate, steps=steps),
    "linear": lambda rate, steps: linear(rate, steps=steps),
    "step": lambda rate, steps: step_decay(rate, every=math.ceil(steps / STEP_COUNT), factor=STEP_DROP),
    "exponential": lambda rate, steps: exponential(rate, factor=EXPONENTIAL_END ** (1 / steps)),
    "one_cycle": lambda rate, steps: one_cycle(rate, steps=max(steps, 10)),
}


def rate_schedule(
    name: str,
    rate: float,
    *,
    steps: int,
    warmup: float = 0.0,
    steps_per_epoch: int = 1,
    n_rows: int = 1,
    power: float = 0.5,
) -> Schedule:
    r"""The learning rate of every update, counted from 0, of ``steps`` in all.

    The first ``warmup`` fraction of the updates rises linearly to the full rate; the rest follows the schedule.
    "invscaling" is :math:`\eta / (1 + t)^p` with t the rows seen in finished epochs and p = ``power``.

    >>> [rate_schedule("cosine", 1.0, steps=100)(t) for t in (0, 50)]
    [1.0, 0.5]
    """
    rise = round(warmup * steps)
    schedule: Schedule
    if name == "invscaling":
        by_rows = inverse_power(rate, power=power)
        schedule = lambda t: by_rows(t // steps_per_epoch * n_rows)  # noqa: E731
    elif name in SCHEDULES:
        schedule = SCHEDULES[name](rate, max(1, steps - rise))
    else:
        raise ValueError(f"rate_schedule: name must be invscaling or one of {', '.join(SCHEDULES)}; got {name!r}.")
    return warm_up(schedule, steps=rise) if rise else schedule
