"""Noise and sparsity on handwritten digits, and what the penalty stands for."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.notes.claims import claim


@cache
def digits(seed: int) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    X = (load_digits().data / 16).astype(np.float32)[np.random.default_rng(seed).permutation(1797)]
    return X[:480], X[600:900]


@cache
def fit(seed: int, **options: Any) -> Any:
    from margin.generative import Autoencoder

    chosen: dict[str, Any] = {
        "n_components": 16,
        "hidden_layer_sizes": (),
        "out_activation": "logistic",
        "max_iter": 15,
    } | options
    model = Autoencoder(**chosen, learning_rate_init=1e-2, standardize=False, batch_size=32, random_state=seed)
    return model.fit(digits(seed)[0])


@claim("denoising-autoencoder")
def what_was_trained_on_noise_removes_it(seed: int) -> Verdict:
    _, test = digits(seed)
    rng = np.random.default_rng(seed)
    noisy = {
        "gaussian": (test + 0.3 * rng.standard_normal(test.shape)).astype(np.float32),
        "mask": test * (rng.random(test.shape) >= 0.3),
    }

    def error(rows: np.ndarray) -> float:
        return float(np.mean((rows - test) ** 2))

    parts = {}
    for kind, rows in noisy.items():
        model = fit(seed, noise=0.3, noise_kind=kind, hidden_layer_sizes=(64,))
        restored = model.reconstruct(rows)
        parts[f"{kind}_restored"] = below(error(restored), 0.7 * error(rows))
        ratio = 10 * math.log10(1 / error(restored)) - 10 * math.log10(1 / error(rows))
        parts[f"{kind}_signal_to_noise"] = above(ratio, 1.5)
    return every(**parts)


def near_zero(model: Any, rows: np.ndarray) -> float:
    return float(np.mean(np.abs(model.encode(rows)) < 1e-2))


def error(model: Any, rows: np.ndarray) -> float:
    return -model.score(rows)


@claim("sparse-autoencoder")
def a_penalty_empties_the_code_before_it_costs_much(seed: int) -> Verdict:
    train, test = digits(seed)
    wide = {"n_components": 80, "code_activation": "relu", "sparsity": "l1"}  # overcomplete: 80 against 64 pixels
    models = {weight: fit(seed, **wide, sparsity_weight=weight) for weight in (0.0, 0.05, 0.3)}
    zeros, errors = ([f(model, test) for model in models.values()] for f in (near_zero, error))
    activity = {
        weight: float(fit(seed, code_activation="logistic", sparsity="kl", sparsity_weight=weight).encode(test).mean())
        for weight in (0.0, 0.5)
    }
    largest = fit(seed, n_components=80, n_active=8)
    return every(
        emptier=equal(zeros[0] < zeros[1] < zeros[2], True),
        error_rises_slowly=below(errors[1], 1.5 * errors[0] + 0.5),
        better_than_the_mean=below(errors[1], 0.7 * float(train.var(axis=0).sum())),
        divergence_quiets_too=below(activity[0.5], 0.7 * activity[0.0]),
        top_k=near(float(np.mean(largest.encode(test) != 0)), 0.1, tolerance=1e-6),
    )


@claim("sparse-autoencoder-l1")
def more_weight_more_zeros_more_error(seed: int) -> Verdict:
    import torch

    from margin.generative.sparsity import l1_activity

    _, test = digits(seed)
    models = [fit(seed, code_activation="relu", sparsity="l1", sparsity_weight=w) for w in (0.0, 0.1, 1.0)]
    zeros, errors = ([f(model, test) for model in models] for f in (near_zero, error))
    codes = models[1].encode(test)
    return every(
        zeros_grow=equal(zeros[0] < zeros[1] < zeros[2], True),
        error_grows=equal(errors[0] < errors[1] < errors[2], True),
        penalty=near(l1_activity(torch.from_numpy(codes)).numpy(), np.abs(codes).sum(axis=1), tolerance=1e-4),
    )


@claim("sparse-autoencoder-kl")
def mean_activities_move_to_the_target(seed: int) -> Verdict:
    import torch

    from margin.generative.sparsity import bernoulli_kl

    rho, (_, test) = 0.05, digits(seed)
    grid = torch.linspace(0.01, 0.99, 99, dtype=torch.float64)
    divergence = bernoulli_kl(rho, grid).numpy()
    away = divergence[np.abs(grid.numpy() - rho) > 1e-9]

    def distance(weight: float) -> float:
        model = fit(seed, code_activation="logistic", sparsity="kl", sparsity_weight=weight, sparsity_target=rho)
        return float(np.abs(model.encode(test).mean(axis=0) - rho).mean())

    distances = [distance(weight) for weight in (0.0, 0.1, 2.0)]
    truth = every(
        zero_at_the_target=near(float(bernoulli_kl(rho, torch.tensor(rho, dtype=torch.float64))), 0.0, tolerance=1e-12),
        positive_elsewhere=above(float(away.min()), 0.0),
        moves_to_the_target=below(distances[2], 0.25 * distances[0]),
        weight_sets_how_far=equal(distances[0] > distances[1] > distances[2], True),
    )
    with np.errstate(invalid="ignore"):  # a mean activity of 1.5, which rectified units may have
        outside = rho * np.log(rho / 1.5) + (1 - rho) * np.log((1 - rho) / np.float64(1 - 1.5))
    return corrected(
        truth,
        no_weight=near(distances[1], distances[2], tolerance=0.01),  # one strength for all
        any_activation=above(outside, 0.0),
    )


@claim("claim-sparsity-as-latent-prior")
def the_penalty_is_a_laplace_prior_at_one_code(seed: int) -> Verdict:
    import torch
    from scipy.special import logsumexp
    from scipy.stats import laplace, norm

    from margin.generative.sparsity import l1_activity, laplace_negative_log_density

    rng, rate, sigma = np.random.default_rng(seed), 1.7, 0.6
    h, x, decoder = rng.normal(size=(50, 3)), rng.normal(size=(50, 4)), rng.normal(size=(3, 4))
    tensor = torch.from_numpy(h)
    prior = -laplace(scale=1 / rate).logpdf(h).sum(axis=1)
    joint = prior - norm.logpdf(x, h @ decoder, sigma).sum(axis=1)
    penalized = np.square(x - h @ decoder).sum(axis=1) / (2 * sigma**2) + rate * l1_activity(tensor).numpy()
    constant = 4 * math.log(sigma * math.sqrt(2 * math.pi)) - 3 * math.log(rate / 2)
    # One code and one column: the marginal on a grid of codes against the joint at the best one.
    grid = np.linspace(-30, 30, 60_001)
    logs = norm.logpdf(1.0, grid, sigma) + laplace(scale=1 / rate).logpdf(grid)
    marginal, at_the_best = float(logsumexp(logs) + math.log(grid[1] - grid[0])), float(logs.max())
    truth = every(
        prior=near(laplace_negative_log_density(tensor, rate).numpy(), prior, tolerance=1e-12),
        joint=near(joint - penalized, np.full(50, constant), tolerance=1e-10),
        not_the_marginal=above(abs(marginal - at_the_best), 0.1),
    )
    return corrected(truth, printed=near(at_the_best, marginal, tolerance=0.1))
