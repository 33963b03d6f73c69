"""Claims about momentum and its look-ahead: memory, damping, contraction."""

from __future__ import annotations

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.notes.claims import claim
from margin.notes.claims.optimization.networks import network_path
from margin.notes.claims.optimization.rules import feed, named_path, our_path
from margin.optimize import descend, follow, momentum, nesterov
from margin.optimize.landscapes import quadratic
from margin.optimize.quadratics import best_momentum, momentum_matrix, nesterov_matrix, rate_limit, spectral_radius
from margin.optimize.rules import Descent, Momentum, Nesterov


@claim("momentum")
def velocity_is_a_decaying_sum() -> Verdict:
    constant = feed(Momentum(0.9), np.ones((400, 1)))
    average = feed(Momentum(0.9, "average"), np.ones((400, 1)))
    g0, g1 = np.array([1.0, -2.0]), np.array([0.5, 3.0])
    flip = feed(Momentum(0.9), [g0, -g0])
    summed = our_path(Momentum(0.9), 0.003, 50)
    best, gamma = best_momentum(1.0, 100.0)
    f, grad, _ = quadratic(np.diag([1.0, 100.0]))
    counts = [
        follow(descend(f, grad, [1.0, 1.0], rule, learning_rate=rate, max_iter=5000)).iterations
        for rule, rate in ((Momentum(gamma), best), (Descent(), 2 / 101))
    ]
    return corrected(
        every(
            first_two=near(feed(Momentum(0.9), [g0, g1]), [-g0, -(0.9 * g0 + g1)], tolerance=1e-14),
            limit=near(constant[-1], [-10.0], tolerance=1e-9),
            average=near(average[-1], [-1.0], tolerance=1e-9),
            by_name=near(named_path(momentum, 0.003, 50), summed, tolerance=0.0),
            as_run=near(network_path(Momentum(0.9), 0.003, 50), summed, tolerance=1e-12),
            as_run_fused=near(network_path(Momentum(0.9, "unscaled"), 0.003, 50), summed, tolerance=1e-12),
            by_name_averaged=near(named_path(momentum, 0.03, 50, convention="average"), summed, tolerance=1e-12),
            relation=near(summed, our_path(Momentum(0.9, "average"), 0.03, 50), tolerance=1e-12),
            opposite=near(flip[1], 0.1 * g0, tolerance=1e-14),
            no_memory=equal(our_path(Momentum(0.0), 0.01, 20), our_path(Descent(), 0.01, 20)),
            faster=below(counts[0] / counts[1], 0.5),
        ),
        # a running average; opposite gradients cancel exactly
        average=near(constant[-1], [-1.0], tolerance=1e-3),
        cancel=near(flip[1], [0.0, 0.0], tolerance=1e-3),
    )


@claim("claim-momentum-memory-time")
def memory_lasts_one_over_one_minus_gamma() -> Verdict:
    weights, ages = [], []
    for gamma in (0.5, 0.9, 0.99):
        impulse = np.zeros((4000, 1))
        impulse[0] = 1.0
        trail = -feed(Momentum(gamma), impulse)[:, 0]
        weights.append(float(trail.sum()))
        ages.append(float(trail @ np.arange(4000) / trail.sum()))
    return every(
        weights=near(weights, [2.0, 10.0, 100.0], tolerance=1e-9), mean_age=near(ages, [1.0, 9.0, 99.0], tolerance=1e-9)
    )


@claim("claim-momentum-damps-oscillation")
def momentum_halves_the_way_through_a_ravine() -> Verdict:
    f, grad, _ = quadratic(np.diag([1.0, 100.0]))
    rate, gamma = best_momentum(1.0, 100.0)
    runs = {
        "descent": follow(descend(f, grad, [1.0, 1.0], Descent(), learning_rate=2 / 101, max_iter=5000)),
        "momentum": follow(descend(f, grad, [1.0, 1.0], Momentum(gamma), learning_rate=rate, max_iter=5000)),
    }
    turns = {name: int(np.sum(np.diff(np.sign(np.diff(run.path[:, 1]))) != 0)) for name, run in runs.items()}
    return every(
        steps=below(runs["momentum"].iterations / runs["descent"].iterations, 0.5),
        zigzag=below(turns["momentum"] / turns["descent"], 0.5),
        descent_turns_at_every_step=equal(turns["descent"], runs["descent"].iterations - 1),
    )


@claim("nesterov")
def the_look_ahead_is_where_the_velocity_leads() -> Verdict:
    right = [spectral_radius(nesterov_matrix(p, 1.0, 0.9)) for p in (0.2, 0.5)]
    wrong = [spectral_radius(nesterov_matrix(p, 1.0, 0.9, sign=1.0)) for p in (0.2, 0.5, 1.0)]
    slow = [spectral_radius(matrix(0.1, 1.0, 0.9)) for matrix in (nesterov_matrix, momentum_matrix)]
    limits = [rate_limit(method, 1.0, 0.9) for method in ("nesterov", "momentum")]
    edge = [
        spectral_radius(matrix(limit, 1.0, 0.9)) for matrix, limit in zip((nesterov_matrix, momentum_matrix), limits)
    ]
    jump = nesterov_matrix(1.0, 1.0, 0.9)
    shifted = our_path(Nesterov(0.9, shifted=True), 0.003, 50)
    path = follow(descend(lambda x: x @ x / 2, lambda x: x, [1.0], Nesterov(0.5), learning_rate=0.2, max_iter=3)).path
    return corrected(
        every(
            contraction=near(right, [0.85, 0.67], tolerance=0.005),
            gone_after_two_steps=near(jump @ jump, np.zeros((2, 2)), tolerance=1e-15),
            by_hand=near(path[:, 0], [1.0, 0.8, 0.56, 0.352], tolerance=1e-14),
            by_name=near(named_path(nesterov, 0.003, 50), our_path(Nesterov(0.9), 0.003, 50), tolerance=0.0),
            as_run=near(network_path(Nesterov(0.9), 0.003, 50), shifted, tolerance=1e-12),
            as_run_fused=near(network_path(Nesterov(0.9, convention="unscaled"), 0.003, 50), shifted, tolerance=1e-12),
            beats_momentum=near(slow, [0.9, 0.9487], tolerance=1e-3),
            limits=near(limits, [1.357, 3.8], tolerance=1e-3),
            edge_of_stability=near(edge, [1.0, 1.0], tolerance=1e-9),
        ),
        converges=below(max(wrong), 1.0),
        larger_rates=above(limits[0] / limits[1], 1.0),
    )
