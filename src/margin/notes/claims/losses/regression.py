"""Losses of real targets, and what a loss is."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.data.bundled import cholesterol
from margin.neural import losses
from margin.neural.diagnostics import descend
from margin.neural.losses.target_losses import NormalLikelihood
from margin.neural.weights import build
from margin.notes.claims import claim


def vectors(seed: int, *shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Predictions and targets."""
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.normal(size=shape)), torch.from_numpy(rng.normal(size=shape))


def gradient(loss: Any, x: torch.Tensor) -> torch.Tensor:
    x = x.clone().requires_grad_()
    return torch.autograd.grad(loss(x), x)[0]


def least_squares(X: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.linalg.lstsq(X, y[:, None]).solution[:, 0]


def minimizer(objective: Any, start: torch.Tensor) -> torch.Tensor:
    """By a quasi-Newton method, to rounding."""
    theta = nn.Parameter(start.clone())
    optimizer = torch.optim.LBFGS(
        [theta], max_iter=500, tolerance_grad=1e-12, tolerance_change=1e-16, line_search_fn="strong_wolfe"
    )

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        value = objective(theta)
        value.backward()
        return value

    optimizer.step(closure)
    return theta.detach()


@claim("loss-function-definition")
def a_loss_is_one_number_for_the_mismatch(seed: int) -> Verdict:
    X, _ = vectors(seed, 60, 3)
    y = X @ torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64) + 0.3 * vectors(seed + 100, 60)[0]
    model, squares = (build(partial(nn.Linear, 3, 1, bias=False), seed, torch.float64) for _ in range(2))
    risk = lambda loss: losses.empirical_risk(lambda rows: model(rows)[:, 0], X, y, loss)  # noqa: E731
    any_loss = descend(model.parameters(), lambda: risk(lambda f, t: (f - t).abs() ** 1.5), steps=50, rate=0.1)
    ordered = [float(losses.mse_loss(y + error, y)) for error in (0.0, 0.1, 1.0)]
    descend(
        squares.parameters(),
        lambda: losses.empirical_risk(lambda rows: squares(rows)[:, 0], X, y, losses.squared_error),
        steps=300,
        rate=0.3,
    )
    truth = every(
        least_squares=near(squares.weight[0].detach(), least_squares(X, y), tolerance=1e-8),
        any_differentiable_loss=below(any_loss[-1], any_loss[0]),
        perfect_is_0_and_worse_is_more=equal(ordered[0] == 0.0 and ordered[0] < ordered[1] < ordered[2], True),
    )
    d = {
        (a, b): float(losses.squared_error(torch.tensor(float(a)), torch.tensor(float(b))))
        for a, b in ((0, 2), (0, 1), (1, 2))
    }
    # A metric has d(0, 2) <= d(0, 1) + d(1, 2).
    return corrected(truth, printed=below(d[0, 2], d[0, 1] + d[1, 2] + 1e-12))


@claim("squared-error-loss")
def the_squared_error_and_its_gradient(seed: int) -> Verdict:
    x, y = vectors(seed, 30)
    h = 1e-6
    up, down = (losses.squared_error(x + s * h, y) for s in (1, -1))
    constant = minimizer(lambda c: losses.squared_error(c.expand(30), y, "sum"), torch.zeros(1, dtype=torch.float64))
    X, _ = vectors(seed + 1, 30, 2)
    response = y + 2 * X[:, 0]  # something that a regression sees and a constant does not
    as_constant = float(losses.squared_error(response.mean().expand(30), response, "mean"))
    as_regression = float(losses.mse_loss(X @ least_squares(X, response), response))
    total = float(losses.squared_error(x, y, "sum"))
    norm = float(torch.linalg.vector_norm(x - y))
    truth = every(
        values=near(losses.squared_error(x, y), (x.numpy() - y.numpy()) ** 2, tolerance=1e-14),
        sum=near(float(losses.squared_error(x, y, "sum")), norm**2, tolerance=1e-12),
        gradient=near(gradient(lambda t: losses.squared_error(t, y, "sum"), x), 2 * (x - y), tolerance=1e-13),
        differences=near((up - down) / (2 * h), 2 * (x - y), tolerance=1e-6),
        a_constant_fits_the_mean=near(float(constant), float(y.mean()), tolerance=1e-8),
    )
    return corrected(
        truth,
        constant_for_regression=near(as_constant, as_regression, tolerance=1e-3 * as_regression),
        called_a_mean=near(total, float(losses.squared_error(x, y, "mean")), tolerance=1e-6),
        norm_equals_its_square=near(norm, total, tolerance=1e-6),
    )


