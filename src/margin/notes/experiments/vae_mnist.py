r"""A variational autoencoder draws MNIST digits

Pixels are black or white (half gray and darker is black, the same for every epoch), 60,000 digits teach, 10,000
judge. The bound on held-out digits, and the tighter importance-weighted bound of 64 draws, stand beside the exact
log-likelihood of independent pixels; the distance of drawn digits to the nearest training digit, beside that of
held-out digits, says whether digits were copied. The fast version does the same with digits of 8 x 8 pixels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 16  # digits in a row
JUDGED = 500  # held-out digits of the importance-weighted bound and of the distances


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.generative import VAE
    from margin.metrics.samples import memorization
    from margin.notes.experiments.vae_digits import independent_pixels

    train, test = black_and_white(seed, fast)
    model = VAE(16, (64,) if fast else (400,), likelihood="bernoulli", standardize=False, random_state=seed)
    model.set_params(
        max_iter=24 if fast else 12, batch_size=32 if fast else 256, learning_rate_init=5e-3 if fast else 2e-3
    ).fit(train)
    reconstruction, kl = model.elbo_terms(test)
    model.set_params(bound="iwae", bound_samples=64)
    drawn = model.sample(JUDGED, random_state=seed)
    report = memorization(train[:10_000], test[:JUDGED], drawn)
    return {
        "elbo": float((reconstruction - kl).mean()),
        "kl": float(kl.mean()),
        "importance_weighted": float(model.score(test[:JUDGED])),
        "elbo_of_the_same": float((reconstruction - kl)[:JUDGED].mean()),
        "independent_pixels": independent_pixels(train, test),
        "fraction_closer": report.fraction_closer,
        "is_memorizing": float(report.is_memorizing),
        "curve": np.asarray(model.loss_curve_),
        "originals": test[:SHOWN],
        "restored": model.reconstruct(test[:SHOWN]),
        "samples": model.sample(4 * SHOWN, random_state=seed, mean=True),
    }


def black_and_white(seed: int, fast: bool) -> tuple[np.ndarray, np.ndarray]:
    """Training and held-out digits of zeros and ones."""
    from margin.data import load

    if fast:
        X = np.asarray(load("digits").X)[np.random.default_rng(seed).permutation(1797)] >= 8
        return X[:1000].astype(np.float32), X[1000:1600].astype(np.float32)
    parts = (np.asarray(load("mnist", subset=subset).X) for subset in ("train", "test"))
    train, test = ((X >= 0.5).astype(np.float32) for X in parts)
    return train, test


def check(data: dict[str, Any]) -> Verdict:
    pixels = data["originals"].shape[1]
    return every(
        # Neighboring pixels are nearly equal, so large images gain more than small ones.
        above_independent_pixels=above(data["elbo"], data["independent_pixels"] + (3.0 if pixels < 100 else 90.0)),
        weighted_bound_is_tighter=above(data["importance_weighted"], data["elbo_of_the_same"]),
        loss_falls=below(float(data["curve"][-1]), float(data["curve"][0])),
        nothing_is_copied=below(data["is_memorizing"], 0.5),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    top, bottom = figure.subplots(2, 1, height_ratios=[2, 4])
    side = int(np.sqrt(data["originals"].shape[1]))
    caption = f"bound {data['elbo']:.1f} nats, independent pixels {data['independent_pixels']:.1f}"
    _show(top, np.concatenate([data["originals"], data["restored"]]), side, f"Held-out digits, restored: {caption}")
    _show(bottom, data["samples"], side, r"New digits: $z \sim N(0, I)$, decoded")


def _show(ax: Any, images: np.ndarray, side: int, title: str) -> None:
    grid = images.reshape(-1, SHOWN, side, side).transpose(0, 2, 1, 3)
    ax.imshow(grid.reshape(-1, SHOWN * side), cmap="gray_r", vmin=0, vmax=1)
    ax.set(title=title, xticks=[], yticks=[])
