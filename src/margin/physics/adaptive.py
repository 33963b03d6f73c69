r"""Steps whose size follows the error they make.

Two methods share their slopes; the difference of their results estimates the error of a step, which is accepted when

.. math:: \sqrt{\frac1d \sum_i \Bigl(\frac{e_i}{atol + rtol \max(|y_i|, |y_i^{new}|)}\Bigr)^2} \le 1
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from margin.physics.solution import Event, ODESolution
from margin.physics.steps import Slope, explicit_step
from margin.physics.tableaus import EXPLICIT

__all__ = ["dormand_prince", "error_norm"]

SAFETY, SHRINK, GROW = 0.9, 0.2, 10.0  # the next step aims below the tolerance and changes by these factors at most
# Weights of the fifth order minus those of the fourth.
ERROR = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
# Dense output of order 4 (Hairer, Norsett, Wanner, Solving ODEs I, II.6).
DENSE = np.array(
    [
        -12715105075 / 11282082432,
        0,
        87487479700 / 32700410799,
        -10690763975 / 1880347072,
        701980252875 / 199316789632,
        -1453857185 / 822651844,
        69997945 / 29380423,
    ]
)

OneStep = Callable[[float, np.ndarray, float, Any], tuple[np.ndarray, np.ndarray, Callable[..., np.ndarray], Any]]


def dormand_prince(
    f: Slope,
    y0: Any,
    span: tuple[float, float],
    *,
    rtol: float = 1e-6,
    atol: float = 1e-9,
    first_step: float | None = None,
    events: Sequence[Event] = (),
    max_steps: int = 100_000,
) -> ODESolution:
    """Dormand-Prince 5(4) from ``span[0]`` to ``span[1]``, with a curve of order 4 between its steps, and events.

    >>> solution = dormand_prince(lambda t, y: -y, [1.0], (0.0, 1.0))
    >>> bool(abs(solution(0.3)[0] - np.exp(-0.3)) < 1e-6)
    True
    """
    counted = CountedSlope(f)

    def step(t: float, y: np.ndarray, h: float, slope: Any) -> tuple[Any, ...]:
        new, slopes = explicit_step(counted, t, y, h, EXPLICIT["dopri5"], slope)
        k = np.stack(slopes)
        return new, h * ERROR @ k, _dense(y, new, h, k), slopes[-1]

    y = initial_state("dormand_prince", y0)
    slope = counted(span[0], y)
    h = first_step or first_guess(counted, span, y, slope, 5, rtol, atol)
    return follow(step, counted, y, span, slope, abs(h), 5, rtol, atol, events, max_steps)


def _dense(y: np.ndarray, new: np.ndarray, h: float, k: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    rise = new - y
    start = h * k[0] - rise
    end = rise - h * k[-1] - start
    bend = h * DENSE @ k

    def piece(fraction: np.ndarray) -> np.ndarray:
        s = np.asarray(fraction)[:, None]
        return y + s * (rise + (1 - s) * (start + s * (end + (1 - s) * bend)))

    return piece


class CountedSlope:
    """The slope function, how often it was called, and a check of what it gives."""

    def __init__(self, f: Slope):
        self.f, self.calls = f, 0

    def __call__(self, t: float, y: np.ndarray) -> np.ndarray:
        self.calls += 1
        slope = np.asarray(self.f(t, y), dtype=np.float64)
        if slope.shape != y.shape:
            raise ValueError(f"solver: f must give as many slopes as states, {y.shape}; got {slope.shape}.")
        return slope


def initial_state(name: str, y0: Any) -> np.ndarray:
    y = np.atleast_1d(np.array(y0, dtype=np.float64))
    if y.ndim != 1 or not np.isfinite(y).all():
        raise ValueError(f"{name}: y0 must be a number or a vector of finite numbers; got shape {y.shape}.")
    return y


def error_norm(error: np.ndarray, y: np.ndarray, new: np.ndarray, rtol: float, atol: float) -> float:
    """The root mean square of the error in units of what is tolerated; a step passes up to 1."""
    scale = atol + rtol * np.maximum(np.abs(y), np.abs(new))
    return float(np.sqrt(np.mean((error / scale) ** 2)))


def first_guess(
    f: Slope, span: tuple[float, float], y: np.ndarray, slope: np.ndarray, order: int, rtol: float, atol: float
) -> float:
    """A first step whose second derivative, seen by one Euler step, makes an error of about the tolerance."""
    length = abs(span[1] - span[0])
    sign = 1.0 if span[1] >= span[0] else -1.0
    size, speed = (error_norm(v, y, y, rtol, atol) for v in (y, slope))
    h = 1e-6 if size < 1e-5 or speed < 1e-5 else 0.01 * size / speed
    h = min(h, length)
    if h == 0:
        return 0.0
    change = error_norm(f(span[0] + sign * h, y + sign * h * slope) - slope, y, y, rtol, atol) / h
    fastest = max(speed, change)
    better = max(1e-6, h * 1e-3) if fastest <= 1e-15 else (0.01 / fastest) ** (1 / order)
    return min(100 * h, better, length)


def follow(
    step: OneStep,
    counted: Any,
    y: np.ndarray,
    span: tuple[float, float],
    carried: Any,
    h: float,
    order: int,
    rtol: float,
    atol: float,
    events: Sequence[Event],
    max_steps: int,
) -> ODESolution:
    """Take steps until the end, each as long as its error allows.

    ``step`` gives the new state, its error, the curve to it and what the next step is handed.
    """
    t, end = float(span[0]), float(span[1])
    sign = 1.0 if end >= t else -1.0
    times, states, rejected = [t], [y], 0
    pieces: list[Any] = []
    hits_of_event: list[list[tuple[float, np.ndarray]]] = [[] for _ in events]
    ended = False
    while sign * (end - t) > 0 and not ended:
        if len(pieces) + rejected >= max_steps or h < 16 * np.finfo(float).eps * max(abs(t), abs(end)):
            raise RuntimeError(f"solver: no way on from t = {t:g} after {len(pieces)} steps; the problem may be stiff.")
        h = min(h, abs(end - t))
        last = h == abs(end - t)
        new, error, piece, carry = step(t, y, sign * h, carried)
        size = error_norm(error, y, new, rtol, atol)
        if not size <= 1:
            rejected += 1
            h *= max(SHRINK, SAFETY * size ** (-1 / order)) if np.isfinite(size) else SHRINK
            continue
        after = end if last else t + sign * h
        after, new, ended = _events(events, hits_of_event, t, y, after, new, piece)
        pieces.append(piece if not ended else _shorten(piece, (after - t) / (sign * h)))
        t, y, carried = after, new, carry
        times.append(t)
        states.append(y)
        h *= GROW if size == 0 else min(GROW, SAFETY * size ** (-1 / order))
    return ODESolution(
        np.array(times),
        np.stack(states),
        pieces,
        counted.calls,
        rejected,
        ended,
        [np.array([time for time, _ in hits]) for hits in hits_of_event],
        [np.array([state for _, state in hits]).reshape(len(hits), len(y)) for hits in hits_of_event],
    )


def _shorten(piece: Callable[[np.ndarray], np.ndarray], part: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda fraction: piece(np.asarray(fraction) * part)


def _events(
    events: Sequence[Event],
    hits_of_event: list[list[tuple[float, np.ndarray]]],
    t: float,
    y: np.ndarray,
    after: float,
    new: np.ndarray,
    piece: Callable[[np.ndarray], np.ndarray],
) -> tuple[float, np.ndarray, bool]:
    """Note every crossing of this step up to the first that ends the solution; where the step then ends."""
    hits = []
    for number, event in enumerate(events):
        if event.crosses(float(event.g(t, y)), float(event.g(after, new))):
            hits.append((_root(event, t, after, piece), number))
    for fraction, number in sorted(hits):
        time, state = t + fraction * (after - t), piece(np.array([fraction]))[0]
        hits_of_event[number].append((time, state))
        if events[number].terminal:
            return time, state, True
    return after, new, False


def _root(event: Event, t: float, after: float, piece: Callable[[np.ndarray], np.ndarray]) -> float:
    """The fraction of the step at which g vanishes on the curve, by bisection to rounding."""
    low, high = 0.0, 1.0
    rising = float(event.g(t, piece(np.array([0.0]))[0])) < 0
    while high - low > 4 * np.finfo(float).eps:
        middle = 0.5 * (low + high)
        value = float(event.g(t + middle * (after - t), piece(np.array([middle]))[0]))
        if (value < 0) == rising and value != 0:
            low = middle
        else:
            high = middle
    return high