@claim("mse-loss")
def the_mean_squared_error_divides_by_n(seed: int) -> Verdict:
    x, y = vectors(seed, 4, 5)
    patients = cholesterol()
    rows, target = (torch.from_numpy(np.asarray(part, float)) for part in (patients.X, patients.y))
    design = torch.column_stack([torch.ones(len(rows), dtype=torch.float64), rows])
    assert patients.split is not None
    train, test = (torch.as_tensor(np.asarray(part)) for part in patients.split)
    theta = least_squares(design[train], target[train])
    of = {name: (design[part] @ theta, target[part]) for name, part in (("train", train), ("test", test))}
    sums = [float(losses.sse(*of[name])) for name in ("train", "test")]
    means = [float(losses.mse_loss(*of[name])) for name in ("train", "test")]
    truth = every(
        torch=near(float(losses.mse_loss(x, y)), float(nn.MSELoss()(x, y)), tolerance=1e-14),
        gradient=near(gradient(lambda t: losses.mse_loss(t, y), x), 2 * (x - y) / 20, tolerance=1e-14),
        norm=near(float(losses.mse_loss(x, y)), float(torch.linalg.vector_norm(x - y)) ** 2 / 20, tolerance=1e-13),
        sums=near(sums, [6.3158, 61.2188], tolerance=5e-5),
        means=near(means, [1.2632, 12.2438], tolerance=5e-5),
    )
    return corrected(truth, printed=near(sums, [1.2632, 12.2438], tolerance=1e-2))  # the definition without 1/n


@claim("claim-mse-output-gradient")
def the_output_gradient_of_half_the_squares(seed: int) -> Verdict:
    a, y = vectors(seed, 7)
    of_mse = gradient(lambda t: losses.mse_loss(t, y), a)
    truth = every(
        half=near(gradient(lambda t: losses.half_squared_error(t, y), a), a - y, tolerance=1e-14),
        mse=near(of_mse, 2 * (a - y) / 7, tolerance=1e-14),
        as_run=near(gradient(lambda t: losses.SquaredError()(t, y), a), (a - y) / 7, tolerance=1e-14),  # half the mean
    )
    return corrected(truth, printed=near(of_mse, a - y, tolerance=1e-6))


@claim("l1-loss")
def the_absolute_error_is_minimized_by_the_median(seed: int) -> Verdict:
    x, y = vectors(seed, 3, 4)
    skewed = torch.from_numpy(np.random.default_rng(seed).exponential(size=101))
    grid = torch.linspace(0, 5, 5001, dtype=torch.float64)
    best = {
        name: float(grid[torch.stack([loss(c.expand(101), skewed) for c in grid]).argmin()])
        for name, loss in (("l1", losses.l1_loss), ("mse", losses.mse_loss))
    }
    reductions = {
        r: near(losses.l1_loss(x, y, r), nn.L1Loss(reduction=r)(x, y), tolerance=1e-13) for r in ("none", "sum", "mean")
    }
    return every(
        **reductions,
        gradient=near(gradient(lambda t: losses.l1_loss(t, y), x), torch.sign(x - y) / 12, tolerance=1e-14),
        subgradient_at_0=equal(gradient(lambda t: losses.l1_loss(t, x), x).abs().max().item(), 0.0),
        fits_the_median=near(best["l1"], float(skewed.median()), tolerance=1e-3),
        squares_fit_the_mean=near(best["mse"], float(skewed.mean()), tolerance=1e-3),
    )


