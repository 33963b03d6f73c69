r"""Learning-rate schedules: the factor :math:`\eta_t / \eta` as a function of how much of the training is done.

Every schedule is a pure function of the step, so a resumed fit needs no scheduler state.
"""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["SCHEDULES", "learning_rate_factor"]

EXPONENTIAL_END = 0.01  # what is left of the rate at the end of an exponential schedule
STEP_DROP = 0.1  # each drop of the step schedule leaves this much
STEP_COUNT = 3  # the step schedule has this many equally long levels

SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": lambda _: 1.0,
    "cosine": lambda t: 0.5 * (1.0 + math.cos(math.pi * t)),
    "step": lambda t: STEP_DROP ** min(math.floor(STEP_COUNT * t), STEP_COUNT - 1),
    "exponential": lambda t: EXPONENTIAL_END**t,
}


def learning_rate_factor(schedule: str, step: int, total: int, warmup: float = 0.0) -> float:
    r"""The factor for update number ``step`` (from 0) of ``total``.

    The first ``warmup`` share of the updates rises linearly to 1; the rest follows the schedule with
    :math:`t \in [0, 1)` counted from the end of the rise.

    >>> learning_rate_factor("cosine", 0, 100), learning_rate_factor("cosine", 50, 100)
    (1.0, 0.5)
    >>> learning_rate_factor("constant", 4, 100, warmup=0.1)
    0.5
    """
    if schedule not in SCHEDULES:
        raise ValueError(f"learning_rate_factor: schedule must be one of {', '.join(SCHEDULES)}; got {schedule!r}.")
    rise = round(warmup * total)
    if step < rise:
        return (step + 1) / rise
    return SCHEDULES[schedule]((step - rise) / max(1, total - rise))
