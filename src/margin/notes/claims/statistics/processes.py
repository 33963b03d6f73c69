"""Gaussian processes, their kernels, and random fields."""

from __future__ import annotations

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.foundations.probability import is_stationary
from margin.foundations.statistics import (
    GaussianProcess,
    LaplaceCovariance,
    LinearCovariance,
    PeriodicCovariance,
    RBFCovariance,
    field_from_kernel,
    field_from_spectrum,
    jarque_bera,
)
from margin.foundations.statistics.covariance_functions import CovarianceFunction
from margin.kernels import RBF, GaussianProcessRegressor
from margin.notes.claims import claim
from margin.notes.claims.chance import plausible


@claim("gaussian-random-field")
def every_joint_law_must_be_normal(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    line = field_from_kernel((8,), RBFCovariance(2.0), rng, n=20_000)
    plane = field_from_kernel((4, 3), RBFCovariance(1.0), rng, n=20_000).reshape(20_000, -1)
    grid = np.stack(np.meshgrid(np.arange(4.0), np.arange(3.0), indexing="ij"), -1).reshape(-1, 2)
    spectral = field_from_spectrum((16, 16), lambda f: f**-3.0, rng, n=200)
    x = rng.normal(size=6000)
    flipped = x * rng.choice([-1.0, 1.0], size=6000)  # normal by itself, not jointly with x
    truth = every(
        line=near(np.cov(line.T), RBFCovariance(2.0)(np.arange(8.0), np.arange(8.0)), tolerance=0.07),
        plane=near(np.cov(plane.T), RBFCovariance(1.0)(grid, grid), tolerance=0.07),
        spectrum=near(spectral.var(), 1.0, tolerance=0.1),
        sums_are_normal=plausible(jarque_bera(line @ np.arange(8.0)).p_value),
        each_of_the_pair_is_normal=plausible(min(jarque_bera(x).p_value, jarque_bera(flipped).p_value)),
    )
    return corrected(truth, printed=plausible(jarque_bera(x + flipped).p_value))


def _process(length_scale: float, noise: float) -> GaussianProcessRegressor:
    """What a user fits, with the kernel given instead of learned."""
    return GaussianProcessRegressor(kernel=RBF(length_scale), alpha=noise, optimizer=None, normalize_y=False)


@claim("gaussian-process")
def regression_agrees_with_an_independent_implementation(seed: int) -> Verdict:
    from sklearn import gaussian_process

    rng = np.random.default_rng(seed)
    X, at = rng.uniform(-2, 2, size=(15, 2)), rng.uniform(-3, 3, size=(30, 2))
    y = np.sin(X[:, 0]) + X[:, 1]
    theirs = gaussian_process.GaussianProcessRegressor(gaussian_process.kernels.RBF(0.8), alpha=0.05, optimizer=None)
    mean, sd = theirs.fit(X, y).predict(at, return_std=True)
    process = GaussianProcess(RBFCovariance(0.8))
    ours = process.condition(X, y, noise=0.05).predict(at)
    run = _process(0.8, 0.05).fit(X, y)
    draws = process.sample(at[:3], 8000, rng)
    return every(
        as_run=near(run.predict(at, return_std=True), ours, tolerance=1e-7),
        mean=near(ours[0], mean, tolerance=1e-9),
        sd=near(ours[1], sd, tolerance=1e-7),
        prior_covariance=near(np.cov(draws.T), RBFCovariance(0.8)(at[:3], at[:3]), tolerance=0.06),
        prior_is_normal=plausible(jarque_bera(draws.sum(axis=1)).p_value),
    )


@claim("claim-kernel-is-infinite-covariance")
def choosing_points_is_marginalizing() -> Verdict:
    x, kept = np.linspace(-1, 3, 9), [0, 3, 4, 8]
    for process in (
        GaussianProcess(RBFCovariance(0.7), mean=lambda p: np.sin(p[:, 0])),
        GaussianProcess(LaplaceCovariance(1.0)).condition([0.0, 1.0], [1.0, -1.0], 0.1),
    ):
        mean, covariance = process.joint(x)
        few_mean, few_covariance = process.joint(x[kept])
        verdict = every(
            mean=near(few_mean, mean[kept], tolerance=1e-12),
            covariance=near(few_covariance, covariance[np.ix_(kept, kept)], tolerance=1e-12),
            symmetric=near(covariance, covariance.T, tolerance=1e-12),
            semidefinite=above(np.linalg.eigvalsh(covariance).min(), -1e-10),
        )
        if not verdict.ok:
            return verdict
    return verdict


@claim("gaussian-process-sampling")
def eleven_points_from_a_step_of_one_tenth(seed: int) -> Verdict:
    epsilon = 0.1
    x = epsilon * np.arange(int(1 / epsilon) + 1)
    process = GaussianProcess(RBFCovariance(0.3))
    _, covariance = process.joint(x)
    draws = process.sample(x, 2000, np.random.default_rng(seed))
    fine = np.linspace(0, 1, 400)  # singular to working precision: plain Cholesky fails, jitter saves it
    try:
        np.linalg.cholesky(process.joint(fine)[1])
        plain = True
    except np.linalg.LinAlgError:
        plain = False
    # For a process with this kernel E[(f(x + h) - f(x))^2] = 2 - 2 k(h).
    steps = np.mean(np.diff(draws, axis=1) ** 2)
    run = _process(0.3, 1e-10).sample_y(x[:, None], 2000, random_state=seed).T
    return every(
        as_run=near(np.mean(np.diff(run, axis=1) ** 2), 2 - 2 * np.exp(-0.5 * (epsilon / 0.3) ** 2), tolerance=0.01),
        matrix=equal(covariance.shape, (11, 11)),
        smooth=near(steps, 2 - 2 * np.exp(-0.5 * (epsilon / 0.3) ** 2), tolerance=0.01),
        plain_cholesky_of_400_points=equal(plain, False),
        jittered=equal(bool(np.isfinite(process.sample(fine, 2, np.random.default_rng([seed, 1]))).all()), True),
    )


@claim("linear-kernel")
def linear_draws_are_lines_through_the_origin(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    x = np.linspace(-2, 2, 9)
    draws = GaussianProcess(LinearCovariance()).sample(x, 5, rng)
    return every(
        product=near(LinearCovariance()(X, Y), X @ Y.T, tolerance=1e-12),
        # The matrix has rank one; the jitter that makes its Cholesky factor exist bends the lines this little.
        straight=below(np.abs(np.diff(draws, n=2, axis=1)).max(), 1e-4),
        through_the_origin=below(np.abs(draws[:, 4]).max(), 1e-4),
        not_constant=above(np.abs(draws[:, -1]).max(), 0.5),
    )


@claim("laplace-kernel")
def laplace_draws_are_continuous_but_rough(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2))
    x = np.linspace(0, 1, 201)

    def squared_steps(kernel: CovarianceFunction, lag: int) -> float:
        draws = GaussianProcess(kernel).sample(x, 400, np.random.default_rng([seed, 1]))
        return float(np.mean((draws[:, lag:] - draws[:, :-lag]) ** 2))

    rough = squared_steps(LaplaceCovariance(1.0), 4) / squared_steps(LaplaceCovariance(1.0), 1)
    smooth = squared_steps(RBFCovariance(1.0), 4) / squared_steps(RBFCovariance(1.0), 1)
    return every(
        formula=near(LaplaceCovariance(2.0)([0.0], [3.0]), [[np.exp(-1.5)]], tolerance=1e-12),
        semidefinite=above(np.linalg.eigvalsh(LaplaceCovariance(0.7)(X, X)).min(), -1e-12),
        steps_grow_with_the_lag=near(rough, 4.0, tolerance=0.15),  # like Brownian motion: no derivative
        smooth_steps_grow_with_its_square=near(smooth, 16.0, tolerance=0.3),
        continuous=below(squared_steps(LaplaceCovariance(1.0), 1), 0.02),
    )


@claim("periodic-kernel")
def periodic_draws_repeat(seed: int) -> Verdict:
    kernel, rng = PeriodicCovariance(period=0.5, length=0.8), np.random.default_rng(seed)
    x = np.linspace(0, 1.5, 61)
    draws = GaussianProcess(kernel).sample(x, 5, rng)
    return every(
        repeats=below(np.abs(draws[:, 20:] - draws[:, :-20]).max(), 1e-4),
        moves_within_a_period=above(np.ptp(draws, axis=1).min(), 0.1),
        semidefinite=above(np.linalg.eigvalsh(kernel(x, x)).min(), -1e-10),
        stationary=equal(is_stationary(kernel, 1, rng), True),
    )


@claim("stationary-kernels")
def only_the_linear_kernel_knows_where_it_is(seed: int) -> Verdict:
    kernels = (RBFCovariance(0.7), LaplaceCovariance(0.7), PeriodicCovariance(1.3, 0.7), LinearCovariance())
    stationary = [is_stationary(kernel, 2, np.random.default_rng(seed)) for kernel in kernels]
    return equal(stationary, [True, True, True, False])


@claim("gaussian-process-regression")
def the_influence_of_a_point_decays_with_distance() -> Verdict:
    x, y = np.array([-1.0, 0.5, 1.5]), np.array([0.3, -0.4, 1.0])
    prior = GaussianProcess(RBFCovariance(0.5))
    posterior, noisy = prior.condition(x, y), prior.condition(x, y, noise=0.2)
    at = 1.5 + np.array([0.0, 0.3, 0.6, 1.2, 8.0])
    influence = np.abs(prior.condition(x, [0.0, 0.0, 1.0]).predict(at)[0])  # of the value at 1.5
    sd = posterior.predict(at)[1]
    _, covariance = posterior.joint(np.append(x, 0.1))
    run = _process(0.5, 0.2).fit(x[:, None], y)
    truth = every(
        as_run=near(run.predict(at[:, None], return_std=True), noisy.predict(at), tolerance=1e-7),
        prior=near(prior.predict(at), [np.zeros(5), np.ones(5)], tolerance=1e-12),
        passes_through=near(posterior.predict(x)[0], y, tolerance=1e-10),
        certain_there=near(posterior.predict(x)[1], np.zeros(3), tolerance=1e-6),
        zero_rows=near(covariance[:3], np.zeros((3, 4)), tolerance=1e-10),
        grows_back=equal(bool((np.diff(sd) > 0).all()), True),
        prior_far_away=near(sd[-1], 1.0, tolerance=1e-10),
        influence_decays=equal(bool((np.diff(influence) < 0).all()), True),
        noise_keeps_correlation=above(abs(noisy.joint(np.append(x, 0.1))[1][1, 3]), 1e-2),
    )
    return corrected(
        truth,
        influence_in_proportion_to_distance=near(influence[2] / influence[1], 0.6 / 0.3, tolerance=0.5),
        no_correlation_with_noise=near(noisy.joint(np.append(x, 0.1))[1][1, 3], 0.0, tolerance=1e-3),
    )
