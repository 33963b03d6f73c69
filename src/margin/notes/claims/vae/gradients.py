"""Gradients of expectations: the score function, the path, and what goes wrong inside the expectation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, every, near
from margin.notes.claims import claim

if TYPE_CHECKING:
    from torch import Tensor

MEAN, DRAWS = 1.5, 400_000  # f(z) = z^2 under N(1.5, 1): the gradient in the mean is 3


def example(seed: int, draws: int = DRAWS) -> tuple[Tensor, Tensor, Tensor]:
    import torch

    noise = torch.from_numpy(np.random.default_rng(seed).standard_normal(draws))
    return torch.tensor(MEAN, dtype=torch.float64), torch.tensor(0.0, dtype=torch.float64), noise


@claim("score-function-estimator")
def the_score_function_is_unbiased_and_noisy(seed: int) -> Verdict:
    import torch

    from margin.generative.gradients import pathwise_gradient, score_function_gradient

    mean, log_variance, noise = example(seed)
    by_score, by_score_width = score_function_gradient(torch.square, mean, log_variance, noise)
    by_path, by_path_width = pathwise_gradient(torch.square, mean, log_variance, noise)
    # An f that depends on the parameters: f = m z has the expectation m^2 and the gradient 2 m; f times score gives m.
    only_score = float((MEAN * (MEAN + noise) * noise).mean())
    truth = every(
        mean=near(float(by_score.mean()), 3.0, tolerance=0.06),
        agrees_with_the_path=near(float(by_score.mean() - by_path.mean()), 0.0, tolerance=0.06),
        in_the_log_variance=near(float(by_score_width.mean() - by_path_width.mean()), 0.0, tolerance=0.06),
        variance=near(float(by_score.var()), 51.56, tolerance=1.5),
        variance_of_the_path=near(float(by_path.var()), 4.0, tolerance=0.1),
        with_the_missing_term=near(only_score + float((MEAN + noise).mean()), 2 * MEAN, tolerance=0.06),
        score_of_minus_log_q_needs_no_term=near(float(noise.mean()), 0.0, tolerance=0.01),
    )
    return corrected(truth, printed=near(only_score, 2 * MEAN, tolerance=0.5))


@claim("claim-gradient-not-inside")
def the_gradient_does_not_move_inside(seed: int) -> Verdict:
    import torch

    from margin.generative.gradients import gradient_inside, pathwise_gradient

    mean, log_variance, noise = example(seed, 20_000)
    inside = float(gradient_inside(torch.square, mean, log_variance, noise)[0].mean())
    return every(
        inside=near(inside, 0.0, tolerance=0.0),
        true=near(float(pathwise_gradient(torch.square, mean, log_variance, noise)[0].mean()), 2 * MEAN, tolerance=0.1),
    )


@claim("claim-normal-latent-advantages")
def analytic_divergence_and_path_have_less_variance(seed: int) -> Verdict:
    import torch

    from margin.generative.elbo import kl_to_standard_normal, log_prior_over_posterior, reparameterize
    from margin.generative.gradients import pathwise_gradient, score_function_gradient

    mean, log_variance, noise = example(seed, 20_000)
    centers, widths = (value.expand(20_000, 1).clone().requires_grad_(True) for value in (mean, log_variance - 1.0))
    drawn = -log_prior_over_posterior(reparameterize(centers, widths, noise[:, None]), noise[:, None], widths)
    exact = kl_to_standard_normal(centers, widths)
    (by_draw,) = torch.autograd.grad(drawn.sum(), centers)
    (by_formula,) = torch.autograd.grad(exact.sum(), centers)
    score, path = (f(torch.cos, mean, log_variance, noise)[0] for f in (score_function_gradient, pathwise_gradient))
    return every(
        same_mean=near(float(by_draw.mean()), float(by_formula.mean()), tolerance=0.03),
        analytic_has_none=near(float(by_formula.var()), 0.0, tolerance=1e-20),
        drawn_has_some=above(float(by_draw.var()), 0.1),
        divergence_itself=near(float(drawn.detach().mean()), float(exact.detach().mean()), tolerance=0.05),
        path_against_score=below(float(path.var()), float(score.var())),
        true_gradient=near(float(path.mean()), -math.sin(MEAN) * math.exp(-0.5), tolerance=0.02),
    )


@claim("elbo-gradient-theta")
def the_decoder_gradient_goes_inside(seed: int) -> Verdict:
    import torch

    from margin.generative.elbo import gaussian_log_likelihood, kl_to_standard_normal, reparameterize

    noise = torch.from_numpy(np.random.default_rng(seed).standard_normal((5000, 1)))
    mean, log_variance = torch.tensor([0.4], dtype=torch.float64), torch.tensor([-1.0], dtype=torch.float64)
    z = reparameterize(mean, log_variance, noise)
    x, unit = torch.tensor([1.3], dtype=torch.float64), torch.zeros(1, dtype=torch.float64)

    def bound(slope: torch.Tensor) -> torch.Tensor:
        expected = gaussian_log_likelihood(x, slope * z, unit).mean()
        return expected - kl_to_standard_normal(mean, log_variance)

    def bound_with_prior(shift: torch.Tensor) -> torch.Tensor:
        """The prior N(shift, 1) has a parameter, too, and so has the divergence."""
        return (
            bound(shift) - kl_to_standard_normal(mean - shift, log_variance) + kl_to_standard_normal(mean, log_variance)
        )

    def slope_of(function: Callable[[Tensor], Tensor], at: float, h: float = 1e-5) -> float:
        ends = [float(function(torch.tensor([at + step], dtype=torch.float64))) for step in (h, -h)]
        return (ends[0] - ends[1]) / (2 * h)

    theta = torch.full((5000, 1), 0.7, dtype=torch.float64, requires_grad=True)
    (each,) = torch.autograd.grad(gaussian_log_likelihood(x, theta * z, unit).sum(), theta)
    inside = float(each.mean())
    prior_part = float((z - 0.7).mean())  # E[d/d shift log N(z; shift, 1)]
    expected_prior_part = 0.4 - 0.7
    truth = every(
        equals_finite_differences=near(inside, slope_of(bound, 0.7), tolerance=1e-6),
        with_the_prior=near(inside + expected_prior_part, slope_of(bound_with_prior, 0.7), tolerance=1e-6),
        prior_part_from_draws=near(prior_part, expected_prior_part, tolerance=0.05),
    )
    return corrected(truth, printed=near(inside, slope_of(bound_with_prior, 0.7), tolerance=0.05))
