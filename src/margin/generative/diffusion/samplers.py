r"""From noise to data: ways to run a diffusion backwards with a given denoiser.

A denoiser is a function of :math:`(x_t, t)` that predicts the noise in :math:`x_t`. All samplers start from
``x_T`` and yield the state after every step, the last one being the sample.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import torch
from torch import Tensor

from margin.generative.diffusion.chain import posterior
from margin.generative.diffusion.schedules import NoiseSchedule

__all__ = ["SAMPLERS", "CleanPredictor", "ancestral", "ddim", "last", "second_order", "spaced_steps"]

LEAST_SIGNAL = 0.006  # below this ratio of signal to noise, predicted noise says nothing about clean data

# The clean data that a denoiser sees behind x_t at step t, which is the same for all rows.
CleanPredictor = Callable[[Tensor, int], Tensor]


def spaced_steps(schedule: NoiseSchedule, n_chosen: int | None = None) -> list[int]:
    r"""At most ``n_chosen`` steps down to 1, and 0 at the end; None: all of them.

    They begin at the last step with a ratio of signal to noise of 0.006, where noise and :math:`x_t` are all but the
    same: the cosine schedule goes further, to where clean data are an error divided by almost 0.

    The rest is evenly spaced in the angle :math:`\varphi` of :math:`x_t = \cos\varphi\,x_0 + \sin\varphi\,\epsilon`, so
    that which levels of noise a sampler visits does not depend on the schedule. (The cosine schedule moves the angle
    evenly, the linear one slowly near the noise.)

    >>> from margin.generative.diffusion.schedules import noise_schedule
    >>> spaced_steps(noise_schedule("cosine", 100), 4), spaced_steps(noise_schedule("linear", 100), 4)
    ([99, 74, 49, 24, 0], [97, 43, 26, 12, 0])
    """
    n_steps = schedule.n_steps
    if n_chosen is None:
        n_chosen = n_steps
    if not 1 <= n_chosen <= n_steps:
        raise ValueError(f"spaced_steps: n_chosen must be from 1 to the {n_steps} steps; got {n_chosen!r}.")
    if n_chosen == n_steps:
        return list(range(n_steps, -1, -1))
    angles = torch.atan2((1 - schedule.alpha_bars).sqrt(), schedule.alpha_bars.sqrt()).numpy(force=True)
    first = max(int(np.flatnonzero(angles <= np.arctan2(1, LEAST_SIGNAL))[-1]), n_chosen)
    wanted = np.linspace(angles[first], 0, n_chosen + 1)
    steps = np.interp(wanted, angles, np.arange(n_steps + 1))
    return sorted({round(step) for step in steps.tolist()}, reverse=True)


def last(states: Iterator[Tensor]) -> Tensor:
    """The last of the states, which is the sample."""
    for state in states:  # noqa: B007  a deque would keep one too, and say less
        pass
    return state


def ancestral(
    schedule: NoiseSchedule, clean: CleanPredictor, x: Tensor, generator: torch.Generator, n_chosen: int | None = None
) -> Iterator[Tensor]:
    r"""DDPM: draw :math:`x_{t-1} \sim N(\mu_\theta(x_t, t), \sigma_q^2(t))`, without noise in the last step.

    With fewer steps than the diffusion has, it is the chain of the chosen steps.
    """
    steps = spaced_steps(schedule, n_chosen)
    for now, before in itertools.pairwise(steps):
        if before == now - 1:
            mean, variance = posterior(schedule, x, clean(x, now), now)
        else:
            mean, variance = _leap(schedule, x, clean(x, now), now, before)
        x = mean
        if before:
            x = x + variance.sqrt() * torch.randn(x.shape, generator=generator, dtype=x.dtype, device=x.device)
        yield x


def ddim(
    schedule: NoiseSchedule,
    clean: CleanPredictor,
    x: Tensor,
    generator: torch.Generator,
    n_chosen: int | None = None,
    *,
    eta: float = 0.0,
) -> Iterator[Tensor]:
    r"""DDIM: a step to :math:`s < t` that keeps the predicted noise and replaces a part ``eta`` of it by new noise.

    .. math:: x_s = \sqrt{\bar\alpha_s}\,\hat x_0 + \sqrt{1 - \bar\alpha_s - \sigma^2}\,\hat\epsilon + \sigma z,
              \qquad \sigma^2 = \eta^2\,\frac{1 - \bar\alpha_s}{1 - \bar\alpha_t}
              \Bigl(1 - \frac{\bar\alpha_t}{\bar\alpha_s}\Bigr)

    With ``eta`` 0 the sample is a function of the noise it starts from; with 1 it is the ancestral chain.
    """
    steps = spaced_steps(schedule, n_chosen)
    for now, before in itertools.pairwise(steps):
        alpha_bar, alpha_bar_before = (float(schedule.alpha_bars[t]) for t in (now, before))
        x_0 = clean(x, now)
        noise = (x - alpha_bar**0.5 * x_0) / (1 - alpha_bar) ** 0.5
        variance = eta**2 * (1 - alpha_bar_before) / (1 - alpha_bar) * (1 - alpha_bar / alpha_bar_before)
        x = alpha_bar_before**0.5 * x_0 + max(1 - alpha_bar_before - variance, 0.0) ** 0.5 * noise
        if variance:
            x = x + variance**0.5 * torch.randn(x.shape, generator=generator, dtype=x.dtype, device=x.device)
        yield x


def second_order(
    schedule: NoiseSchedule,
    clean: CleanPredictor,
    x: Tensor,
    generator: torch.Generator,
    n_chosen: int | None = None,
    *,
    tau: float = 0.0,
) -> Iterator[Tensor]:
    r"""DPM-Solver++(2M): clean data extrapolated from the last two predictions, and new noise by ``tau``.

    With :math:`\lambda = \log(a/b)`, :math:`h = \lambda_s - \lambda_t` and the same for the step before,
    :math:`r = h_{before}/h`:

    .. math:: x_s = \frac{b_s}{b_t}e^{-\tau h}x_t + a_s\bigl(1 - e^{-(1 + \tau)h}\bigr)\Bigl[\bigl(1 +
              \tfrac1{2r}\bigr)\hat x_0(t) - \tfrac1{2r}\hat x_0(t_{before})\Bigr]
              + b_s\sqrt{1 - e^{-2\tau h}}\,z

    All ``tau`` lead through the same laws. With 0 the path is deterministic with an error of second order, and all
    randomness is in the noise it starts from; with 1 it is the ancestral chain, but for the extrapolation. One
    evaluation of the denoiser per step. The last step, to clean data, is :math:`\hat x_0` itself.
    """
    steps = spaced_steps(schedule, n_chosen)
    signal = schedule.alpha_bars.sqrt().tolist()
    noise = (1 - schedule.alpha_bars).sqrt().tolist()
    earlier: Tensor | None = None
    width_earlier = 0.0
    for now, before in itertools.pairwise(steps):
        x_0 = clean(x, now)
        if before == 0:
            x = x_0
        else:
            width = math.log(signal[before] / noise[before]) - math.log(signal[now] / noise[now])
            blend = x_0
            if earlier is not None:
                slope = width / (2 * width_earlier)
                blend = (1 + slope) * x_0 - slope * earlier
            kept, added = math.exp(-tau * width), -math.expm1(-(1 + tau) * width)
            x = noise[before] / noise[now] * kept * x + signal[before] * added * blend
            if tau:
                fresh = torch.randn(x.shape, generator=generator, dtype=x.dtype, device=x.device)
                x = x + noise[before] * math.sqrt(-math.expm1(-2 * tau * width)) * fresh
            earlier, width_earlier = x_0, width
        yield x


def _leap(schedule: NoiseSchedule, x: Tensor, x_0: Tensor, now: int, before: int) -> tuple[Tensor, Tensor]:
    """Mean and variance of the posterior when steps between ``before`` and ``now`` are left out."""
    alpha_bar, alpha_bar_before = schedule.alpha_bars[now], schedule.alpha_bars[before]
    ratio = alpha_bar / alpha_bar_before
    mean = (
        ratio.sqrt() * (1 - alpha_bar_before) / (1 - alpha_bar) * x
        + alpha_bar_before.sqrt() * (1 - ratio) / (1 - alpha_bar) * x_0
    )
    return mean.to(x.dtype), ((1 - ratio) * (1 - alpha_bar_before) / (1 - alpha_bar)).to(x.dtype)


SAMPLERS: dict[str, Callable[..., Iterator[Tensor]]] = {
    "ddpm": ancestral,
    "ddim": ddim,
    "dpm2": second_order,
    "dpm2-sde": partial(second_order, tau=1.0),
}
