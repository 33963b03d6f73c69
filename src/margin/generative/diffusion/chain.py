r"""The fixed chain that adds noise, and what it says about the step before when the clean data are known.

.. math:: q(x_t | x_{t-1}) = N(\sqrt{\alpha_t}\,x_{t-1}, (1 - \alpha_t) I)

Rows are on the first axis; ``t`` is one step for all rows or a tensor with one per row, counted from 1.
"""

from __future__ import annotations

import torch
from torch import Tensor

from margin.generative.diffusion.schedules import NoiseSchedule

__all__ = ["add_noise", "forward_step", "noised_law", "posterior", "posterior_variance", "walk"]


def forward_step(schedule: NoiseSchedule, x: Tensor, t: Tensor | int, noise: Tensor) -> Tensor:
    r"""One step: :math:`x_t = \sqrt{\alpha_t}\,x_{t-1} + \sqrt{1 - \alpha_t}\,\epsilon`; keeps a variance of 1."""
    return schedule.at(schedule.alphas.sqrt(), t, x) * x + schedule.at(schedule.betas.sqrt(), t, x) * noise


def noised_law(schedule: NoiseSchedule, x_0: Tensor, t: Tensor | int) -> tuple[Tensor, Tensor]:
    r"""Mean :math:`\sqrt{\bar\alpha_t}\,x_0` and variance :math:`1 - \bar\alpha_t` of :math:`x_t` given :math:`x_0`."""
    return schedule.signal(t, x_0) * x_0, schedule.at(1 - schedule.alpha_bars, t, x_0)


def add_noise(schedule: NoiseSchedule, x_0: Tensor, t: Tensor | int, noise: Tensor) -> Tensor:
    r"""All steps at once: :math:`x_t = \sqrt{\bar\alpha_t}\,x_0 + \sqrt{1 - \bar\alpha_t}\,\epsilon`."""
    return schedule.signal(t, x_0) * x_0 + schedule.noise(t, x_0) * noise


def walk(schedule: NoiseSchedule, x_0: Tensor, generator: torch.Generator) -> Tensor:
    """The whole chain step by step: (T + 1, *shape of x_0), from clean data to noise."""
    states = [x_0]
    for t in range(1, schedule.n_steps + 1):
        noise = torch.randn(x_0.shape, generator=generator, dtype=x_0.dtype, device=x_0.device)
        states.append(forward_step(schedule, states[-1], t, noise))
    return torch.stack(states)


def posterior_variance(schedule: NoiseSchedule) -> Tensor:
    r""":math:`\sigma_q^2(t) = (1 - \alpha_t)(1 - \bar\alpha_{t-1}) / (1 - \bar\alpha_t)` by t; 0 at t = 0 and 1."""
    rest = 1 - schedule.alpha_bars
    variance = torch.zeros_like(rest)
    variance[1:] = schedule.betas[1:] * rest[:-1] / rest[1:]
    return variance


def posterior(schedule: NoiseSchedule, x_t: Tensor, x_0: Tensor, t: Tensor | int) -> tuple[Tensor, Tensor]:
    r"""Mean and variance of :math:`q(x_{t-1} | x_t, x_0)`, which Bayes' rule makes normal:

    .. math:: \mu_q = \frac{\sqrt{\alpha_t}(1 - \bar\alpha_{t-1})\,x_t
              + \sqrt{\bar\alpha_{t-1}}(1 - \alpha_t)\,x_0}{1 - \bar\alpha_t}
    """
    t = torch.as_tensor(t)
    before, now = schedule.alpha_bars[t - 1], schedule.alpha_bars[t]
    from_noisy = schedule.alphas[t].sqrt() * (1 - before) / (1 - now)
    from_clean = before.sqrt() * schedule.betas[t] / (1 - now)
    mean = _rows(from_noisy, x_t) * x_t + _rows(from_clean, x_t) * x_0
    return mean, schedule.at(posterior_variance(schedule), t, x_t)


def _rows(values: Tensor, like: Tensor) -> Tensor:
    values = values.to(like.dtype)
    return values.reshape(-1, *[1] * (like.ndim - 1)) if values.ndim else values
