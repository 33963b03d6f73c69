"""Flows: determinants by torch's Jacobians, inverses by going back, first weights by their law."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import torch
from scipy import stats
from tests.oracles import oracle
from tests.oracles.generative.diffusion import normals, same
from torch import nn
from torch.nn import functional

from margin.core.verdict import Verdict, equal, every, near
from margin.generative import elbo, latent, sparsity
from margin.generative.flows import equations
from margin.generative.flows.continuous import ContinuousFlow
from margin.generative.flows.layers import AffineCoupling, MaskedAutoregressive, PlanarLayer, SplineCoupling
from margin.generative.sphere import sample_von_mises_fisher
from margin.notes.claims.chance import ERRORS, plausible

PATH = "margin.generative"


@oracle(*(f"{PATH}.flows.layers.{name}" for name in ("PlanarLayer", "AffineCoupling", "MaskedAutoregressive",
                                                     "SplineCoupling")), f"{PATH}.flows.continuous.ContinuousFlow",
        *(f"{PATH}.flows.equations.{name}" for name in ("change_of_variables", "affine", "spline_from")))  # fmt: skip
def layers_and_jacobians(seed: int) -> Verdict:
    """With random weights, in three dimensions, inside and outside the reach of splines."""
    layers: dict[str, Any] = {
        "planar": PlanarLayer(3), "affine": AffineCoupling(3, [6], 0), "affine_other": AffineCoupling(3, [6], 1),
        "masked": MaskedAutoregressive(3, [7], 1), "spline": SplineCoupling(3, [6], 0, n_bins=5, bound=2.5),
        "continuous": ContinuousFlow(3, [5, 4], n_steps=12),
    }  # fmt: skip
    x, parts = normals(seed, 5, 3), {}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        for name, layer in layers.items():
            layer.double()
            for p in layer.parameters():
                nn.init.normal_(p, std=0.5)
            z, log_determinant = layer(x)
            image = partial(_image_of_a_row, layer)
            J = torch.func.vmap(torch.func.jacrev(image))(x)
            tolerance = 1e-4 if name == "continuous" else 1e-8
            parts[f"{name}_determinant"] = same(log_determinant, torch.linalg.slogdet(J)[1], tolerance)
            parts[f"{name}_back"] = same(layer.inverse(z), x, 1e-4 if name == "continuous" else 1e-6)
            density = -0.5 * (z**2).sum(dim=1) - 1.5 * math.log(2 * math.pi) + torch.linalg.slogdet(J)[1]
            log_density = equations.change_of_variables(image, x)
            parts[f"{name}_density"] = same(log_density, density)
        first = [PlanarLayer(400) for _ in range(2)]
    kept = [torch.equal(layers[name](x)[0][:, k], x[:, k]) for name, k in (("affine", 1), ("affine_other", 0),
                                                                          ("affine_other", 2))]  # fmt: skip
    s, t = normals(seed + 1, 5, 3), normals(seed + 2, 5, 3)
    moved, log_scale = equations.affine(x, s, t)
    plain = equations.spline_from(torch.zeros(4, 2, 14).double(), 2.0)
    inner = equations.spline_from(normals(seed, 2, 14), 3.0)
    slopes = functional.softplus(normals(seed, 2, 14)[:, 10:]) / math.log(2)
    return every(
        **parts,
        kept=equal(kept, [True] * 3),
        stands_still=same(ContinuousFlow(3, [5, 4]).double()(x)[0], x),
        but_turns=equal(bool(ContinuousFlow(3, [5, 4]).velocity.linears[-2].weight.any()), True),
        moved=same(moved, t + x * s.exp()),
        scale=same(log_scale, s[:, 0] + s[:, 1] + s[:, 2]),
        identity=same(plain(normals(seed, 4, 2))[0], normals(seed, 4, 2)),
        slopes=near(_slopes(inner)[:, 1:-1], slopes.numpy(), tolerance=0.02),
        ends=near(_slopes(inner)[:, [0, -1]], np.ones((2, 2)), tolerance=1e-12),
        directions=plausible(stats.kstest(torch.cat([p.w for p in first]).detach().numpy() * 20, "norm").pvalue),
        pushes=plausible(stats.kstest(torch.cat([p.u for p in first]).detach().numpy() * 200, "norm").pvalue),
    )


def _image_of_a_row(layer: Any, row: torch.Tensor) -> torch.Tensor:
    image: torch.Tensor = layer(row[None])[0][0]
    return image


def _slopes(spline: Any) -> np.ndarray:
    return np.asarray(spline[2].detach())


@oracle(*(f"{PATH}.latent.{name}" for name in ("ring", "effective_sample_size")),
        *(f"{PATH}.elbo.{name}" for name in ("log_prior_over_posterior", "importance_bound",
                                             "bernoulli_log_likelihood")),
        *(f"{PATH}.sparsity.{name}" for name in ("bernoulli_kl", "laplace_negative_log_density")),
        f"{PATH}.sphere.sample_von_mises_fisher")  # fmt: skip
def laws_of_codes(seed: int) -> Verdict:
    """Sums of torch's log-densities; divergences by SciPy; cosines of draws have the mean that SciPy's law has."""
    rng = np.random.default_rng(seed)
    z, w = rng.normal(size=(6, 2)), rng.normal(size=7)
    mean, log_variance, noise = (normals(seed + k, 4, 3) for k in range(3))
    code, x, logits = normals(seed + 3, 4, 5), torch.tensor([[0.0, 1.0, 0.3]]).double(), normals(seed + 4, 1, 3)
    place = mean + (0.5 * log_variance).exp() * noise
    prior, posterior = (
        torch.distributions.Normal(0.0, 1.0),
        torch.distributions.Normal(mean, (0.5 * log_variance).exp()),
    )
    log_weights, p = normals(seed + 5, 6, 4), torch.sigmoid(logits)
    activity = torch.tensor([0.1, 0.4, 0.9]).double()
    direction = np.array([0.6, 0.0, -0.8])
    theirs = stats.vonmises_fisher(direction, 3.0)
    drawn = sample_von_mises_fisher(direction, 3.0, 1500, rng)
    angle = np.arctan2(drawn[:, 1], drawn @ [0.8, 0.0, 0.6])  # about the direction
    expected = 1 / np.tanh(3.0) - 1 / 3.0
    flat = sample_von_mises_fisher(np.array([1.0, 0.0, 0.0, 0.0]), 2.0, 1500, rng)
    return every(
        ring=near(latent.ring(z, 2.5), z * (1 / 2.5 + 1 / np.hypot(z[:, 0], z[:, 1])[:, None]), tolerance=1e-12),
        worth=near(latent.effective_sample_size(w), np.exp(w).sum() ** 2 / (np.exp(w) ** 2).sum(), tolerance=1e-9),
        ratio=same(elbo.log_prior_over_posterior(place, noise, log_variance),
                   (prior.log_prob(place) - posterior.log_prob(place)).sum(dim=1)),
        bound=same(elbo.importance_bound(log_weights), torch.log(log_weights.exp().mean(dim=0))),
        coins=same(elbo.bernoulli_log_likelihood(x, logits), (x * p.log() + (1 - x) * (1 - p).log()).sum(dim=1)),
        divergence=near(sparsity.bernoulli_kl(0.3, activity).numpy(),
                        [stats.entropy([0.3, 0.7], [a, 1 - a]) for a in activity.tolist()], tolerance=1e-9),
        laplace=near(sparsity.laplace_negative_log_density(code, 1.7).numpy(),
                     -stats.laplace(0, 1 / 1.7).logpdf(code.numpy()).sum(axis=1), tolerance=1e-9),
        unit=near(np.linalg.norm(drawn, axis=1), np.ones(1500), tolerance=1e-9),
        cosine=near((drawn @ direction).mean(), expected, tolerance=ERRORS * np.std(drawn @ direction) / np.sqrt(1500)),
        law=plausible(stats.ks_2samp(drawn @ direction, theirs.rvs(1500, random_state=seed) @ direction).pvalue),
        around=plausible(stats.kstest(angle / (2 * np.pi) + 0.5, "uniform").pvalue),
        four_dimensions=near(flat[:, 0].mean(), _mean_cosine(2.0, 4), tolerance=0.06),
    )  # fmt: skip


def _mean_cosine(kappa: float, d: int) -> float:
    """The mean of the cosine with density proportional to exp(kappa w) (1 - w^2)^((d - 3) / 2)."""
    w = np.linspace(-1, 1, 20001)[1:-1]
    weight = np.exp(kappa * w) * (1 - w**2) ** ((d - 3) / 2)
    return float((w * weight).sum() / weight.sum())
