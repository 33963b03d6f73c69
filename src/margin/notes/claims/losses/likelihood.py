"""Losses from likelihoods: the recipe, its families, several heads, and which loss for which task."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import torch
from scipy import optimize, stats
from torch import nn

from margin.core.verdict import Verdict, below, corrected, equal, every, near
from margin.neural import losses
from margin.neural.losses.families import FAMILIES, LikelihoodFamily
from margin.neural.losses.likelihood import NegativeLogLikelihood
from margin.neural.weights import build
from margin.notes.claims import claim
from margin.notes.claims.losses.regression import gradient, minimizer, vectors


@claim("loss-choice-table")
def each_default_loss_is_a_likelihood(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    z, f = torch.from_numpy(rng.normal(size=(30, 3))), torch.from_numpy(rng.normal(size=30))
    y, labels = torch.from_numpy(rng.integers(0, 2, size=30)).double(), torch.from_numpy(rng.integers(0, 3, size=30))
    many, target = torch.from_numpy(rng.integers(0, 2, size=(30, 3))).double(), torch.from_numpy(rng.normal(size=30))
    p = 1 / (1 + np.exp(-f.numpy()))
    gaussian = -stats.norm(f, 1).logpdf(target).mean()
    independent = -stats.bernoulli(1 / (1 + np.exp(-z.numpy()))).logpmf(many).mean()
    softmax = torch.softmax(z, dim=1).numpy()
    return every(
        binary=near(float(losses.default_loss("binary")(f, y)), -stats.bernoulli(p).logpmf(y).mean(), tolerance=1e-10),
        multiclass=near(
            float(losses.default_loss("multiclass")(z, labels)),
            -np.log(softmax[np.arange(30), labels]).mean(),
            tolerance=1e-10,
        ),
        regression=near(
            float(losses.default_loss("regression")(f, target)) / 2 + 0.5 * math.log(2 * math.pi),
            gaussian,
            tolerance=1e-10,
        ),
        multilabel=near(float(losses.default_loss("multilabel")(z, many)), independent, tolerance=1e-10),
    )


def draw(seed: int) -> dict[str, tuple[torch.Tensor, torch.Tensor, Any]]:
    """For each family: what a network gives, targets, and SciPy's logarithm of the density."""
    rng = np.random.default_rng(seed)
    raw = torch.from_numpy(rng.normal(size=(20, 3)))
    a, s = raw[:, 0].numpy(), np.exp(raw[:, 1].numpy())
    y, counts = rng.normal(size=20), rng.poisson(2.0, size=20)
    bits, labels = rng.integers(0, 2, size=20), rng.integers(0, 3, size=20)
    p = np.exp(raw.numpy()) / np.exp(raw.numpy()).sum(axis=1, keepdims=True)
    return {
        "normal": (raw[:, :2], torch.from_numpy(y), stats.norm(a, s).logpdf(y)),
        "laplace": (raw[:, :2], torch.from_numpy(y), stats.laplace(a, s).logpdf(y)),
        "poisson": (raw[:, 0], torch.from_numpy(counts).double(), stats.poisson(np.exp(a)).logpmf(counts)),
        "bernoulli": (raw[:, 0], torch.from_numpy(bits), stats.bernoulli(1 / (1 + np.exp(-a))).logpmf(bits)),
        "categorical": (raw, torch.from_numpy(labels), np.log(p[np.arange(20), labels])),
    }


@claim("negative-log-likelihood")
def negative_log_likelihoods_are_scipys(seed: int) -> Verdict:
    parts = {}
    for name, (raw, y, logarithms) in draw(seed).items():
        loss, step = losses.build_loss(name), 1e-6
        direction = torch.linspace(-1, 1, raw.numel(), dtype=torch.float64).view_as(raw)
        ahead, behind = (float(loss(raw + s * step * direction, y)) for s in (1, -1))
        along = float((gradient(lambda t, loss=loss, y=y: loss(t, y), raw) * direction).sum())
        parts[name] = every(
            value=near(float(loss(raw, y)), -logarithms.sum(), tolerance=1e-10),
            gradient=near(along, (ahead - behind) / (2 * step), tolerance=1e-5 * (1 + abs(along))),
        )
    return every(**parts)


