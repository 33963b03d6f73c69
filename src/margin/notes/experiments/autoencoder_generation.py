"""Random codes of an autoencoder decode to nonsense, those of a VAE to digits

Nothing in the training of an autoencoder says where its codes lie, so normal latents, and even neighbors of a code,
decode to images far from every digit; the divergence of a VAE fills the prior with codes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 10
NEAR = 1.0  # distance of a neighboring latent, in units of the prior


def run(seed: int, fast: bool) -> dict[str, Any]:
    from sklearn.datasets import load_digits

    from margin.generative import VAE, Autoencoder
    from margin.generative.latent_space import nearest_distances

    rows = np.random.default_rng(seed).permutation(1797)[: 700 if fast else 1000]
    X = (load_digits().data / 16).astype(np.float32)[rows]
    common: dict[str, Any] = {
        "n_components": 8,
        "hidden_layer_sizes": (64,),
        "learning_rate_init": 5e-3,
        "batch_size": 32,
    }
    common |= {"max_iter": 20 if fast else 150, "standardize": False, "random_state": seed}
    models = {
        "autoencoder": Autoencoder(**common, out_activation="logistic"),
        "vae": VAE(**common, likelihood="bernoulli"),
    }
    rng = np.random.default_rng(seed)
    z, step = (rng.standard_normal((300, 8)).astype(np.float32) for _ in range(2))
    step *= NEAR / np.linalg.norm(step, axis=1, keepdims=True)
    data: dict[str, Any] = {}
    for name, model in models.items():
        codes = model.fit(X).transform(X[:300])
        drawn, neighbors, own = model.decode(z), model.decode(codes + step), model.decode(codes)
        data[f"{name}_random"], data[f"{name}_near"] = drawn[: 2 * SHOWN], neighbors[: 2 * SHOWN]
        data[f"{name}_distance_random"] = float(nearest_distances(drawn, X).mean())
        data[f"{name}_distance_near"] = float(nearest_distances(neighbors, X).mean())
        data[f"{name}_moved"] = float(np.linalg.norm(neighbors - own, axis=1).mean())
    return data


def check(data: dict[str, Any]) -> Verdict:
    return every(
        random_latents=below(data["vae_distance_random"], data["autoencoder_distance_random"]),
        the_vae_draws_near_digits=below(data["vae_distance_random"], 1.2 * data["vae_distance_near"] + 0.2),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 3.7)
    axes = figure.subplots(2, 2)
    for row, name in enumerate(("autoencoder", "vae")):
        for column, kind in enumerate(("random", "near")):
            images = data[f"{name}_{kind}"].reshape(2, SHOWN, 8, 8).transpose(0, 2, 1, 3).reshape(16, 8 * SHOWN)
            distance = data[f"{name}_distance_{kind}"]
            axes[row, column].imshow(images, cmap="gray_r", vmin=0, vmax=1)
            what = "random latents" if kind == "random" else "neighbors of codes"
            axes[row, column].set(title=f"{name}: {what}, {distance:.2f} from a digit", xticks=[], yticks=[])
