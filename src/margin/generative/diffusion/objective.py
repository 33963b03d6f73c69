r"""What a denoiser is trained on: one random noise level per row.

.. math:: \ell = w_t\,\frac1d\bigl\|f_\theta(\sqrt{\bar\alpha_t}\,x_0 + \sqrt{1 - \bar\alpha_t}\,\epsilon,\ t)
          - \mathrm{target}\bigr\|^2, \qquad t \sim U\{1, \dots, T\}

Gradients go through one evaluation of the network at one level, not through the chain of a sampler.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from margin.generative.diffusion.chain import add_noise
from margin.generative.diffusion.guidance import drop_condition
from margin.generative.diffusion.predictions import convert, kl_weight
from margin.generative.diffusion.schedules import NoiseSchedule
from margin.neural.losses.regression import squared_error

__all__ = ["WEIGHTINGS", "as_prediction", "denoising_loss", "loss_weight"]

WEIGHTINGS = ("simple", "bound")


def loss_weight(schedule: NoiseSchedule, prediction: str, weighting: str) -> Tensor:
    r"""The weight of every t (index 0 is unused), with mean 1 over the steps.

    "bound" weighs the error as the variational bound does; the first step, whose term is another one, has the weight
    of the second. "simple" is 1, and :math:`1 - \bar\alpha_t` for a score, whose errors grow where noise is small.
    """
    if weighting == "bound":
        weight = kl_weight(schedule, prediction)
        weight[1] = weight[2] if schedule.n_steps > 1 else 1.0
    else:
        weight = 1 - schedule.alpha_bars if prediction == "score" else torch.ones_like(schedule.alpha_bars)
    return weight / weight[1:].mean()


def as_prediction(
    module: nn.Module, schedule: NoiseSchedule, x_t: Tensor, t: Tensor, label: Tensor | None, prediction: str
) -> Tensor:
    """The output of the network as a prediction; a score is large where noise is small, the output is not."""
    output = module(x_t, t.to(x_t.dtype) / schedule.n_steps, label)
    return output / schedule.noise(t, x_t) if prediction == "score" else output


def denoising_loss(
    module: nn.Module,
    batch: tuple[Tensor, ...],
    noise: torch.Generator,
    *,
    schedule: NoiseSchedule,
    prediction: str,
    weight: Tensor,
    none: int,
    condition_dropout: float,
) -> dict[str, Tensor]:
    """The loss of every row at a random step, and the unweighted error of its noise per coordinate.

    The batch holds rows and, for a conditional model, their classes, some of which are replaced by ``none``.
    """
    x_0 = batch[0]
    label = drop_condition(batch[1], none, condition_dropout, noise) if len(batch) > 1 else None
    t = torch.randint(1, schedule.n_steps + 1, (len(x_0),), generator=noise, device=noise.device)
    epsilon = torch.randn(x_0.shape, generator=noise, dtype=x_0.dtype, device=x_0.device)
    x_t = add_noise(schedule, x_0, t, epsilon)
    output = as_prediction(module, schedule, x_t, t, label, prediction)
    target = convert(schedule, epsilon, x_t, t, given="epsilon", wanted=prediction)
    if prediction == "x0":
        target = x_0  # the same number without the rounding of a division by a small factor
    elif prediction == "v":
        target = schedule.signal(t, x_0) * epsilon - schedule.noise(t, x_0) * x_0
    elif prediction == "velocity":
        target = x_0 - epsilon
    error = squared_error(output, target).reshape(len(x_0), -1).mean(dim=1)
    with torch.no_grad():
        of_noise = convert(schedule, output, x_t, t, given=prediction, wanted="epsilon") - epsilon
    return {
        "loss": weight.to(x_0)[t] * error,
        "noise_error": of_noise.square().reshape(len(x_0), -1).mean(dim=1),
    }