@claim("claim-log-preserves-argmax")
def the_logarithm_does_not_move_the_maximizer(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    grid = np.linspace(-2, 2, 401)
    few, many = (rng.normal(0.3, 1, size=n) for n in (20, 2000))
    product = np.prod(stats.norm.pdf(few[:, None], grid), axis=0)
    nll = [float(losses.gaussian_nll(torch.full((20,), float(m)).double(), torch.from_numpy(few))) for m in grid]
    total = float(losses.gaussian_nll(torch.zeros(2000).double(), torch.from_numpy(many)))
    wide = float(losses.gaussian_nll(torch.full((20,), 0.5).double(), torch.from_numpy(few), sigma=1.7))
    return every(
        density=near(wide, -stats.norm.logpdf(few, 0.5, 1.7).sum(), tolerance=1e-9),
        same=equal(int(np.argmax(product)), int(np.argmin(nll))),
        product_underflows=equal(float(np.prod(stats.norm.pdf(many))), 0.0),
        logarithm_does_not=equal(math.isfinite(total) and total > 1000, True),
    )


@claim("recipe-for-loss-functions")
def a_registered_density_and_a_link_make_a_loss(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X = torch.from_numpy(rng.normal(size=(400, 2)))
    y = torch.from_numpy(rng.poisson(np.exp(0.5 + X.numpy() @ [0.8, -0.4]))).double()
    design = torch.cat([X, torch.ones(400, 1)], dim=1)
    # Only a logarithm of the density and a link, as a user would bring them.
    own = NegativeLogLikelihood(
        "count", LikelihoodFamily(lambda rate, k: k * torch.log(rate) - rate - torch.lgamma(k + 1), torch.exp)
    )
    start = torch.zeros(3, dtype=torch.float64)
    theta, built_in = (
        minimizer(lambda t, f=f: f(design @ t, y) / 400, start) for f in (own, losses.build_loss("poisson"))
    )
    rates = own.parameters(design @ theta)
    try:
        losses.register_family("count of the notes", own.family.log_prob, torch.exp)
        registered = float(losses.build_loss("count of the notes")(design @ theta, y))
    finally:
        FAMILIES.pop("count of the notes", None)
    return every(
        as_built_in=near(theta, built_in, tolerance=1e-6),
        first_order_condition=near(design.T @ (y - rates) / 400, np.zeros(3), tolerance=1e-5),
        close_to_the_truth=below(float((theta - torch.tensor([0.8, -0.4, 0.5])).abs().max()), 0.25),
        by_name=near(registered, float(own(design @ theta, y)), tolerance=1e-9),
    )


def surprise(name: str, raw: torch.Tensor, y: float) -> float:
    """Minus the logarithm of the density at y."""
    target = torch.tensor([y], dtype=torch.int64 if name == "categorical" else torch.float64)
    return -float(FAMILIES[name].log_prob(FAMILIES[name].link(raw), target)[0])


@claim("inference-by-mode")
def predictions_are_the_modes_of_the_distributions(seed: int) -> Verdict:
    parts = {}
    for name, (raw, _, _) in draw(seed).items():
        loss, theta = losses.build_loss(name), raw[:1]
        if name in ("normal", "laplace"):
            best = optimize.minimize_scalar(partial(surprise, name, theta), bracket=(-1, 1)).x
        else:
            support = range({"bernoulli": 2, "categorical": 3}.get(name, 200))
            best = min(support, key=partial(surprise, name, theta))
        parts[name] = near(float(loss.predict(theta)[0]), float(best), tolerance=1e-4)
    return every(**parts)


@claim("multiple-independent-outputs")
def independent_heads_add_their_losses(seed: int) -> Verdict:
    x, _ = vectors(seed, 12, 4)
    rng = np.random.default_rng(seed)
    target = {"y1": torch.from_numpy(rng.normal(size=12)), "y2": torch.from_numpy(rng.integers(0, 3, size=12))}
    body, first, second = (build(partial(nn.Linear, *sizes), seed, torch.float64) for sizes in ((4, 8), (8, 2), (8, 3)))
    h = torch.tanh(body(x))
    raw = {"y1": first(h), "y2": second(h)}
    heads = losses.sum_of([("y1", "normal"), ("y2", "categorical")])
    total = heads(raw, target)
    alone = {
        name: losses.build_loss(d)(raw[name], target[name]) for name, d in (("y1", "normal"), ("y2", "categorical"))
    }
    cross = torch.autograd.grad(alone["y1"], second.weight, allow_unused=True, retain_graph=True)[0]
    single_sum = float(heads.heads["y1"](raw["y1"], target["y1"]).detach())
    truth = every(
        sum=near(float(total.detach()), float((alone["y1"] + alone["y2"]).detach()), tolerance=1e-12),
        heads_do_not_touch=equal(cross is None, True),
    )
    return corrected(truth, printed=near(single_sum, float(total.detach()), tolerance=1e-6))  # one sum only, over i
