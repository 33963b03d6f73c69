"""The learning rates of a training, from the name or the object of a schedule."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import ClassVar

from margin.core.domains import Integer, Number
from margin.core.parameters import parameter
from margin.optimize.rate_schedules import SCHEDULES, RateSchedule, WarmUp
from margin.optimize.schedules import Schedule, inverse_power

__all__ = ["InverseScaling", "named_schedule", "rate_schedule"]


class InverseScaling(RateSchedule):
    r""":math:`\eta / (1 + t)^p` with t the rows seen in finished epochs: scikit-learn's "invscaling"."""

    _open_ended: ClassVar[bool] = True

    _: KW_ONLY
    power: float = parameter(0.5, Number(low=0), "Exponent of the rows seen.")
    steps_per_epoch: int = parameter(1, Integer(low=1), "Updates of an epoch.")
    n_rows: int = parameter(1, Integer(low=1), "Rows of an epoch.")

    def _over(self, rate: float, steps: int) -> Schedule:
        by_rows = inverse_power(rate, power=self.power)
        return lambda t: by_rows(t // self.steps_per_epoch * self.n_rows)


def named_schedule(schedule: str | RateSchedule) -> RateSchedule:
    """The object that goes by a name; an object is itself."""
    if isinstance(schedule, RateSchedule):
        return schedule
    if schedule == "invscaling":
        return InverseScaling()
    if schedule not in SCHEDULES:
        raise ValueError(f"rate_schedule: name must be invscaling or one of {', '.join(SCHEDULES)}; got {schedule!r}.")
    return SCHEDULES[schedule]


def rate_schedule(
    schedule: str | RateSchedule,
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
    following = named_schedule(schedule)
    if isinstance(following, InverseScaling):
        following = InverseScaling(power=power, steps_per_epoch=steps_per_epoch, n_rows=n_rows)
    return WarmUp(schedule=following, fraction=warmup).over(rate, steps)
