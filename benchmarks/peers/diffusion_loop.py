"""What a user of PyTorch writes to train a diffusion: the peer of ``DiffusionModel`` with the same network."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from margin.generative import DiffusionModel

__all__ = ["plain_loop", "seconds_per_update", "trainer_loop"]

ROUNDS = 2


def plain_loop(X: np.ndarray, options: Mapping[str, Any], epochs: int) -> Any:
    """DataLoader, Adam with a cosine, the noise predicted (the loss of DDPM), an average of the weights."""
    import torch
    from torch.nn import functional
    from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
    from torch.utils.data import DataLoader, TensorDataset

    from margin.generative.diffusion.networks import UNetDenoiser

    torch.manual_seed(0)
    side, steps = round(X.shape[1] ** 0.5), options["n_steps"]
    net = UNetDenoiser((1, side, side), options["hidden_layer_sizes"])
    average = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(options["weight_average"]))
    images = torch.from_numpy((X - X.mean()) / X.std()).reshape(-1, 1, side, side)
    loader = DataLoader(TensorDataset(images), batch_size=options["batch_size"], shuffle=True)
    optimizer = torch.optim.Adam(net.parameters(), lr=options["learning_rate_init"])
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * len(loader))
    t = torch.arange(steps + 1) / steps
    alpha_bar = torch.cos((t + 0.008) / 1.008 * math.pi / 2) ** 2
    for _ in range(epochs):
        for (x,) in loader:
            step = torch.randint(1, steps + 1, (len(x),))
            noise = torch.randn_like(x)
            signal = (alpha_bar / alpha_bar[0])[step][:, None, None, None]
            noisy = signal.sqrt() * x + (1 - signal).sqrt() * noise
            optimizer.zero_grad()
            functional.mse_loss(net(noisy, step / steps), noise).backward()
            optimizer.step()
            schedule.step()
            average.update_parameters(net)
    return average


def trainer_loop(X: np.ndarray, options: Mapping[str, Any], epochs: int, rate: float, seed: int) -> Any:
    """The settings of denoising-diffusion-pytorch's trainer over the same network: v is predicted, Adam (0.9, 0.99) at
    a constant rate, gradients clipped at 1, every tenth update goes into an average of the weights whose decay rises
    to 0.995 as there."""
    import copy

    import torch
    from torch.nn import functional
    from torch.utils.data import DataLoader, TensorDataset

    from margin.generative.diffusion.networks import UNetDenoiser
    from margin.generative.diffusion.schedules import noise_schedule

    torch.manual_seed(seed)
    side, steps = round(X.shape[1] ** 0.5), options["n_steps"]
    net = UNetDenoiser((1, side, side), options["hidden_layer_sizes"])
    average = copy.deepcopy(net)
    images = torch.from_numpy((X - X.mean()) / X.std()).reshape(-1, 1, side, side)
    loader = DataLoader(TensorDataset(images), batch_size=options["batch_size"], shuffle=True, drop_last=True)
    optimizer = torch.optim.Adam(net.parameters(), lr=rate, betas=(0.9, 0.99))
    alpha_bar = noise_schedule("cosine", steps).alpha_bars.float()
    for update in range(epochs * len(loader)):
        if update % len(loader) == 0:
            batches = iter(loader)
        (x,) = next(batches)
        step, noise = torch.randint(1, steps + 1, (len(x),)), torch.randn_like(x)
        signal, rest = (part.sqrt()[:, None, None, None] for part in (alpha_bar[step], 1 - alpha_bar[step]))
        optimizer.zero_grad()
        loss = functional.mse_loss(net(signal * x + rest * noise, step / steps), signal * noise - rest * x)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        if update % 10 == 0:
            decay = min(0.995, 1 - max(1, update - 100) ** (-2 / 3))
            with torch.no_grad():
                for kept, weight in zip(average.parameters(), net.parameters()):
                    kept.lerp_(weight, 1 - decay)
    return average


def seconds_per_update(X: np.ndarray, options: Mapping[str, Any]) -> dict[str, float]:
    """Least processor seconds of an update over an epoch of ``X``, ours and the plain loop's in turn."""
    side = round(X.shape[1] ** 0.5)
    ours = DiffusionModel(**{**options, "image_shape": (side, side), "max_iter": 1, "random_state": 0})
    updates = math.ceil(len(X) / options["batch_size"])
    fastest = {"margin": math.inf, "plain loop": math.inf}
    for _ in range(ROUNDS):
        for name, call in (("margin", lambda: ours.fit(X)), ("plain loop", lambda: plain_loop(X, options, 1))):
            began = time.process_time()
            call()
            fastest[name] = min(fastest[name], (time.process_time() - began) / updates)
    return {name: round(seconds, 5) for name, seconds in fastest.items()}
