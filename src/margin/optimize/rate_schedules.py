r"""Learning-rate schedules as objects: declared, and laid over the steps of a run that is about to begin.

======================  ================================================================
``Constant``            the same rate at every step
``Cosine``              half a cosine down to ``floor``
``LinearDecay``         a straight line down to ``floor``
``StepDecay``           times ``factor`` after each ``every`` steps
``ExponentialDecay``    times ``factor`` at every step
``InverseTime``         :math:`\eta / (1 + t/\tau)`
``InversePower``        :math:`\eta / (1 + t)^p`
``OneCycle``            up to the rate and down far below where it began
``Cyclical``            a triangle again and again
``CosineRestarts``      half a cosine again and again
``WarmUp``              a straight rise before any of them
``Plateau``             lowered whenever the loss has stopped falling
======================  ================================================================

``Cosine(floor=0.1)`` is the same object for ``learning_rate`` of :func:`~margin.optimize.descend` and of every network.
What a loop evaluates is the function of :mod:`margin.optimize.schedules` that ``over`` gives.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY
from typing import ClassVar

from margin.core.domains import Instance, Integer, Number, Optional
from margin.core.parameters import parameter
from margin.core.parts import Part
from margin.optimize import schedules
from margin.optimize.schedules import Schedule

__all__ = [
    "SCHEDULES",
    "Constant",
    "Cosine",
    "CosineRestarts",
    "Cyclical",
    "ExponentialDecay",
    "InversePower",
    "InverseTime",
    "LinearDecay",
    "OneCycle",
    "Plateau",
    "RateSchedule",
    "StepDecay",
    "WarmUp",
    "schedule_over",
]

LEVELS = 3  # of a step decay that is not told how long each is
END = 0.01  # what an exponential decay leaves of the rate if it is not told its factor
CYCLES = 3  # of a run that is not told how long each is
FLOOR = Number(low=0, below=1)
STEPS = Optional(Integer(low=1))
SHORTEST_CYCLE = 10  # steps of one cycle: fewer have no step with the highest rate


class RateSchedule(Part, ABC):
    """The learning rate of every step, once it is laid over a run."""

    _open_ended: ClassVar[bool] = False

    rate: float | None = parameter(
        None, Optional(Number(above=0)), "Highest rate; None: learning_rate_init of a network, the usual one of a rule."
    )
    _: KW_ONLY

    def over(self, rate: float, steps: int) -> Schedule:
        """The rates of a run of ``steps``, the highest of them ``rate`` unless the schedule names its own."""
        self.check()
        return self._over(rate if self.rate is None else self.rate, steps)

    @abstractmethod
    def _over(self, rate: float, steps: int) -> Schedule: ...

    @property
    def plateau(self) -> Plateau | None:
        """What lowers the rate when the loss has stopped falling, if anything does."""
        return None

    @property
    def open_ended(self) -> bool:
        """Whether it does not matter when the run ends: a rate that falls towards its end must be let fall."""
        return self._open_ended


class Constant(RateSchedule):
    """The same rate at every step."""

    _open_ended: ClassVar[bool] = True

    def _over(self, rate: float, steps: int) -> Schedule:
        return schedules.constant(rate)


class Cosine(RateSchedule):
    """Half a cosine from the rate down to ``floor``; see :func:`~margin.optimize.schedules.cosine`.

    >>> [round(Cosine(floor=0.1).over(2.0, steps=4)(t), 3) for t in range(5)]
    [2.0, 1.736, 1.1, 0.464, 0.2]
    """

    _: KW_ONLY
    floor: float = parameter(0.0, FLOOR, "Fraction of the rate at the end.")
    steps: int | None = parameter(None, STEPS, "Steps of the fall; None: all of the run.")

    def _over(self, rate: float, steps: int) -> Schedule:
        return schedules.cosine(rate, steps=self.steps or steps, floor=self.floor * rate)


class LinearDecay(RateSchedule):
    """A straight line from the rate down to ``floor``; see :func:`~margin.optimize.schedules.linear`."""

    _: KW_ONLY
    floor: float = parameter(0.0, FLOOR, "Fraction of the rate at the end.")
    steps: int | None = parameter(None, STEPS, "Steps of the fall; None: all of the run.")

    def _over(self, rate: float, steps: int) -> Schedule:
        return schedules.linear(rate, steps=self.steps or steps, floor=self.floor * rate)


class StepDecay(RateSchedule):
    """Levels, each ``factor`` times the last; see :func:`~margin.optimize.schedules.step_decay`."""

    _: KW_ONLY
    factor: float = parameter(0.1, Number(above=0, high=1), "What a drop leaves of the rate.")
    every: int | None = parameter(None, STEPS, "Steps of each level; None: a third of the run.")

    def _over(self, rate: float, steps: int) -> Schedule:
        return schedules.step_decay(rate, every=self.every or math.ceil(steps / LEVELS), factor=self.factor)


class ExponentialDecay(RateSchedule):
    """Each rate ``factor`` times the last; see :func:`~margin.optimize.schedules.exponential`."""

    _: KW_ONLY
    factor: float | None = parameter(
        None, Optional(Number(above=0, high=1)), "Ratio of two rates in a row; None: 1 % is left at the end of the run."
    )

    def _over(self, rate: float, steps: int) -> Schedule:
        return schedules.exponential(rate, factor=self.factor or END ** (1 / steps))


class InverseTime(RateSchedule):
    """The rate over 1 + t / ``half_life``; see :func:`~margin.optimize.schedules.inverse_time`."""

    _open_ended: ClassVar[bool] = True

    _: KW_ONLY
    half_life: float = parameter(1000.0, Number(above=0), "Steps after which half of the rate is left.")

    def _over(self, rate: float, steps: int) -> Schedule:
        return schedules.inverse_time(rate, half_life=self.half_life)


class InversePower(RateSchedule):
    """The rate over (1 + t) to the ``power``; see :func:`~margin.optimize.schedules.inverse_power`."""

    _open_ended: ClassVar[bool] = True

    _: KW_ONLY
    power: float = parameter(0.5, Number(low=0, high=10), "Exponent of the number of steps.")

    def _over(self, rate: float, steps: int) -> Schedule:
        return schedules.inverse_power(rate, power=self.power)


class OneCycle(RateSchedule):
    """A cosine up to the rate, and one down far below its start; see :func:`~margin.optimize.schedules.one_cycle`."""

    _: KW_ONLY
    rise: float = parameter(0.3, Number(above=0, below=1), "Fraction of the steps in which the rate rises.")
    start_factor: float = parameter(25.0, Number(above=0), "The rate over the first one.")
    end_factor: float = parameter(1e4, Number(above=0), "The first rate over the last one.")

    def _over(self, rate: float, steps: int) -> Schedule:
        return schedules.one_cycle(
            rate, steps=max(steps, SHORTEST_CYCLE), rise=self.rise, start_factor=self.start_factor,
            end_factor=self.end_factor,
        )  # fmt: skip


class Cyclical(RateSchedule):
    """Triangles between ``floor`` and the rate; see :func:`~margin.optimize.schedules.cyclical`."""

    _: KW_ONLY
    floor: float = parameter(0.1, Number(above=0, below=1), "Fraction of the rate where a triangle begins and ends.")
    period: int | None = parameter(None, STEPS, "Steps of a triangle; None: a third of the run.")

    def _over(self, rate: float, steps: int) -> Schedule:
        return schedules.cyclical(rate, period=self.period or math.ceil(steps / CYCLES), floor=self.floor * rate)


class CosineRestarts(RateSchedule):
    """Half a cosine again and again; see :func:`~margin.optimize.schedules.cosine_restarts`."""

    _: KW_ONLY
    floor: float = parameter(0.0, FLOOR, "Fraction of the rate at the end of each fall.")
    period: int | None = parameter(None, STEPS, "Steps of the first fall; None: a third of the run.")
    growth: float = parameter(1.0, Number(low=1, high=100), "How many times as long each fall is as the one before.")

    def _over(self, rate: float, steps: int) -> Schedule:
        period = self.period or math.ceil(steps / CYCLES)
        return schedules.cosine_restarts(rate, period=period, growth=self.growth, floor=self.floor * rate)


class Plateau(RateSchedule):
    """The rate until the loss has stopped falling, then ``factor`` of it, and so on; see
    :func:`~margin.optimize.schedules.on_plateau`.
    """

    _open_ended: ClassVar[bool] = True

    _: KW_ONLY
    factor: float = parameter(0.2, Number(above=0, below=1), "What a drop leaves of the rate.")
    patience: int | None = parameter(
        None, STEPS, "Losses without a gain before a drop; None: n_iter_no_change of a network, else 10."
    )
    smallest: float = parameter(1e-3, Number(low=0, below=1), "Fraction of the rate below which it is not lowered.")

    def _over(self, rate: float, steps: int) -> Schedule:
        return schedules.constant(rate)

    @property
    def plateau(self) -> Plateau:
        return self

    def lower(self, fraction: float) -> float | None:
        """The fraction of the rate that comes after ``fraction``; None: there is nothing left to try."""
        lower = schedules.lower(fraction, self.factor)
        return lower if lower >= self.smallest else None


class WarmUp(RateSchedule):
    """A straight rise, then another schedule; see :func:`~margin.optimize.schedules.warm_up`.

    >>> [round(WarmUp(schedule=LinearDecay(), fraction=0.5).over(1.0, steps=6)(t), 2) for t in range(6)]
    [0.25, 0.5, 0.75, 1.0, 0.67, 0.33]
    """

    _: KW_ONLY
    schedule: RateSchedule | None = parameter(
        None,
        Optional(Instance(RateSchedule, "a schedule of margin.optimize")),
        "What follows the rise; None: Cosine().",
    )
    fraction: float = parameter(0.05, Number(low=0, below=1), "Fraction of all steps in which the rate rises.")
    steps: int | None = parameter(None, STEPS, "Number of steps in which the rate rises; None: as fraction says.")

    def _over(self, rate: float, steps: int) -> Schedule:
        rise = round(self.fraction * steps) if self.steps is None else self.steps
        following = self._following.over(rate, max(1, steps - rise))
        return schedules.warm_up(following, steps=rise) if rise else following

    @property
    def plateau(self) -> Plateau | None:
        return self._following.plateau

    @property
    def open_ended(self) -> bool:
        return self._following.open_ended

    @property
    def _following(self) -> RateSchedule:
        return Cosine() if self.schedule is None else self.schedule


# By the names that ``learning_rate`` of a network takes.
SCHEDULES: dict[str, RateSchedule] = {
    "constant": Constant(),
    "adaptive": Plateau(),
    "cosine": Cosine(),
    "linear": LinearDecay(),
    "step": StepDecay(),
    "exponential": ExponentialDecay(),
    "one_cycle": OneCycle(),
    "inverse_time": InverseTime(),
    "inverse_power": InversePower(),
    "cyclical": Cyclical(),
    "cosine_restarts": CosineRestarts(),
}


def schedule_over(learning_rate: float | Schedule | RateSchedule, usual_rate: float, steps: int) -> Schedule:
    """What ``learning_rate`` means for a run of ``steps``: a number, a function of the step, or a schedule's object.

    >>> schedule_over(Cosine(), 0.5, steps=10)(5), schedule_over(0.3, 0.5, steps=10)(5)
    (0.25, 0.3)
    """
    if isinstance(learning_rate, RateSchedule):
        return learning_rate.over(usual_rate, steps)
    return schedules.as_schedule(learning_rate)
