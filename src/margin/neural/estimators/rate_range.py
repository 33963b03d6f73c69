r"""Which learning rate to begin with: one short training whose rate grows from step to step (Smith 2017).

The rate of step t is :math:`\eta_t = \eta_0 (\eta_1 / \eta_0)^{t/(T-1)}`. Too small rates leave the loss where it is,
good ones let it fall, too large ones throw it up. The suggestion is the rate at which the smoothed loss falls most per
factor of the rate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Integer, Number
from margin.core.parameters import parameter
from margin.core.records import Record
from margin.neural.estimators.base import NeuralEstimator
from margin.optimize.rate_schedules import RateSchedule
from margin.optimize.schedules import Schedule

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["GrowingRate", "RateRange", "find_rate"]

MEMORY = 0.9  # weight of the past in the smoothed loss: about ten steps
TOO_HIGH = 4.0  # so many deviations of the first losses above them, a loss is no chance any more
ENDS = 5  # steps at both ends in which the smoothed loss says nothing yet or nothing more


class GrowingRate(RateSchedule):
    """From the rate up to ``high``, each step times the same factor, over ``steps`` however long the run is planned."""

    _open_ended: ClassVar[bool] = True

    _: KW_ONLY
    high: float = parameter(1.0, Number(above=0), "Rate of the last step.")
    steps: int = parameter(100, Integer(low=2), "Steps of the growth.")

    def _over(self, rate: float, steps: int) -> Schedule:
        growth = math.log(self.high / rate) / (self.steps - 1)
        return lambda t: rate * math.exp(growth * t)


@dataclass(frozen=True, eq=False)
class RateRange:
    """The losses of a training whose rate grew; ``suggestion`` is the rate to begin with.

    ``rates`` and ``losses`` have a number for every step that was made, ``smoothed`` the losses without their noise.
    """

    rates: np.ndarray
    losses: np.ndarray
    smoothed: np.ndarray
    suggestion: float

    def plot(self) -> Figure:
        """The loss over the rate, with the suggestion."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.4, 4.0), layout="constrained")
        axes = figure.subplots()
        axes.semilogx(self.rates, self.losses, color="0.75", linewidth=1)
        axes.semilogx(self.rates, self.smoothed, color="C0")
        axes.axvline(self.suggestion, color="C3", linestyle="--", linewidth=1)
        axes.annotate(
            f"{self.suggestion:.2g}", (self.suggestion, 1.0), xycoords=("data", "axes fraction"),
            xytext=(4, -12), textcoords="offset points", color="C3",
        )  # fmt: skip
        first, low = float(self.smoothed[0]), float(self.smoothed.min())
        axes.set(xlabel="learning rate", ylabel="training loss", ylim=(low - 0.1 * (first - low), None))
        axes.set_ylim(top=first + 0.5 * (first - low) if first > low else None)
        return figure


def find_rate(
    model: Any, X: MatrixLike, y: ArrayLike | None = None, *, low: float = 1e-6, high: float = 1.0, steps: int = 100
) -> RateRange:
    """Train a copy of ``model`` for at most ``steps`` updates at rates from ``low`` to ``high``.

    Parameters
    ----------
    model : a network of Margin, such as ``MLPClassifier`` or ``CNNClassifier``
    X, y : what its ``fit`` takes
    low, high : the first and the last rate
    steps : most updates; fewer are made where the loss has risen far above its lowest value

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from margin import MLPClassifier, find_rate
    >>> X, y = load_digits(return_X_y=True)
    >>> found = find_rate(MLPClassifier(random_state=0), X, y)
    >>> 1e-4 < found.suggestion < 1e-1
    True
    >>> model = MLPClassifier(learning_rate_init=found.suggestion, random_state=0)
    """
    _check(model, low, high, steps)
    rates: list[float] = []
    losses: list[float] = []
    for rate, loss in _steps(_growing(model, low, high, steps), X, y):
        if not math.isfinite(loss):
            break
        rates.append(rate)
        losses.append(loss)
        if len(rates) >= steps or _has_risen(np.array(losses)):
            break
    if len(rates) < 2 * ENDS:
        raise ValueError(f"find_rate: low must be a rate at which training stays finite; got {low!r}.")
    smoothed = smooth(np.array(losses))
    return RateRange(np.array(rates), np.array(losses), smoothed, _suggest(np.array(rates), smoothed))