@claim("claim-l1-sharper-l2-smoother")
def squares_shrink_small_errors() -> Verdict:
    data = torch.tensor([0.0, 0.0, 0.0, 10.0], dtype=torch.float64)
    grid = torch.linspace(0, 10, 1001, dtype=torch.float64)
    best = [
        float(grid[torch.stack([f(c.expand(4), data) for c in grid]).argmin()])
        for f in (losses.l1_loss, losses.mse_loss)
    ]
    small, zero = torch.tensor([0.1], dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
    truth = every(
        median_against_mean=near(best, [0.0, 2.5], tolerance=1e-9),
        squared=near(float(losses.squared_error(small, zero)), 0.01, tolerance=1e-15),
    )
    # "Even small differences lead to a higher loss" under squares.
    return corrected(truth, printed=above(float(losses.squared_error(small, zero)), float(losses.l1_loss(small, zero))))


@claim("gaussian-regression-loss")
def a_normal_likelihood_of_fixed_width_is_least_squares(seed: int) -> Verdict:
    X, _ = vectors(seed, 40, 3)
    y = vectors(seed + 1, 40)[0] + X[:, 0]
    fits = [
        minimizer(lambda t, s=sigma: losses.gaussian_nll(X @ t, y, s), torch.zeros(3, dtype=torch.float64))
        for sigma in (0.5, 2.0)
    ]
    from scipy.stats import norm

    by_scipy = -norm(X.numpy() @ fits[0].numpy(), 0.5).logpdf(y.numpy()).sum()
    outputs = torch.stack([X @ fits[0], torch.full_like(y, math.log(0.5))], dim=-1)  # means and logarithms of widths
    return every(
        as_run=near(float(NormalLikelihood()(outputs, y[:, None]).sum()), by_scipy, tolerance=1e-10),
        value=near(float(losses.gaussian_nll(X @ fits[0], y, 0.5)), by_scipy, tolerance=1e-10),
        same_parameters=near(torch.stack(fits), least_squares(X, y).expand(2, 3), tolerance=1e-7),
        predicts_the_mean=near(losses.build_loss("normal").predict(torch.stack([y, 0 * y], -1)), y, tolerance=0.0),
    )


@claim("claim-mse-equals-gaussian-mle")
def maximum_likelihood_is_least_squares(seed: int) -> Verdict:
    X, _ = vectors(seed, 50, 2)
    y = vectors(seed + 1, 50)[0] + X @ torch.tensor([1.0, -1.0], dtype=torch.float64)
    start, parts = torch.tensor([0.3, 0.7], dtype=torch.float64), {}
    for sigma in (0.1, 1.0, 10.0):
        nll = lambda t, s=sigma: losses.gaussian_nll(X @ t, y, s)  # noqa: E731
        scaled = lambda t, s=sigma: losses.sse(X @ t, y) / (2 * s**2)  # noqa: E731
        parts[f"gradients_{sigma:g}"] = near(
            gradient(nll, start) * sigma**2, gradient(scaled, start) * sigma**2, tolerance=1e-12
        )
        parts[f"minimizers_{sigma:g}"] = near(
            minimizer(lambda t, f=nll, s=sigma: s**2 * f(t), start), least_squares(X, y), tolerance=1e-5
        )
        formula = -50 * np.log(1 / (np.sqrt(2 * np.pi) * sigma)) + float(scaled(start))
        parts[f"value_{sigma:g}"] = near(float(nll(start)) / formula, 1.0, tolerance=1e-12)
    # Unequal widths weight the rows: the maximum of the likelihood is then not the least-squares fit.
    width = torch.where(X[:, 0] > 0, 0.1, 3.0).double()
    weighted = minimizer(lambda t: (((X @ t - y) / width) ** 2).sum() / 2, start)
    right = gradient(lambda t: losses.gaussian_nll(X @ t, y, 1.0), start)
    # A density around the observed value, taken at that value, is the same number for all parameters.
    around_itself = gradient(lambda t: losses.gaussian_nll(y, y, 1.0) + 0.0 * t.sum(), start)
    # Only the logarithm of the factor has the minus in front of the sum: the squares are subtracted.
    without_bracket = gradient(lambda t: -losses.sse(X @ t, y) / 2, start)
    return corrected(
        every(**parts),
        unequal_widths=near(weighted, least_squares(X, y), tolerance=1e-4),
        density_around_the_observed_value=near(around_itself, right, tolerance=1e-3),
        bracket_is_missing=near(without_bracket, right, tolerance=1e-3),
    )
