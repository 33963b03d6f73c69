"""Fitted models on handwritten digits: codes against distributions, other latents, the four steps of a VAE."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.notes.claims import claim


@cache
def digits(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    data = load_digits()
    order = np.random.default_rng(seed).permutation(len(data.data))
    X, y = (data.data[order] / 16).astype(np.float32), data.target[order]
    return X[:700], X[700:1000], y[:700], y[700:1000]


@cache
def pair(seed: int) -> tuple[Any, Any]:
    """An autoencoder and a VAE of the same layers on the same digits."""
    from margin.generative import VAE, Autoencoder

    train = digits(seed)[0]
    common: dict[str, Any] = {
        "n_components": 4,
        "hidden_layer_sizes": (64,),
        "learning_rate_init": 5e-3,
        "batch_size": 32,
    }
    common |= {"max_iter": 20, "standardize": False, "random_state": seed}
    plain = Autoencoder(**common, out_activation="logistic")
    return plain.fit(train), VAE(**common, likelihood="bernoulli").fit(train)


@claim("claim-ae-vs-vae")
def an_autoencoder_gives_a_code_and_a_vae_a_distribution(seed: int) -> Verdict:
    from margin.generative.latent_space import nearest_distances
    from margin.generative.workflow import follow

    plain, variational = pair(seed)
    _, test, _, _ = digits(seed)
    first, second = (follow(variational, test[:50], random_state=k).z for k in (seed, seed + 1))
    z = np.random.default_rng(seed).standard_normal((300, 4)).astype(np.float32)
    # Nothing holds the codes of an autoencoder together, but one in fifty starts fills the prior by chance.
    starts = range(seed, seed + 3)
    by_start = [[nearest_distances(model.decode(z), digits(k)[0]).mean() for model in pair(k)] for k in starts]
    distances = np.mean(by_start, axis=0)
    return every(
        one_code=equal(bool(np.array_equal(plain.encode(test[:50]), plain.encode(test[:50]))), True),
        many_latents=above(float(np.abs(first - second).mean()), 0.05),
        mean_and_variance=equal([part.shape for part in variational.encode(test)], [(300, 4), (300, 4)]),
        samples_of_the_vae_are_nearer_to_digits=below(float(distances[1]), float(distances[0])),
    )


@claim("claim-vae-latent-structured")
def steps_between_codes_of_a_vae_are_small(seed: int) -> Verdict:
    from margin.generative.latent_space import interpolate, path_roughness

    plain, variational = pair(seed)
    _, test, _, _ = digits(seed)

    paths = {
        name: [interpolate(model, test[i], test[i + 1], 12) for i in range(0, 100, 2)]
        for name, model in (("plain", plain), ("variational", variational))
    }
    change = {name: float(np.mean([np.square(np.diff(path, axis=0)) for path in each])) for name, each in paths.items()}
    rough = {name: float(np.mean([path_roughness(path) for path in each])) for name, each in paths.items()}
    spread = float(variational.transform(test).std())
    return every(
        codes_of_the_vae_fill_the_prior=near(spread, 1.0, tolerance=0.3),
        smaller_steps=below(change["variational"], change["plain"]),
        even_steps=below(rough["variational"], 1.6),
    )


@claim("latent-space-arithmetic")
def paths_and_directions_in_the_latents(seed: int) -> Verdict:
    from margin.generative.latent_space import attribute_direction, interpolate

    _, model = pair(seed)
    train, test, labels, test_labels = digits(seed)
    strip = interpolate(model, test[0], test[1], 9)
    zeros, ones = (train[labels == k] for k in (0, 1))
    direction = attribute_direction(model, ones, zeros)
    moved = model.decode(model.transform(test[test_labels == 0]) + direction)
    centers = np.stack([zeros.mean(axis=0), ones.mean(axis=0)])
    nearer = np.linalg.norm(moved[:, None] - centers, axis=2).argmin(axis=1)
    return every(
        ends=near(strip[[0, -1]], model.reconstruct(test[:2]), tolerance=1e-5),
        strip=equal(strip.shape, (9, 64)),
        zeros_become_ones=above(float(nearer.mean()), 0.8),
    )


@claim("claim-vae-blur")
def a_shared_latent_decodes_to_the_average(seed: int) -> Verdict:
    from margin.generative import VAE
    from margin.generative.latent_space import sharpness

    _, variational = pair(seed)
    _, test, _, _ = digits(seed)
    x_1, x_2 = test[0].astype(float), test[1].astype(float)
    weights = np.linspace(0, 1, 101)
    losses = [np.square(x_1 - m).sum() + np.square(x_2 - m).sum() for m in (t * x_1 + (1 - t) * x_2 for t in weights)]
    rows = np.repeat([[-1.0], [1.0]], [150, 50], axis=0)  # their average is -0.5
    collapsed = VAE(1, (8,), beta=50.0, max_iter=80, learning_rate_init=1e-2, standardize=False, random_state=seed)
    middle = float(collapsed.fit(rows).decode(np.zeros((1, 1)))[0, 0])
    blurred, sharp = (float(sharpness(images, (8, 8)).mean()) for images in (variational.reconstruct(test), test))
    return every(
        minimizer=near(float(weights[int(np.argmin(losses))]), 0.5, tolerance=1e-9),
        two_modes_one_latent=near(middle, -0.5, tolerance=0.25),
        contrast=near(sharpness(test[:5], (8, 8)), _contrast_by_hand(test[:5]), tolerance=1e-6),
        reconstructions_are_smoother=below(blurred, 0.8 * sharp),
    )


def _contrast_by_hand(images: np.ndarray) -> list[float]:
    """Mean squared step down plus mean squared step to the right in images of 8 x 8, pixel by pixel."""
    contrasts = []
    for image in images.reshape(-1, 8, 8).astype(float):
        down = [(image[i + 1, j] - image[i, j]) ** 2 for i in range(7) for j in range(8)]
        right = [(image[i, j + 1] - image[i, j]) ** 2 for i in range(8) for j in range(7)]
        contrasts.append(sum(down) / 56 + sum(right) / 56)
    return contrasts


@claim("vae-von-mises-fisher")
def latents_on_the_sphere(seed: int) -> Verdict:
    import torch

    from margin.generative import VAE
    from margin.generative.sphere import bessel_ratio, kl_to_uniform_sphere, sample_von_mises_fisher

    train = digits(seed)[0]
    model = VAE(3, (32,), latent="von-mises-fisher", likelihood="bernoulli", max_iter=6, learning_rate_init=1e-2)
    model.set_params(random_state=seed, batch_size=32).fit(train[:400])
    kappas = torch.tensor([1e-3, 0.1, 1.0, 10.0, 100.0], dtype=torch.float64)
    divergence = kl_to_uniform_sphere(kappas, 3).numpy()
    direction = np.array([0.6, 0.0, 0.8])
    draws = sample_von_mises_fisher(direction, 10.0, 20_000, np.random.default_rng(seed))
    return every(
        on_the_sphere=near(np.linalg.norm(model.transform(train[:50]), axis=1), np.ones(50), tolerance=1e-4),
        rejection_on_the_sphere=near(np.linalg.norm(draws, axis=1), np.ones(20_000), tolerance=1e-9),
        mean_direction=near(float((draws @ direction).mean()), float(bessel_ratio(kappas[3], 3)), tolerance=5e-3),
        closed_form_in_three_dimensions=near(  # log(kappa / sinh kappa) + kappa coth kappa - 1
            float(divergence[3]), math.log(10 / math.sinh(10)) + 10 / math.tanh(10) - 1, tolerance=1e-9
        ),
        zero_without_concentration=near(float(divergence[0]), 0.0, tolerance=1e-6),
        grows=above(float(np.diff(divergence).min()), 0.0),
        learns=below(model.loss_curve_[-1], model.loss_curve_[0] - 2.0),
    )


@claim("vae-gaussian-mixture")
def components_of_the_prior_find_classes(seed: int) -> Verdict:
    from margin.generative import VAE

    train, test, labels, test_labels = digits(seed)
    model = VAE(6, (64,), latent="mixture", n_prior_components=20, likelihood="bernoulli", learning_rate_init=5e-3)
    model.set_params(max_iter=20, batch_size=32, standardize=False, random_state=seed).fit(train)
    component, on_test = (model.responsibilities(rows).argmax(axis=1) for rows in (train, test))
    named = {k: np.bincount(labels[component == k]).argmax() for k in np.unique(component)}
    hits = float(np.mean([named.get(k, -1) == label for k, label in zip(on_test, test_labels)]))
    return every(
        better_than_chance=above(hits, 0.3),
        several_components_are_used=above(len(named), 2),
        bound_is_finite=above(model.score(test), -64 * math.log(2)),
    )


@claim("vae-prior-posterior-likelihood")
def each_distribution_is_of_the_right_variable(seed: int) -> Verdict:
    from margin.generative.workflow import describe, follow

    _, model = pair(seed)
    _, test, _, _ = digits(seed)
    distributions, steps = describe(model), follow(model, test[:7], random_state=seed)
    truth = every(
        prior=equal(distributions["prior"], "p(z) = N(0, I), z in R^4"),
        posterior=equal(distributions["posterior"], "q(z|x) = N(mu(x), diag sigma^2(x)), z in R^4"),
        likelihood=equal(distributions["likelihood"], "p(x|z) = prod_j Bernoulli(p_j(z)), x in R^64"),
        shapes=equal((steps.center.shape, steps.decoded.shape), ((7, 4), (7, 64))),
    )
    # The posterior printed as q(x|z) would be a distribution of data; what the encoder gives has the size of latents.
    return corrected(truth, printed=equal(steps.center.shape[1], test.shape[1]))


@claim("example-vae-workflow")
def four_steps_from_a_row_to_a_row(seed: int) -> Verdict:
    from margin.generative import VAE
    from margin.generative.workflow import follow

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 1)) @ [[1.0, -1.0, 2.0]] + 0.3 * rng.normal(size=(200, 3))
    model = VAE(2, (8,), max_iter=40, learning_rate_init=2e-2, random_state=seed).fit(X)
    first, second = (follow(model, X[:5], random_state=k) for k in (seed, seed + 1))
    many = follow(model, np.repeat(X[:1], 20_000, axis=0), random_state=seed)
    deviation = np.exp(0.5 * first.width[0])
    truth = every(
        shapes=equal(
            [first.center.shape, first.z.shape, first.decoded.shape, first.drawn.shape], [(5, 2)] * 2 + [(5, 3)] * 2
        ),
        another_seed_another_latent=above(float(np.abs(first.z - second.z).min()), 0.0),
        placed=near(first.z, first.center + np.exp(0.5 * first.width) * first.noise, tolerance=1e-5),
        mean_of_draws=near(many.z.mean(axis=0), first.center[0], tolerance=0.03),
        spread_of_draws=near(many.z.std(axis=0) / deviation, np.ones(2), tolerance=0.03),
        decoder_noise=near(
            float((many.drawn - many.decoded).std(axis=0)[0] / many.deviation[0, 0]), 1.0, tolerance=0.03
        ),
    )
    # With sigma as the second argument the variance of z would be sigma.
    return corrected(truth, printed=near(many.z.var(axis=0) / deviation, np.ones(2), tolerance=0.03))


@claim("markovian-hvae")
def a_chain_of_latents_has_the_bound_of_a_markovian_hierarchy(seed: int) -> Verdict:
    import torch

    from margin.generative import VAE
    from margin.generative.latents import markov_log_ratio

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 1)) @ [[1.0, -1.0, 2.0]] + 0.3 * rng.normal(size=(300, 3))
    model = VAE(2, (16,), latent="hierarchical", n_levels=3, max_iter=40, learning_rate_init=1e-2, random_state=seed)
    model.set_params(bound_samples=32).fit(X)
    independent = float(-0.5 * (np.log(2 * np.pi * X.var(axis=0)) + 1).sum())  # the best normal density per column
    # A chain with known links: z_1 | x ~ N(a x, 1 - a^2) and so on. With the exact posteriors backwards the bound
    # is the log evidence, for every draw: the same routine as for a diffusion model with fixed links.
    a, x = 0.8, torch.full((6, 1), 0.7, dtype=torch.float64)
    log_variance = torch.full((6, 1), math.log(1 - a**2), dtype=torch.float64)
    levels = [x]
    for _ in range(3):
        levels.append(a * levels[-1] + torch.from_numpy(math.sqrt(1 - a**2) * rng.normal(size=(6, 1))))
    zero = torch.zeros_like(x)
    forward = [(a * below, log_variance) for below in levels[:-1]]
    backward = [*((a * above, log_variance) for above in levels[2:]), (zero, zero)]
    ratio = markov_log_ratio(levels[1:], forward, backward)
    log_likelihood = -0.5 * ((x - a * levels[1])[:, 0] ** 2 / (1 - a**2) + math.log(2 * math.pi * (1 - a**2)))
    evidence = -0.5 * (0.7**2 + math.log(2 * math.pi))
    return every(
        learns=below(model.loss_curve_[-1], model.loss_curve_[0] - 0.5),
        samples=equal(model.sample(5, random_state=seed).shape, (5, 3)),
        above_independent_columns=above(model.score(X), independent),
        stationary_chain_is_tight=near((log_likelihood + ratio).numpy(), np.full(6, evidence), tolerance=1e-10),
    )
