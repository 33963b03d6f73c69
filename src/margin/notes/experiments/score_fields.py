r"""Estimated scores are wrong where there are no data, and noise mends it

Two normal clouds far apart. A network fitted by score matching on clean data is right near the clouds only; the same
budget on data with noise of several sizes is right in the whole square, and annealed Langevin dynamics
:math:`x \leftarrow x + \eta_i s(x, \sigma_i) + \sqrt{2\eta_i}\,z` from it finds both clouds in their proportion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CENTERS, DEVIATION, WEIGHTS = ((-3.0, -3.0), (3.0, 3.0)), 0.7, (0.25, 0.75)
SIDE, POINTS = 6.0, 17  # half the width of the plotted square, arrows per side
LEVELS = (6.0, 0.3, 12)  # largest and smallest noise, and how many
FIELD_NOISE = 2.0  # the noise level that is drawn


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.generative.diffusion.langevin import annealed_langevin, geometric_levels, langevin
    from margin.generative.diffusion.mixture import ExactMixture

    mixture = ExactMixture(CENTERS, [DEVIATION] * 2, WEIGHTS)
    steps = 400 if fast else 6000
    levels = geometric_levels(*LEVELS)
    plain, perturbed = fit_score(mixture, [], steps, seed), fit_score(mixture, levels, steps, seed)
    line = np.linspace(-SIDE, SIDE, POINTS)
    grid = torch.from_numpy(np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2))
    noisy = mixture.scaled(1.0, FIELD_NOISE)
    start = SIDE * (2 * torch.from_numpy(np.random.default_rng(seed).random((400, 2))) - 1)
    stream = torch.Generator().manual_seed(seed)
    annealed = annealed_langevin(perturbed, start, levels, stream, step=0.1, steps_per_level=15)
    direct = langevin(lambda x: plain(x, 0.0), start, 0.01, 180, torch.Generator().manual_seed(seed))
    return {
        "grid": grid.numpy(),
        "log_density": mixture.log_density(grid).numpy(),
        "true": mixture.score(grid).numpy(),
        "estimated": plain(grid, 0.0).numpy(),
        "true_noisy": noisy.score(grid).numpy(),
        "estimated_noisy": perturbed(grid, FIELD_NOISE).numpy(),
        "annealed": annealed.numpy(),
        "direct": direct.numpy(),
    }


def fit_score(mixture: Any, levels: list[float], steps: int, seed: int) -> Any:
    """A score network of rows and noise level: by the sliced loss on clean data, or by denoising at all levels."""
    import torch

    from margin.generative.diffusion.scores import denoising_score_matching, sliced_score_matching
    from margin.neural.nets.mlp import MLP
    from margin.neural.training import DrawnPoints, Minimize, Plan, Training, train
    from margin.neural.weights import build

    network = build(lambda: MLP([3, 64, 64, 2], "silu"), seed)

    def score(x: Any, sigma: Any) -> Any:
        """The network sees rows and the logarithm of the level; its output is divided by the level."""
        level = torch.as_tensor(sigma, dtype=x.dtype).expand(len(x))[:, None]
        size = torch.where(level > 0, level, torch.ones_like(level))
        return network(torch.cat([x / torch.sqrt(1 + level**2), size.log()], dim=1).float()).to(x.dtype) / size

    def draw(generator: Any) -> Any:
        x = mixture.sample(128, generator).float()
        chosen = torch.randint(max(len(levels), 1), (128,), generator=generator)
        sigma = torch.tensor(levels or [0.0])[chosen]
        return x, torch.randn(x.shape, generator=generator), sigma

    def objective(_: Any, batch: Any, __: Any) -> dict[str, Any]:
        x, noise, sigma = batch
        if not levels:
            return {"loss": sliced_score_matching(lambda rows: score(rows, 0.0), x, noise)}
        loss = denoising_score_matching(lambda rows: score(rows, sigma), x, sigma[:, None], noise)
        return {"loss": sigma**2 * loss}

    step = Minimize(network, objective, schedule=lambda t: 5e-3 * (1 - t / steps), seed=seed, clip_norm=5.0)
    for _ in train(Training(DrawnPoints(draw, seed, steps_per_epoch=steps), step, Plan(1, record_steps=None))):
        pass

    def evaluate(x: Any, sigma: float) -> Any:
        with torch.no_grad():
            return score(x, sigma)

    return evaluate


def errors(data: dict[str, Any], kind: str = "") -> np.ndarray:
    """Length of the error of the estimated field at every point of the grid."""
    return np.linalg.norm(data[f"estimated{kind}"] - data[f"true{kind}"], axis=1)


def upper_fraction(points: np.ndarray) -> float:
    """How many of the points are nearer to the second cloud."""
    return float((points.sum(axis=1) > 0).mean())


def check(data: dict[str, Any]) -> Verdict:
    order = np.argsort(data["log_density"])
    fifth = len(order) // 5
    plain, noisy = errors(data), errors(data, "_noisy")
    return every(
        worse_where_the_density_is_low=above(float(plain[order[:fifth]].mean() / plain[order[-fifth:]].mean()), 3.0),
        noise_mends_the_field=below(float(noisy.mean()), float(plain.mean()) / 3),
        annealing_finds_the_weights=near(upper_fraction(data["annealed"]), WEIGHTS[1], tolerance=0.15),
        without_noise_it_stays_where_it_starts=near(upper_fraction(data["direct"]), 0.5, tolerance=0.15),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    fields = {"": "without noise", "_noisy": f"with noise of deviation {FIELD_NOISE:g}"}
    axes = figure.subplots(2, 4)
    for row, (kind, title) in zip(axes, fields.items()):
        for ax, name in zip(row, ("true", "estimated")):
            ax.quiver(*data["grid"].T, *data[name + kind].T, angles="xy")
            ax.set(title=f"{name} score {title}", aspect="equal")
        image = errors(data, kind).reshape(POINTS, POINTS)
        shown = row[2].imshow(image, origin="lower", extent=(-SIDE, SIDE, -SIDE, SIDE), cmap="magma_r")
        row[2].set(title="length of the error")
        figure.colorbar(shown, ax=row[2])
    for ax, name, title in (
        (axes[0, 3], "direct", "Langevin, no noise"),
        (axes[1, 3], "annealed", "annealed Langevin"),
    ):
        ax.scatter(*data[name].T, s=4)
        ax.set(title=title, xlim=(-SIDE, SIDE), ylim=(-SIDE, SIDE), aspect="equal")
