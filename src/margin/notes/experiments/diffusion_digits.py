r"""Digits dissolve into noise, and new ones come out of it

The forward chain :math:`x_t = \sqrt{\bar\alpha_t}\,x_0 + \sqrt{1 - \bar\alpha_t}\,\epsilon` ends in noise that nothing
tells from :math:`N(0, I)`. A network that learned to remove noise runs it backwards, frame by frame.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every, near
from margin.notes.motion import film

if TYPE_CHECKING:
    from matplotlib.animation import Animation
    from matplotlib.figure import Figure

SHOWN, FRAMES, STEPS = 6, 7, 100
ERRORS = 5  # standard errors that chance leaves once in a million


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch
    from sklearn.datasets import load_digits

    from margin.generative import DiffusionModel
    from margin.generative.diffusion.chain import walk
    from margin.generative.diffusion.schedules import noise_schedule
    from margin.metrics.samples import frechet_distance

    data = load_digits().data[np.random.default_rng(seed).permutation(1797)]
    X = (data[: 600 if fast else 1797] / 16).astype(np.float32)
    model = DiffusionModel(
        (256, 256) if fast else (32, 64),
        denoiser="mlp" if fast else "unet",
        image_shape=(8, 8),
        n_steps=STEPS,
        max_iter=25 if fast else 150,
        batch_size=60,
        learning_rate_init=3e-3,
        random_state=seed,
    )
    errors = [record["noise_error"] for record in model.iterate(X)]
    scaled = torch.from_numpy((X - X.mean()) / X.std())
    states = walk(noise_schedule("cosine", STEPS), scaled, torch.Generator().manual_seed(seed))
    frames = np.linspace(0, STEPS, FRAMES).round().astype(int)
    backwards = [rows for _, rows in model.sample_path(SHOWN, random_state=seed)]
    chosen = np.linspace(0, len(backwards) - 1, FRAMES).round().astype(int)
    made = model.sample(300, random_state=seed)
    return {
        "errors": np.array(errors),
        "forward": states[frames][:, :SHOWN].numpy(),
        "n_values": X.size,
        "last_mean": float(states[-1].mean()),
        "last_variance": float(states[-1].var()),
        "backward": np.stack([backwards[k] for k in chosen]),
        "way": np.stack(backwards),
        "made": made,
        "distance": frechet_distance(made, X),
        "noise_distance": frechet_distance(X.mean(axis=0) + X.std(axis=0) * states[-1, :300].numpy(), X),
    }


def check(data: dict[str, Any]) -> Verdict:
    change = [float(np.abs(b - a).mean()) for a, b in zip(data["backward"][:-1], data["backward"][1:])]
    n = data["n_values"]
    return every(
        error_half_of_predicting_nothing=below(float(data["errors"][-1]), 0.5),
        ends_with_mean_0=near(data["last_mean"], 0.0, tolerance=ERRORS / math.sqrt(n)),
        ends_with_variance_1=near(data["last_variance"], 1.0, tolerance=ERRORS * math.sqrt(2 / n)),
        every_frame_changes=above(min(change), 0.0),
        nearer_to_digits_than_independent_pixels=below(data["distance"], 0.5 * data["noise_distance"]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(12, 5.2)
    panels = {
        "forward": "A digit dissolves, from left to right",
        "backward": "Noise becomes a digit, from left to right",
    }
    *pictures, curve = figure.subplots(1, 3, width_ratios=[1.15, 1.15, 0.9])
    for ax, (name, title) in zip(pictures, panels.items()):
        frames = data[name].reshape(FRAMES, SHOWN, 8, 8)
        ax.imshow(tile(frames.transpose(1, 0, 2, 3)), cmap="gray_r")
        ax.set(title=title, xticks=[], yticks=[])
    curve.plot(data["errors"])
    curve.set(ylim=(0, 1), xlabel="record of the training", title="Error of the predicted noise")


def tile(digits: np.ndarray) -> np.ndarray:
    """(rows, columns, 8, 8) as one image with a line between them."""
    rows, columns = digits.shape[:2]
    return np.pad(digits, ((0, 0), (0, 0), (0, 1), (0, 1))).transpose(0, 2, 1, 3).reshape(rows * 9, columns * 9)


def animate(data: dict[str, Any]) -> Animation:
    """All the way from noise to digits."""
    way = data["way"]
    last = len(way) - 1

    def frame(figure: Figure, step: int) -> None:
        axis = figure.subplots()
        axis.imshow(tile(way[step].reshape(1, SHOWN, 8, 8)), cmap="gray_r")
        axis.set(title=f"step {step} of {last} back from noise", xticks=[], yticks=[])

    return film(frame, [*range(0, last, 3), last], size=(6, 1.6), interval=120)
