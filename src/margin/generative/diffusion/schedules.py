r"""How much noise every step of a diffusion adds.

.. math:: \alpha_t = 1 - \beta_t, \qquad \bar\alpha_t = \prod_{i \le t} \alpha_i, \qquad t = 1, \dots, T
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

__all__ = ["NOISE_SCHEDULES", "NoiseSchedule", "cosine_betas", "linear_betas", "noise_schedule", "straight_betas"]

FIRST_BETA, LAST_BETA, USUAL_STEPS = 1e-4, 0.02, 1000
COSINE_OFFSET = 0.008  # so that the first steps are not vanishingly small
LARGEST_BETA = 0.999  # the cosine would end in a step that forgets everything at once


def linear_betas(n_steps: int, first: float | None = None, last: float | None = None) -> np.ndarray:
    r"""Equally spaced :math:`\beta_t`; by default from 1e-4 to 0.02 at 1000 steps, and as much noise at fewer.

    >>> float(np.prod(1 - linear_betas(1000)).round(8))
    4.036e-05
    """
    faster = USUAL_STEPS / n_steps
    low = min(FIRST_BETA * faster, 0.5) if first is None else first
    high = min(LAST_BETA * faster, LARGEST_BETA) if last is None else last
    return np.linspace(low, high, n_steps)


def cosine_betas(n_steps: int, offset: float = COSINE_OFFSET) -> np.ndarray:
    r""":math:`\bar\alpha_t = f(t)/f(0)` with :math:`f(t) = \cos^2\bigl(\frac{t/T + s}{1 + s}\frac\pi2\bigr)`."""
    grid = (np.arange(n_steps + 1) / n_steps + offset) / (1 + offset) * math.pi / 2
    alpha_bars = np.cos(grid) ** 2
    return np.minimum(1 - alpha_bars[1:] / alpha_bars[:-1], LARGEST_BETA)


def straight_betas(n_steps: int) -> np.ndarray:
    r"""Even steps :math:`u = 1 - t/T` of the straight line :math:`u\,x_0 + (1 - u)\,\epsilon` of flow matching.

    Divided by :math:`\sqrt{u^2 + (1 - u)^2}` it keeps a variance of 1, so
    :math:`\bar\alpha_t = u^2 / (u^2 + (1 - u)^2)`.
    """
    u = 1 - np.arange(n_steps + 1) / n_steps
    alpha_bars = u**2 / (u**2 + (1 - u) ** 2)
    return np.minimum(1 - alpha_bars[1:] / alpha_bars[:-1], LARGEST_BETA)


NOISE_SCHEDULES: dict[str, Callable[[int], np.ndarray]] = {
    "linear": linear_betas,
    "cosine": cosine_betas,
    "straight": straight_betas,
}


class NoiseSchedule:
    r"""The variances of a diffusion with :math:`T` steps, as float64 tensors that are indexed by :math:`t`.

    Index 0 is clean data: :math:`\beta_0 = 0` and :math:`\alpha_0 = \bar\alpha_0 = 1`.

    >>> schedule = NoiseSchedule([0.1, 0.2])
    >>> schedule.n_steps, schedule.alpha_bars.tolist()
    (2, [1.0, 0.9, 0.7200000000000001])
    """

    def __init__(self, betas: Any):
        betas = np.asarray(betas, dtype=np.float64)
        if betas.ndim != 1 or not len(betas):
            raise ValueError(f"NoiseSchedule: betas must be a list of at least one number; got shape {betas.shape}.")
        if not (np.all(betas > 0) and np.all(betas < 1)):
            raise ValueError(
                "NoiseSchedule: betas must lie strictly between 0 and 1, or the reverse step divides by zero; got "
                f"{betas.min():g} to {betas.max():g}."
            )
        self.n_steps = len(betas)
        self.betas = torch.from_numpy(np.concatenate([[0.0], betas]))
        self.alphas = 1 - self.betas
        self.alpha_bars = torch.cumprod(self.alphas, dim=0)

    def at(self, values: Tensor, t: Tensor | int, like: Tensor) -> Tensor:
        """Entries of ``values`` for the steps ``t``, shaped to multiply the rows of ``like``."""
        chosen = values.to(like)[t]
        return chosen.reshape(-1, *[1] * (like.ndim - 1)) if chosen.ndim else chosen

    def signal(self, t: Tensor | int, like: Tensor) -> Tensor:
        r""":math:`\sqrt{\bar\alpha_t}`, the factor of the clean data in :math:`x_t`."""
        return self.at(self.alpha_bars.sqrt(), t, like)

    def noise(self, t: Tensor | int, like: Tensor) -> Tensor:
        r""":math:`\sqrt{1 - \bar\alpha_t}`, the factor of the noise in :math:`x_t`."""
        return self.at((1 - self.alpha_bars).sqrt(), t, like)


def noise_schedule(name: str, n_steps: int) -> NoiseSchedule:
    """The schedule called ``name`` with so many steps."""
    if name not in NOISE_SCHEDULES:
        raise ValueError(f"noise_schedule: name must be one of {', '.join(NOISE_SCHEDULES)}; got {name!r}.")
    return NoiseSchedule(NOISE_SCHEDULES[name](n_steps))
