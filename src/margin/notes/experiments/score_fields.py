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
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CENTERS, DEVIATION, WEIGHTS = ((-3.0, -3.0), (3.0, 3.0)), 0.7, (0.25, 0.75)
SIDE, POINTS = 6.0, 17  # half the width of the plotted square, arrows per side
LEVELS = (6.0, 0.3, 12)  # largest and smallest noise, and how many
BATCH, ROWS = 128, 3200  # of a step, and of the noisy fit
FIELD_NOISE = 2.0  # the noise level that is drawn


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.generative import ScoreModel
    from margin.generative.diffusion.langevin import annealed_langevin, geometric_levels, langevin
    from margin.generative.diffusion.mixture import ExactMixture

    mixture = ExactMixture(CENTERS, [DEVIATION] * 2, WEIGHTS)
    steps = 400 if fast else 6000
    plain = fit_clean_score(mixture, steps, seed)
    X = mixture.sample(ROWS, torch.Generator().manual_seed(seed)).numpy()
    largest, smallest, n_levels = LEVELS
    perturbed = ScoreModel((64, 64), largest_noise=largest, smallest_noise=smallest, n_levels=n_levels)
    perturbed.set_params(standardize=False, steps_per_level=15, random_state=seed)
    perturbed.set_params(max_iter=steps * BATCH // ROWS, batch_size=BATCH, learning_rate="linear", clip_norm=5.0)
    perturbed.set_params(learning_rate_init=5e-3).fit(X)
    line = np.linspace(-SIDE, SIDE, POINTS)
    grid = torch.from_numpy(np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2))
    noisy = mixture.scaled(1.0, FIELD_NOISE)
    start = SIDE * (2 * torch.from_numpy(np.random.default_rng(seed).random((400, 2))) - 1)
    direct = langevin(plain, start, 0.01, 180, torch.Generator().manual_seed(seed))

    def noisy_score(x: Any, sigma: float) -> Any:
        return torch.from_numpy(perturbed.score_field(x.numpy(), sigma))

    levels = geometric_levels(largest, smallest, n_levels)
    noise = torch.Generator().manual_seed(seed)
    *_, annealed = annealed_langevin(noisy_score, start, levels, noise, step=0.1, steps_per_level=15)
    return {
        "grid": grid.numpy(),
        "log_density": mixture.log_density(grid).numpy(),
        "true": mixture.score(grid).numpy(),
        "estimated": plain(grid).numpy(),
        "true_noisy": noisy.score(grid).numpy(),
        "estimated_noisy": perturbed.score_field(grid.numpy(), FIELD_NOISE),
        "start": start.numpy(),
        "annealed": annealed.numpy(),
        "direct": direct.numpy(),
    }


def fit_clean_score(mixture: Any, steps: int, seed: int) -> Any:
    """A score network of rows without noise, by the sliced loss."""
    import torch

    from margin.generative.diffusion.scores import sliced_score_matching
    from margin.neural.nets.mlp import MLP
    from margin.neural.training import DrawnPoints, Minimize, Plan, Training, train
    from margin.neural.weights import build

    network = build(lambda: MLP([2, 64, 64, 2], "silu"), seed)

    def draw(generator: Any) -> Any:
        x = mixture.sample(BATCH, generator).float()
        return x, torch.randn(x.shape, generator=generator)

    def objective(module: Any, batch: Any, _: Any) -> dict[str, Any]:
        return {"loss": sliced_score_matching(module, *batch)}

    step = Minimize(network, objective, schedule=lambda t: 5e-3 * (1 - t / steps), seed=seed, clip_norm=5.0)
    for _ in train(Training(DrawnPoints(draw, seed, steps_per_epoch=steps), step, Plan(1, record_steps=None))):
        pass

    def evaluate(x: Any) -> Any:
        with torch.no_grad():
            return network(x.float()).to(x.dtype)

    return evaluate


def errors(data: dict[str, Any], kind: str = "") -> np.ndarray:
    """Length of the error of the estimated field at every point of the grid."""
    return np.linalg.norm(data[f"estimated{kind}"] - data[f"true{kind}"], axis=1)


def upper_fraction(points: np.ndarray) -> float:
    """How many of the points are nearer to the second cloud."""
    return float((points.sum(axis=1) > 0).mean())


def stay(data: dict[str, Any], kind: str) -> float:
    """How many points end nearer to the cloud that was nearer where they began."""
    return float(np.mean((data[kind].sum(axis=1) > 0) == (data["start"].sum(axis=1) > 0)))


def in_clouds(points: np.ndarray) -> float:
    """How many points lie within three deviations of a center."""
    gaps = np.linalg.norm(points[:, None] - np.array(CENTERS), axis=2)
    return float(np.mean(gaps.min(axis=1) < 3 * DEVIATION))


def check(data: dict[str, Any]) -> Verdict:
    order = np.argsort(data["log_density"])
    fifth = len(order) // 5
    plain, noisy = errors(data), errors(data, "_noisy")
    return every(
        worse_where_the_density_is_low=above(float(plain[order[:fifth]].mean() / plain[order[-fifth:]].mean()), 3.0),
        noise_mends_the_field=below(float(noisy.mean()), float(plain.mean()) / 3),
        annealing_finds_the_weights=near(upper_fraction(data["annealed"]), WEIGHTS[1], tolerance=0.15),
        annealing_ends_in_the_clouds=above(in_clouds(data["annealed"]), 0.85),
        annealing_forgets_the_start=near(stay(data, "annealed"), 0.5, tolerance=0.15),
        without_noise_it_stays_where_it_starts=above(stay(data, "direct"), 0.8),
        so_it_misses_the_weights=near(upper_fraction(data["direct"]), 0.5, tolerance=0.15),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 6.5)
    axes = figure.subplots(2, 4, sharex=True, sharey=True)
    rows = {"": "no noise", "_noisy": f"noise of deviation {FIELD_NOISE:g}"}
    for row, (kind, title) in zip(axes, rows.items()):
        row[0].set_ylabel(title, fontsize=11)
        for ax, name in zip(row, ("true", "estimated")):
            _draw_field(ax, data["grid"], data[name + kind])
            ax.set_title(f"{name} score")
        image = errors(data, kind).reshape(POINTS, POINTS)
        shown = row[2].imshow(image, origin="lower", extent=(-SIDE, SIDE, -SIDE, SIDE), cmap="magma_r")
        row[2].set_title("length of its error")
        figure.colorbar(shown, ax=row[2], shrink=0.8)
    for ax, name, title in ((axes[0, 3], "direct", "Langevin"), (axes[1, 3], "annealed", "annealed Langevin")):
        ax.scatter(*data[name].T, s=4)
        ax.set(title=f"{title}: {100 * upper_fraction(data[name]):.0f} % above", xlim=(-SIDE, SIDE), ylim=(-SIDE, SIDE))
        ax.plot(*np.transpose(CENTERS), "+", ms=12, mew=2, color="C3")
        ax.set_aspect("equal")
    figure.suptitle(f"{100 * WEIGHTS[1]:.0f} % of the data belong to the upper cloud (centers: red)")


def _draw_field(ax: Axes, grid: np.ndarray, field: np.ndarray) -> None:
    """Arrows of one length, which show the direction; the color shows how long they are."""
    length = np.linalg.norm(field, axis=1)
    ax.quiver(
        *grid.T, *(field / length[:, None]).T, np.log10(length), angles="xy", cmap="viridis_r", scale=22, width=0.008
    )
    ax.set_aspect("equal")
