r"""A cascade: draw a small image, then the large one given it, as text-to-image systems do.

The second denoiser sees the noisy large image and, as further channels, the small one brought to its size. Small
images are blurred a little while it learns, so that it forgives what the first model does not do as well as the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from margin.core.randomness import RandomLike, as_generator, spawn_seeds
from margin.generative.diffusion.chain import add_noise
from margin.generative.diffusion.model import DiffusionModel
from margin.generative.diffusion.networks import UNetDenoiser
from margin.generative.diffusion.predictions import convert
from margin.generative.diffusion.samplers import last, second_order
from margin.generative.diffusion.schedules import NoiseSchedule, noise_schedule
from margin.neural.losses.regression import squared_error
from margin.neural.training import Minimize, Plan, RowBatches, TensorRows, Training, rate_schedule, train
from margin.neural.weights import build

__all__ = ["Cascade", "shrink", "upsampling_loss"]

BLUR = 0.1


def shrink(images: Tensor) -> Tensor:
    """Images of half the height and width: means of 2 x 2 pixels.

    >>> shrink(torch.arange(4.0).reshape(1, 1, 2, 2))
    tensor([[[[1.5000]]]])
    """
    return functional.avg_pool2d(images, 2)


def _enlarge(small: Tensor) -> Tensor:
    return functional.interpolate(small, scale_factor=2, mode="nearest")


def upsampling_loss(
    module: nn.Module, batch: tuple[Tensor, ...], noise: torch.Generator, *, schedule: NoiseSchedule
) -> dict[str, Tensor]:
    """The error of v, per pixel, of large images at random steps, given their small ones with a little noise."""
    (x_0,) = batch
    small = shrink(x_0)
    small = small + BLUR * torch.randn(small.shape, generator=noise, dtype=x_0.dtype, device=x_0.device)
    t = torch.randint(1, schedule.n_steps + 1, (len(x_0),), generator=noise, device=noise.device)
    epsilon = torch.randn(x_0.shape, generator=noise, dtype=x_0.dtype, device=x_0.device)
    x_t = add_noise(schedule, x_0, t, epsilon)
    output = module(torch.cat([x_t, _enlarge(small)], dim=1), t.to(x_0.dtype) / schedule.n_steps)
    target = schedule.signal(t, x_0) * epsilon - schedule.noise(t, x_0) * x_0
    return {"loss": squared_error(output, target).mean(dim=(1, 2, 3))}


class Cascade:
    """``first`` draws images of half the size; a U-Net with channels ``widths`` makes large ones of them.

    ``shape`` is (channels, height, width) of the large images, both sides even. ``first`` is fitted to the small ones,
    so its ``image_shape``, if it has one, is half of that.
    """

    def __init__(
        self,
        first: DiffusionModel,
        shape: Sequence[int],
        widths: Sequence[int] = (16, 32),
        *,
        n_steps: int = 100,
        sampling_steps: int = 20,
        max_iter: int = 20,
        batch_size: int = 64,
        learning_rate: float = 3e-3,
        seed: int = 0,
    ):
        channels, height, breadth = shape
        if height % 2 or breadth % 2:
            raise ValueError(f"Cascade: shape must have an even height and width; got {height} x {breadth}.")
        self.first, self.shape, self.widths = first, (channels, height, breadth), list(widths)
        self.n_steps, self.sampling_steps, self.max_iter = n_steps, sampling_steps, max_iter
        self.batch_size, self.learning_rate, self.seed = batch_size, learning_rate, seed

    def fit(self, X: Any, y: Any = None) -> Cascade:
        """Learn small images (with the classes ``y`` if ``first`` is conditional), and how to enlarge them."""
        images = np.asarray(X, dtype=np.float32).reshape(len(X), *self.shape)
        self.center_, self.scale_ = float(images.mean()), float(images.std()) or 1.0
        scaled = torch.from_numpy((images - self.center_) / self.scale_)
        self.first.fit(shrink(scaled).reshape(len(X), -1).numpy(force=True), y)
        seeds = spawn_seeds(as_generator(self.seed), 3)
        module = build(lambda: UNetDenoiser(self.shape, self.widths, condition=self.shape[0]), seeds[0])
        batches = RowBatches(TensorRows.of(scaled.numpy(force=True)), self.batch_size, seeds[1])
        steps = self.max_iter * batches.steps_per_epoch
        schedule = noise_schedule("cosine", self.n_steps)

        def objective(network: nn.Module, batch: tuple[Tensor, ...], noise: torch.Generator) -> dict[str, Tensor]:
            return upsampling_loss(network, batch, noise, schedule=schedule)

        rate = rate_schedule("cosine", self.learning_rate, steps=steps)
        step = Minimize(module, objective, schedule=rate, seed=seeds[2], average=0.99)
        records = train(Training(batches, step, Plan(self.max_iter, record_steps=None)))
        self.losses_ = [record["train_loss"] for record in records]
        self._enlarger = step.result.eval()
        return self

    def enlarge(self, small: np.ndarray, random_state: RandomLike = None) -> np.ndarray:
        """Large images for small ones, both as rows of pixels."""
        channels, height, breadth = self.shape
        low = np.asarray(small, dtype=np.float32).reshape(len(small), channels, height // 2, breadth // 2)
        condition = _enlarge(torch.from_numpy((low - self.center_) / self.scale_))
        schedule = noise_schedule("cosine", self.n_steps)
        stream = torch.Generator().manual_seed(int(as_generator(random_state).integers(2**63 - 1)))

        def clean(x: Tensor, t: int) -> Tensor:
            level = torch.full((len(x),), t / schedule.n_steps)
            with torch.no_grad():
                v = self._enlarger(torch.cat([x, condition], dim=1), level)
            return convert(schedule, v, x, t, given="v", wanted="x0")

        start = torch.randn((len(low), *self.shape), generator=stream, device=stream.device)
        made = last(second_order(schedule, clean, start, stream, min(self.sampling_steps, self.n_steps)))
        return made.reshape(len(low), -1).numpy(force=True) * self.scale_ + self.center_

    def sample(self, n_samples: int = 1, random_state: RandomLike = None, **options: Any) -> np.ndarray:
        """New large images as rows; ``options`` are those of the first model's ``sample``."""
        rng = as_generator(random_state)
        small = self.first.sample(n_samples, rng, **options) * self.scale_ + self.center_
        return self.enlarge(small, rng)
