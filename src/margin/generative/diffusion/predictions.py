r"""Five things a denoiser may predict, each a linear function of the others given :math:`x_t`.

With :math:`a = \sqrt{\bar\alpha_t}` and :math:`b = \sqrt{1 - \bar\alpha_t}`, so that :math:`x_t = a x_0 + b\epsilon`:

.. math:: \epsilon = \frac{x_t - a x_0}{b}, \qquad v = a\epsilon - b x_0, \qquad \dot x = x_0 - \epsilon, \qquad
          s = -\frac{\epsilon}{b}.

:math:`\dot x` is the velocity of the straight line from noise to data, which flow matching learns.
"""

from __future__ import annotations

from torch import Tensor

from margin.generative.diffusion.chain import posterior, posterior_variance
from margin.generative.diffusion.schedules import NoiseSchedule

__all__ = ["PREDICTIONS", "convert", "kl_weight", "reverse_mean", "reverse_mean_from_noise", "reverse_mean_from_score"]

PREDICTIONS = ("epsilon", "x0", "v", "velocity", "score")


def convert(schedule: NoiseSchedule, value: Tensor, x_t: Tensor, t: Tensor | int, *, given: str, wanted: str) -> Tensor:
    """The prediction ``value`` of kind ``given`` as one of kind ``wanted``."""
    for kind in (given, wanted):
        if kind not in PREDICTIONS:
            raise ValueError(f"convert: given and wanted must be among {', '.join(PREDICTIONS)}; got {kind!r}.")
    if given == wanted:
        return value
    a, b = schedule.signal(t, x_t), schedule.noise(t, x_t)
    clean, noise = _clean_and_noise(value, x_t, a, b, given)
    if wanted == "x0":
        return clean
    if wanted == "v":
        return a * noise - b * clean
    if wanted == "velocity":
        return clean - noise
    return noise if wanted == "epsilon" else -noise / b


def _clean_and_noise(value: Tensor, x_t: Tensor, a: Tensor, b: Tensor, kind: str) -> tuple[Tensor, Tensor]:
    """Clean data and noise behind a prediction; v and the velocity divide by nothing small at any noise level."""
    if kind == "v":
        return a * x_t - b * value, b * x_t + a * value
    if kind == "velocity":
        return (x_t + b * value) / (a + b), (x_t - a * value) / (a + b)
    if kind == "x0":
        return value, (x_t - a * value) / b
    noise = -b * value if kind == "score" else value
    return (x_t - b * noise) / a, noise


def kl_weight(schedule: NoiseSchedule, kind: str) -> Tensor:
    r"""What a squared error counts in the bound at every t (index 0 and 1, where :math:`\sigma_q = 0`, are 0).

    .. math:: \frac1{2\sigma_q^2}\frac{\bar\alpha_{t-1}(1-\alpha_t)^2}{(1-\bar\alpha_t)^2}\ (x_0), \qquad
              \frac1{2\sigma_q^2}\frac{(1-\alpha_t)^2}{(1-\bar\alpha_t)\alpha_t}\ (\epsilon), \qquad
              \frac1{2\sigma_q^2}\frac{(1-\alpha_t)^2}{\alpha_t}\ (s)

    and for :math:`v` and the velocity, of which the errors are :math:`1/a` and :math:`(a + b)/a` times that of the
    noise, :math:`a^2` and :math:`a^2/(a + b)^2` times the weight of the noise.
    """
    if kind not in PREDICTIONS:
        raise ValueError(f"kl_weight: kind must be one of {', '.join(PREDICTIONS)}; got {kind!r}.")
    alpha, bar, beta = schedule.alphas[2:], schedule.alpha_bars[2:], schedule.betas[2:]
    factor = {
        "x0": schedule.alpha_bars[1:-1] * beta**2 / (1 - bar) ** 2,
        "epsilon": beta**2 / ((1 - bar) * alpha),
        "v": bar * beta**2 / ((1 - bar) * alpha),
        "velocity": bar / (bar.sqrt() + (1 - bar).sqrt()) ** 2 * beta**2 / ((1 - bar) * alpha),
        "score": beta**2 / alpha,
    }[kind]
    weight = posterior_variance(schedule)
    weight[2:] = factor / (2 * weight[2:])
    return weight


def reverse_mean(schedule: NoiseSchedule, value: Tensor, x_t: Tensor, t: Tensor | int, kind: str) -> Tensor:
    r"""The mean :math:`\mu_\theta` of :math:`p(x_{t-1}|x_t)`: the posterior's with the predicted clean data in it."""
    return posterior(schedule, x_t, convert(schedule, value, x_t, t, given=kind, wanted="x0"), t)[0]


def reverse_mean_from_noise(schedule: NoiseSchedule, noise: Tensor, x_t: Tensor, t: Tensor | int) -> Tensor:
    r""":math:`\frac1{\sqrt{\alpha_t}}\bigl(x_t - \frac{1 - \alpha_t}{\sqrt{1 - \bar\alpha_t}}\,\epsilon\bigr)`."""
    root = schedule.at(schedule.alphas.sqrt(), t, x_t)
    return (x_t - schedule.at(schedule.betas, t, x_t) / schedule.noise(t, x_t) * noise) / root


def reverse_mean_from_score(schedule: NoiseSchedule, score: Tensor, x_t: Tensor, t: Tensor | int) -> Tensor:
    r""":math:`\frac1{\sqrt{\alpha_t}}\bigl(x_t + (1 - \alpha_t)\,s\bigr)`."""
    return (x_t + schedule.at(schedule.betas, t, x_t) * score) / schedule.at(schedule.alphas.sqrt(), t, x_t)
