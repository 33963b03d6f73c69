"""Losses, the best discriminator and the divergence behind them, where all densities are known."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.notes.claims import claim

P, Q = (0.2, 0.5, 0.3), (0.6, 0.1, 0.3)
TWO_LOG_TWO = 2 * math.log(2)


def tensor(values: Any) -> Any:
    import torch

    return torch.from_numpy(np.array(values, dtype=np.float64))


def logit(d: Any) -> np.ndarray:
    d = np.asarray(d, dtype=float)
    return np.log(d) - np.log1p(-d)


@claim("gan-discriminator-loss")
def the_loss_is_cross_entropy_and_least_at_the_best_discriminator(seed: int) -> Verdict:
    from scipy.optimize import minimize

    from margin.generative.gan.losses import discriminator_loss
    from margin.generative.gan.theory import optimal_discriminator

    rng = np.random.default_rng(seed)
    real, fake = rng.normal(size=(2, 50))
    d_real, d_fake = 1 / (1 + np.exp(-real)), 1 / (1 + np.exp(-fake))
    cross_entropy = -np.log(d_real) - np.log1p(-d_fake)
    p, q = rng.dirichlet(np.ones(5), size=2)

    def expect(logits: np.ndarray) -> float:
        """E[loss] over pairs of the two distributions: a real and a made draw at each point of the support."""
        both = discriminator_loss(tensor(logits)[:, None], tensor(logits)[None, :]).numpy()
        return float(p @ both @ q)

    best_logits = minimize(expect, np.zeros(5), tol=1e-12).x
    return every(
        cross_entropy=near(discriminator_loss(tensor(real), tensor(fake)).numpy(), cross_entropy, tolerance=1e-12),
        minimizer=near(1 / (1 + np.exp(-best_logits)), optimal_discriminator(p, q), tolerance=1e-3),
        equilibrium=near(float(discriminator_loss(tensor(0.0), tensor(0.0))), 1.386294, tolerance=5e-7),
    )


@claim("gan-generator-loss")
def the_non_saturating_loss_moves_a_generator_that_is_found_out() -> Verdict:
    import torch

    from margin.generative.gan.losses import discriminator_loss, generator_loss

    slopes = {}
    for kind in ("minimax", "non-saturating"):
        at = tensor(logit(0.01)).requires_grad_(True)
        (slope,) = torch.autograd.grad(generator_loss(at, kind), at)
        slopes[kind] = float(slope)
    grid = tensor(np.linspace(-4, 4, 81))
    falls = [bool((generator_loss(grid, kind).diff() < 0).all()) for kind in slopes]
    real, fake = tensor(logit(0.8)), tensor(logit(0.3))
    sums = {kind: float(generator_loss(fake, kind) + discriminator_loss(real, fake)) for kind in slopes}
    value_only = -math.log(0.8)  # what is left of a zero-sum game: the term that the generator cannot change
    return corrected(
        every(
            minimax_slope=near(slopes["minimax"], -0.01, tolerance=1e-9),
            non_saturating_slope=near(slopes["non-saturating"], -0.99, tolerance=1e-9),
            both_want_a_higher_logit=equal(falls, [True, True]),
            minimax_is_zero_sum=near(sums["minimax"], value_only, tolerance=1e-12),
        ),
        called_minimax=near(sums["non-saturating"], value_only, tolerance=0.1),
        code_and_text_are_one_loss=near(slopes["non-saturating"], slopes["minimax"], tolerance=0.1),
    )


@claim("gan-minimax-objective")
def the_value_is_minus_the_cross_entropies(seed: int) -> Verdict:
    from margin.generative.gan.losses import discriminator_loss, gan_value

    real, fake = tensor(np.random.default_rng(seed).normal(size=(2, 200)))
    return every(
        at_one_half=near(float(gan_value(0 * real, 0 * fake)), -1.386294, tolerance=5e-7),
        minus_the_loss=near(
            float(gan_value(real, fake)), -float(discriminator_loss(real, fake).mean()), tolerance=1e-12
        ),
    )


@claim("gan-optimal-discriminator")
def a_trained_discriminator_approaches_the_ratio_of_densities(seed: int) -> Verdict:
    from scipy.optimize import minimize_scalar
    from scipy.stats import norm

    from margin.generative.gan.theory import gan_value_of, optimal_discriminator

    best = optimal_discriminator(P, Q)
    by_point = [
        minimize_scalar(lambda d, p=p, q=q: -gan_value_of([d], [p], [q]), bounds=(1e-9, 1 - 1e-9), method="bounded").x
        for p, q in zip(P, Q)
    ]
    grid = np.linspace(-2, 3, 51)
    exact = optimal_discriminator(norm.pdf(grid), norm.pdf(grid, 1, 1))
    trained = _trained_discriminator(seed, grid)
    return every(
        discrete=near(by_point, best, tolerance=1e-5),
        one_half_where_equal=near(optimal_discriminator(P, P), [0.5] * 3, tolerance=1e-15),
        of_normals=near(exact, 1 / (1 + np.exp(grid - 0.5)), tolerance=1e-12),
        network=below(float(np.abs(trained - exact).mean()), 0.04),
    )


def _trained_discriminator(seed: int, grid: np.ndarray) -> np.ndarray:
    """D on ``grid`` after training against a generator that always draws N(1, 1) while data are N(0, 1)."""
    import torch

    from margin.generative.gan.losses import discriminator_loss
    from margin.generative.gan.networks import MLPDiscriminator
    from margin.neural.training import DrawnPoints, Minimize, Plan, Training, train
    from margin.neural.weights import build

    network = build(lambda: MLPDiscriminator(1, [16]), seed)

    def draw(generator: Any) -> Any:
        real, fake = torch.randn(2, 512, 1, generator=generator)
        return real, fake + 1

    def objective(module: Any, batch: Any, _: Any) -> dict[str, Any]:
        return {"loss": discriminator_loss(module(batch[0]), module(batch[1]))}

    step = Minimize(network, objective, schedule=lambda t: 0.02 * (1 - t / 300), seed=seed)
    for _ in train(Training(DrawnPoints(draw, seed, steps_per_epoch=300), step, Plan(1, record_steps=None))):
        pass
    with torch.no_grad():
        return torch.sigmoid(network(torch.from_numpy(grid[:, None]).float())).numpy()


@claim("claim-gan-js-divergence")
def the_value_at_the_best_discriminator_is_twice_the_divergence(seed: int) -> Verdict:
    from margin.foundations.information.divergence import js_divergence
    from margin.generative import GAN
    from margin.generative.gan.losses import implied_js
    from margin.generative.gan.theory import gan_value_of, optimal_discriminator

    rng = np.random.default_rng(seed)
    pairs = [rng.dirichlet(np.ones(6), size=2) for _ in range(20)]
    values = np.array([gan_value_of(optimal_discriminator(p, q), p, q) for p, q in pairs])
    divergences = np.array([float(js_divergence(p, q)) for p, q in pairs])
    value, divergence = gan_value_of(optimal_discriminator(P, Q), P, Q), float(js_divergence(P, Q))
    X = rng.normal(size=(128, 1))
    model = GAN(2, (8,), max_iter=2, random_state=seed)
    *_, record = model.iterate(X)
    return corrected(
        every(
            identity=near(values, 2 * divergences - TWO_LOG_TWO, tolerance=1e-12),
            number=near(value, -1.136093, tolerance=5e-7),
            least_at_equality=near(gan_value_of(optimal_discriminator(P, P), P, P), -TWO_LOG_TWO, tolerance=1e-12),
            implied=near(float(implied_js(value)), divergence, tolerance=1e-12),
            in_the_records=near(
                record["discriminator_js"], (record["discriminator_value"] + TWO_LOG_TWO) / 2, tolerance=1e-6
            ),
        ),
        factor_two_dropped=near(divergence - TWO_LOG_TWO, value, tolerance=0.05),
    )


@claim("claim-gan-mle-kl")
def maximum_likelihood_is_minimum_divergence_from_the_data(seed: int) -> Verdict:
    from scipy.optimize import minimize_scalar

    from margin.foundations.information.divergence import js_divergence, kl_divergence
    from margin.generative.gan.theory import gan_value_of, optimal_discriminator

    rng = np.random.default_rng(seed)
    k = np.arange(9)
    counts = np.bincount(
        np.where(rng.random(400) < 0.7, rng.binomial(8, 0.2, 400), rng.binomial(8, 0.8, 400)), minlength=9
    )
    empirical = counts / counts.sum()
    choose = np.array([math.comb(8, i) for i in k], dtype=float)

    def model(theta: float) -> np.ndarray:
        return choose * theta**k * (1 - theta) ** (8 - k)

    def argmin(function: Any) -> float:
        return float(minimize_scalar(function, bounds=(0.01, 0.99), method="bounded", options={"xatol": 1e-9}).x)

    likelihood = argmin(lambda t: -counts @ np.log(model(t)))
    divergence = argmin(lambda t: float(kl_divergence(empirical, model(t))))
    grid = np.linspace(0.02, 0.98, 193)
    by_js = float(grid[np.argmin([float(js_divergence(empirical, model(t))) for t in grid])])
    values = [gan_value_of(optimal_discriminator(empirical, model(t)), empirical, model(t)) for t in grid]
    of_model = np.array([counts @ np.log(model(t)) for t in grid])
    of_data = np.array([counts @ np.log(np.maximum(empirical, 1e-300)) for _ in grid])

    def distance(objective: np.ndarray) -> float:
        """How far from the maximum-likelihood value a maximizer of the objective may be."""
        return float(np.abs(grid[objective >= objective.max() - 1e-9] - likelihood).max())

    return corrected(
        every(
            same_minimizer=near(likelihood, divergence, tolerance=1e-5),
            closed_form=near(likelihood, float(empirical @ k) / 8, tolerance=1e-5),
            likelihood_of_the_model=below(distance(of_model), 0.005),
            the_game_minimizes_another=near(float(grid[np.argmin(values)]), by_js, tolerance=1e-12),
            and_finds_another=above(abs(by_js - likelihood), 0.03),
        ),
        likelihood_of_the_data_law=below(distance(of_data), 0.005),
    )


@claim("example-gan-training-loop")
def the_discriminator_climbs_and_the_generator_descends(seed: int) -> Verdict:
    """Each side alone, the other frozen; and one step of a scalar game whose slope is known."""
    import torch

    from margin.generative.gan.game import GANNetwork, Rules, discriminator_terms, generator_terms
    from margin.generative.gan.networks import MLPDiscriminator, MLPGenerator
    from margin.neural.training import Adversarial, Batch, Player
    from margin.neural.weights import build

    network = build(lambda: GANNetwork(MLPGenerator(2, [8], 1), MLPDiscriminator(1, [8])), seed)
    rules = Rules(2, loss="minimax")
    real = torch.from_numpy(np.random.default_rng(seed).normal(2, 0.5, size=(256, 1)).astype(np.float32))

    def climb(name: str, terms: Any, steps: int) -> list[float]:
        player = Player(name, network.get_submodule(name), lambda *args: terms(*args, rules=rules), schedule=0.02)
        game = Adversarial([player], seed=seed)
        game.modules = {"generator": network.generator, "discriminator": network.discriminator}
        return [float(game(Batch((real,)), t)[f"{name}_loss"].total.detach()) for t in range(steps)]

    up = climb("discriminator", discriminator_terms, 40)
    down = climb("generator", generator_terms, 40)
    toy = _toy_value(seed)
    return corrected(
        every(
            discriminator_raises_the_value=above(float(np.mean(up[:5]) - np.mean(up[-5:])), 0.05),
            generator_lowers_it=above(float(np.mean(down[:5]) - np.mean(down[-5:])), 0.02),
            start=near(toy[0], -1.386, tolerance=5e-4),
            ascent_raises=above(toy[1], toy[0]),
        ),
        descent_raises=above(toy[2], toy[0]),
    )


def _toy_value(seed: int) -> tuple[float, float, float]:
    """V of D = sigmoid(w x) with w = 0, after a step up the gradient, and after a step down it."""
    import torch

    from margin.generative.gan.losses import gan_value

    rng = np.random.default_rng(seed)
    real, fake = tensor(rng.normal(1, 0.5, 500)), tensor(rng.normal(-1, 0.5, 500))
    weight = torch.zeros((), dtype=torch.float64, requires_grad=True)
    value = gan_value(weight * real, weight * fake)
    (slope,) = torch.autograd.grad(value, weight)
    up, down = (float(gan_value(step * slope * real, step * slope * fake)) for step in (0.2, -0.2))
    return float(value.detach()), up, down


@claim("example-gan-mnist-code")
def the_networks_of_the_notes_have_these_sizes_and_their_dropout_can_be_switched_off(seed: int) -> Verdict:
    import torch
    from torch.nn import functional

    from margin.generative.gan.networks import MLPDiscriminator, MLPGenerator
    from margin.neural.layers.dropout import use_generator
    from margin.neural.weights import build, count_parameters

    widths = [256, 512, 1024]
    generator = build(lambda: MLPGenerator(100, widths, 784, bounded=True), seed)
    discriminator = build(lambda: MLPDiscriminator(784, widths[::-1], dropout=0.3), seed)
    z = torch.from_numpy(np.random.default_rng(seed).normal(size=(4, 100)).astype(np.float32))
    with torch.no_grad():
        images = generator(z)
        use_generator(discriminator, torch.Generator().manual_seed(seed))
        learning = [discriminator(images) for _ in range(2)]
        discriminator.eval()
        resting = [discriminator(images) for _ in range(2)]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            zeros = float((functional.dropout(torch.ones(10_000), 0.3) == 0).float().mean())
    return corrected(
        every(
            parameters_of_d=equal(count_parameters(discriminator), 1_460_225),
            parameters_of_g=equal(count_parameters(generator), 1_486_352),
            pixels_in_range=below(float(images.abs().max()), 1.0),
            dropout_while_learning=above(float((learning[0] - learning[1]).abs().max()), 0.0),
            none_afterwards=equal(bool(torch.equal(resting[0], resting[1])), True),
        ),
        # The function's default is to drop whether or not the network is set to evaluate.
        function_stops_after_eval=near(zeros, 0.0, tolerance=0.1),
        ones_without_a_size=_runs(lambda: torch.ones()),
    )


def _runs(call: Any) -> Verdict:
    try:
        call()
    except TypeError:
        return equal(False, True)
    return equal(True, True)
