"""Forms of the bound on finite latents, and what maximizing it does."""

from __future__ import annotations

import math

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.notes.claims import claim
from margin.notes.claims.vae.bound import X, elbo, log_normal


@claim("elbo-equivalent-forms")
def all_forms_of_the_bound_are_equal(seed: int) -> Verdict:
    from margin.foundations.information.gaussians import kl_normal
    from margin.generative.latent import bound_terms

    rng = np.random.default_rng(seed)
    gaps = []
    for _ in range(50):
        q, prior = rng.dirichlet(np.ones(5), size=2)
        terms = bound_terms(q, prior, rng.random(5))
        gaps += [terms.evidence - terms.gap - terms.bound, terms.reconstruction - terms.divergence - terms.bound]
    normal = []
    for x, mean, deviation in zip(rng.normal(size=20), rng.normal(size=20), rng.exponential(size=20) + 0.05):
        gap = float(kl_normal(mean, deviation, x / 2, math.sqrt(0.5)))
        normal.append(log_normal(x, 0, 2) - gap - elbo(x, mean, deviation**2))
    terms = bound_terms(np.array([0.6, 0.4]), np.array([0.3, 0.7]), np.array([0.9, 0.2]))
    truth = every(
        finite=near(gaps, np.zeros(100), tolerance=1e-12),
        linear_normal=near(normal, np.zeros(20), tolerance=1e-10),
        number=near(terms.bound, -0.899033, tolerance=5e-7),
    )
    # A dz left behind log p(x) turns the constant into an integral over all z, which has no finite value.
    over_wider_ranges = [2 * width * log_normal(X, 0, 2) for width in (1.0, 10.0)]
    return corrected(
        truth,
        without_the_logarithm=near(math.exp(terms.evidence) - terms.gap, terms.bound, tolerance=0.1),
        stray_dz=near(over_wider_ranges[0], over_wider_ranges[1], tolerance=0.1),
    )


@claim("claim-max-elbo-min-posterior-kl")
def raising_the_bound_lowers_the_divergence_by_as_much() -> Verdict:
    import torch

    from margin.foundations.information.gaussians import kl_normal
    from margin.generative.elbo import kl_to_standard_normal

    def path(*, train_decoder: bool) -> tuple[np.ndarray, np.ndarray]:
        """Bounds and divergences from the posterior along gradient ascent; x given z is N(a z, 1)."""
        free = torch.tensor([-1.0, 1.0, 1.0], dtype=torch.float64, requires_grad=True)  # mean, log-variance, a
        bounds, gaps = [], []
        for _ in range(150):
            mean, log_variance, a = free
            expected = -0.5 * ((X - a * mean) ** 2 + a**2 * log_variance.exp() + math.log(2 * math.pi))
            bound = expected - kl_to_standard_normal(mean[None], log_variance[None])
            (step,) = torch.autograd.grad(bound, free)
            m, v, slope = (float(value.detach()) for value in (mean, log_variance.exp(), a))
            bounds.append(float(bound.detach()))
            precision = 1 + slope**2
            gaps.append(float(kl_normal(m, math.sqrt(v), slope * X / precision, math.sqrt(1 / precision))))
            with torch.no_grad():
                free += 0.05 * step * torch.tensor([1.0, 1.0, float(train_decoder)])
        return np.array(bounds), np.array(gaps)

    bounds, gaps = path(train_decoder=False)
    both_bounds, both_gaps = path(train_decoder=True)
    truth = every(
        rises=above(float(np.diff(bounds).min()), -1e-12),
        gains=above(float(bounds[-1] - bounds[0]), 1.0),
        sum_is_constant=near(bounds + gaps, np.full(150, log_normal(X, 0, 2)), tolerance=1e-8),
        joint_ascent_moves_the_evidence=above(float(np.ptp(both_bounds + both_gaps)), 0.01),
    )
    return corrected(truth, printed=near(both_bounds + both_gaps, np.full(150, log_normal(X, 0, 2)), tolerance=1e-3))


