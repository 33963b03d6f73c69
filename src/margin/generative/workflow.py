"""What happens to one row inside a fitted VAE, step by step, and the three distributions it is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from margin.core.array_types import MatrixLike
from margin.core.randomness import RandomLike, as_generator
from margin.neural.scaling import Scaling

if TYPE_CHECKING:
    from margin.generative.vae import VAE

__all__ = ["Workflow", "describe", "follow"]


class Workflow(NamedTuple):
    """Every quantity on the way of rows through a VAE."""

    center: np.ndarray  # mean of the posterior, or its direction
    width: np.ndarray  # log-variance of the posterior, or its concentration
    noise: np.ndarray  # what places the latent
    z: np.ndarray
    decoded: np.ndarray  # mean of the likelihood
    deviation: np.ndarray  # deviation of the likelihood, per column
    drawn: np.ndarray  # a draw from the likelihood


def follow(model: VAE, X: MatrixLike, random_state: RandomLike = None) -> Workflow:
    """Encode the rows, draw a latent for each, decode it and draw a row: the four steps of a VAE."""
    rng = as_generator(random_state)
    module = model._trained_network()
    rows = np.asarray(X)
    scaling = Scaling(model.center_, model.scale_)
    noise = rng.standard_normal((len(rows), module.latent.n_noise))
    like = next(module.parameters())
    with torch.inference_mode():
        head = module.encoder(torch.from_numpy(np.asarray(scaling.apply(rows))).to(like))
        center, width = (part.numpy(force=True) for part in module.latent.split(head))
        z = module.latent.place(head, torch.from_numpy(noise).to(like)).numpy(force=True)
    decoded = model.decode(z)
    if module.likelihood == "bernoulli":
        deviation = np.sqrt(decoded * (1 - decoded))
        drawn = (rng.random(decoded.shape) < decoded).astype(decoded.dtype)
    else:
        deviation = np.exp(0.5 * float(module.log_variance.detach())) * np.broadcast_to(model.scale_, decoded.shape)
        drawn = decoded + deviation * rng.standard_normal(decoded.shape)
    return Workflow(center, width, noise, z, decoded, deviation, drawn)


PRIORS = {
    "normal": "N(0, I)",
    "mixture": "sum_k pi_k N(m_k, diag s_k^2)",
    "von-mises-fisher": "uniform on the sphere",
    "hierarchical": "a Markov chain from N(0, I)",
}


def describe(model: VAE) -> dict[str, str]:
    """Prior, posterior and likelihood of a fitted VAE, each with what it is a distribution of.

    >>> from margin.generative import VAE
    >>> model = VAE(2, (4,), max_iter=1, random_state=0).fit(np.eye(5))
    >>> describe(model)["likelihood"]
    'p(x|z) = N(mu(z), sigma^2 I), x in R^5'
    """
    network = model.network_
    k, p = network["n_components"], network["n_features"]
    sphere = network["latent"] == "von-mises-fisher"
    posterior = "vMF(mu(x), kappa(x))" if sphere else "N(mu(x), diag sigma^2(x))"
    likelihood = "prod_j Bernoulli(p_j(z))" if network["likelihood"] == "bernoulli" else "N(mu(z), sigma^2 I)"
    return {
        "prior": f"p(z) = {PRIORS[network['latent']]}, z in R^{k}",
        "posterior": f"q(z|x) = {posterior}, z in R^{k}",
        "likelihood": f"p(x|z) = {likelihood}, x in R^{p}",
    }