def _has_risen(losses: np.ndarray) -> bool:
    """Whether the smoothed loss is above the first losses by more than it fell, and by more than they differ."""
    if len(losses) < 2 * ENDS:
        return False
    smoothed, start = smooth(losses), losses[:ENDS]
    fallen = float(start.mean() - smoothed.min())
    return bool(smoothed[-1] - start.mean() > max(fallen, TOO_HIGH * float(start.std())))


def smooth(losses: np.ndarray) -> np.ndarray:
    """A moving average with exponential weights, each divided by the weight it has gathered.

    >>> smooth(np.array([2.0, 2.0, 2.0])).round(12).tolist()
    [2.0, 2.0, 2.0]
    """
    mean, out = 0.0, np.empty(len(losses))
    for t, loss in enumerate(losses):
        mean = MEMORY * mean + (1 - MEMORY) * loss
        out[t] = mean / (1 - MEMORY ** (t + 1))
    return out


def _check(model: Any, low: float, high: float, steps: int) -> None:
    if not isinstance(model, NeuralEstimator):
        raise TypeError(f"find_rate: model must be a network that learns by updates; got {type(model).__name__}.")
    if getattr(model, "solver", None) == "lbfgs":
        raise ValueError("find_rate: model has the solver 'lbfgs', which finds its own steps; got no rate to look for.")
    if not 0 < low < high:
        raise ValueError(f"find_rate: low must be above 0 and below high; got {low!r} and {high!r}.")
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 2 * ENDS + 2:
        raise ValueError(f"find_rate: steps must be an integer of at least {2 * ENDS + 2}; got {steps!r}.")


def _growing(model: NeuralEstimator, low: float, high: float, steps: int) -> Any:
    """A copy whose rate grows over ``steps`` updates, says every update, and has no reason to end early.

    How many updates an epoch has is known to the training alone, so the copy may have one epoch per update.
    """
    from sklearn.base import clone

    copy = clone(model)
    return copy.set_params(
        learning_rate=GrowingRate(high=high, steps=steps),
        learning_rate_init=low,
        warmup=0.0,
        max_iter=steps,
        record_steps=1,
        early_stopping=False,
        warm_start=False,
        n_iter_no_change=steps + 1,
    )


def _steps(model: Any, X: Any, y: Any) -> Iterator[tuple[float, float]]:
    """Rate and loss of every update. A record has the mean over the epoch so far, of which the last term is taken.

    (The last batch of an epoch may be smaller; its loss is then mixed with the mean before it.)
    """
    records: Iterator[Record] = model.iterate(X) if y is None else model.iterate(X, y)
    epoch, total, count = None, 0.0, 0
    try:
        for record in records:
            if record["epoch"] != epoch:
                epoch, total, count = record["epoch"], 0.0, 0
            mean = float(record["train_loss"])
            loss = mean * (count + 1) - total
            total, count = mean * (count + 1), count + 1
            yield float(record["learning_rate"]), loss
    except FloatingPointError:
        return  # the rate was too large: the search is over


def _suggest(rates: np.ndarray, smoothed: np.ndarray) -> float:
    """Where the smoothed loss falls most per factor of the rate, before its minimum."""
    slope = np.gradient(smoothed, np.log(rates))
    first = min(ENDS, len(rates) - 1)
    last = max(first + 1, min(int(np.argmin(smoothed)) + 1, len(rates) - 1))
    return float(rates[first + int(np.argmin(slope[first:last]))])