@claim("claim-elbo-joint-kl")
def the_mean_bound_is_a_joint_divergence_up_to_the_entropy_of_the_data(seed: int) -> Verdict:
    from margin.generative.latent import bound_terms

    rng = np.random.default_rng(seed)
    gaps = []
    for _ in range(20):
        data, prior = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(3))
        likelihood = rng.dirichlet(np.ones(4), size=3).T  # p(x|z), (x, z)
        q = rng.dirichlet(np.ones(3), size=4)  # q(z|x), (x, z)
        joint_q, joint_p = data[:, None] * q, prior * likelihood
        divergence = float((joint_q * np.log(joint_q / joint_p)).sum())
        mean_bound = sum(p * bound_terms(row, prior, given).bound for p, row, given in zip(data, q, likelihood))
        gaps.append(divergence + mean_bound - float(data @ np.log(data)))
    return near(gaps, np.zeros(20), tolerance=1e-12)


@claim("example-vae-gaussian")
def a_vae_made_by_hand_for_a_normal_distribution(seed: int) -> Verdict:
    import torch

    from margin.generative.elbo import reparameterize

    rng, n, sigma = np.random.default_rng(seed), 200_000, 0.1
    x_1, x_3 = rng.normal(1, math.sqrt(2), n), rng.normal(-1, 1, n)
    x = np.column_stack([x_1, x_1 + rng.normal(size=n), x_3])
    log_variance = torch.full((1,), 2 * math.log(sigma), dtype=torch.float64)

    def noisy(mean: np.ndarray) -> np.ndarray:
        return reparameterize(
            torch.from_numpy(mean), log_variance, torch.from_numpy(rng.normal(size=mean.shape))
        ).numpy()

    z = noisy(x[:, [0, 2]])
    restored = noisy(z[:, [0, 0, 1]])
    return every(
        mean=near(x.mean(axis=0), [1.0, 1.0, -1.0], tolerance=0.02),
        covariance=near(np.cov(x.T), np.array([[2.0, 2, 0], [2, 3, 0], [0, 0, 1]]), tolerance=0.05),
        # Three coordinates carry the noise of code and decoder, and the second misses its own noise of variance 1.
        error=near(float(np.square(restored - x).sum(axis=1).mean()), 1 + 6 * sigma**2, tolerance=0.02),
        number=near(1 + 6 * sigma**2, 1.06, tolerance=1e-12),
    )


@claim("example-object-class-latent")
def a_class_latent_joins_the_halves_of_an_image(seed: int) -> Verdict:
    from margin.generative.latent import log_marginal, posterior_weights

    rng = np.random.default_rng(seed)
    # Tree, house, cat, dog: 2 x 4 pixels, each inked in two classes, since one inked in all tells nothing.
    classes = rng.permuted(np.tile([0, 0, 1, 1], (8, 1)), axis=1).T
    classes[:, 0], classes[:, 4] = [0, 0, 1, 1], [0, 0, 1, 1]  # the halves of a class begin alike
    classes[:, 1] = [0, 1, 0, 1]
    ink = np.where(classes == 1, 0.95, 0.05)

    def likelihood(x: np.ndarray, z: np.ndarray) -> np.ndarray:
        p = ink[z[:, 0].astype(int), : x.shape[1]]
        return x @ np.log(p).T + (1 - x) @ np.log1p(-p).T

    latents, log_weights = np.arange(4.0)[:, None], np.full(4, -math.log(4))
    drawn = rng.integers(4, size=4000)
    images = (rng.random((4000, 8)) < ink[drawn]).astype(float)
    pixels = images.mean(axis=0)
    independent = (rng.random((4000, 8)) < pixels).astype(float)
    half = posterior_weights(images[:, :4], likelihood, latents, log_weights)
    by_pixel = float((images @ np.log(pixels) + (1 - images) @ np.log1p(-pixels)).mean())
    return every(
        halves_agree=above(float(np.mean(images[:, 0] == images[:, 4])), 0.85),
        not_for_independent_pixels=below(float(np.mean(independent[:, 0] == independent[:, 4])), 0.6),
        denser=above(float(log_marginal(images, likelihood, latents, log_weights).mean()), by_pixel + 1.0),
        half_an_image_tells_the_class=above(float(np.mean(half.argmax(axis=1) == drawn)), 0.7),
        posterior_sums_to_one=near(half.sum(axis=1), np.ones(4000), tolerance=1e-12),
        four_classes=equal(half.shape[1], 4),
    )
