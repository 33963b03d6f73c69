r"""A variational autoencoder learns handwritten digits

Maximizing :math:`E_q[\log p(x|z)] - \mathrm{KL}(q(z|x)\,\|\,p(z))` over black-and-white digits gives a model of the
pixels together: its bound on held-out digits lies far above the exact log-likelihood of independent pixels, and the
latents of the data fill the prior from which new digits are drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK = 8  # gray value of 16 from which a pixel counts as black
TEST_DIGITS = 400
GAIN_NATS = 3.0  # what the bound must be above independent pixels, per digit
SHOWN = 10


def run(seed: int, fast: bool) -> dict[str, Any]:
    from sklearn.datasets import load_digits

    from margin.generative import VAE

    digits = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.data))
    X = (digits.data[order] >= INK).astype(np.float32)
    train, test = X[TEST_DIGITS:], X[:TEST_DIGITS]
    model = VAE(
        n_components=8,
        hidden_layer_sizes=(128,),
        likelihood="bernoulli",
        learning_rate_init=5e-3,
        max_iter=12 if fast else 120,
    )
    model.set_params(random_state=seed, standardize=False)
    elbo = [[record.iteration, record["elbo"]] for record in model.iterate(train)]
    plane = VAE(
        n_components=2,
        hidden_layer_sizes=(128,),
        likelihood="bernoulli",
        learning_rate_init=5e-3,
        max_iter=8 if fast else 120,
    )
    plane.set_params(random_state=seed, standardize=False).fit(train)
    reconstruction, kl = model.elbo_terms(test)
    return {
        "elbo_curve": np.array(elbo),
        "test_elbo": float((reconstruction - kl).mean()),
        "test_kl": float(kl.mean()),
        "independent_pixels": independent_pixels(train, test),
        "aggregate_variance": aggregate_variance(*model.encode(test)),
        "originals": test[:SHOWN],
        "reconstructions": model.reconstruct(test[:SHOWN]),
        "samples": model.sample(4 * SHOWN, random_state=seed, mean=True),
        "plane": plane.transform(test),
        "labels": digits.target[order][:TEST_DIGITS],
    }


def independent_pixels(train: np.ndarray, test: np.ndarray) -> float:
    """Mean log-likelihood of ``test`` under one Bernoulli distribution per pixel, one count of each added."""
    p = (train.sum(axis=0) + 1) / (len(train) + 2)
    return float((test @ np.log(p) + (1 - test) @ np.log1p(-p)).mean())


def aggregate_variance(mean: np.ndarray, log_variance: np.ndarray) -> np.ndarray:
    """Variance of each latent over data and posterior, which the divergence pulls to the 1 of the prior."""
    return mean.var(axis=0) + np.exp(log_variance).mean(axis=0)


def check(data: dict[str, Any]) -> Verdict:
    return every(
        bound_above_independent_pixels=above(data["test_elbo"], data["independent_pixels"] + GAIN_NATS),
        bound_rises=above(data["elbo_curve"][-1, 1], data["elbo_curve"][0, 1] + GAIN_NATS),
        latents_fill_the_prior=below(float(np.abs(data["aggregate_variance"] - 1).max()), 0.5),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(12, 8.4)
    axes = figure.subplot_mosaic([["curve", "plane"], ["pairs", "samples"]], height_ratios=[5, 4])
    steps, elbo = data["elbo_curve"].T
    axes["curve"].plot(steps, elbo, label="ELBO, training")
    axes["curve"].axhline(data["test_elbo"], color="C0", linestyle="--", label="ELBO, held-out digits")
    axes["curve"].axhline(data["independent_pixels"], color="C3", linestyle=":", label="independent pixels, exact")
    axes["curve"].set(xlabel="step", ylabel="nats per digit", title="The bound rises")
    axes["curve"].legend(fontsize="small")
    z_1, z_2 = data["plane"].T
    points = axes["plane"].scatter(z_1, z_2, c=data["labels"], cmap="tab10", vmin=-0.5, vmax=9.5, s=9)
    axes["plane"].set(xlabel=r"$z_1$", ylabel=r"$z_2$", title="Two latents, no labels used", aspect="equal")
    figure.colorbar(points, ax=axes["plane"], ticks=range(10), label="digit")
    _show(
        axes["pairs"], np.concatenate([data["originals"], data["reconstructions"]]), "Held-out digits; below, restored"
    )
    _show(axes["samples"], data["samples"], r"New digits: $z \sim N(0, I)$, decoded")


def _show(ax: Any, images: np.ndarray, title: str) -> None:
    """Rows of digits with a gap between them."""
    padded = np.pad(images.reshape(-1, SHOWN, 8, 8), ((0, 0), (0, 0), (0, 1), (0, 1)))
    rows, columns, height, width = padded.shape
    ax.imshow(padded.transpose(0, 2, 1, 3).reshape(rows * height, columns * width), cmap="gray_r", vmin=0, vmax=1)
    ax.set(title=title, xticks=[], yticks=[])
