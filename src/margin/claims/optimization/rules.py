"""First-order update rules, held step by step against torch and against their closed forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from margin import atlas
from margin.claims import claim
from margin.claims.chance import ERRORS
from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, within
from margin.optimize import adadelta, adagrad, adam, adamw, descend, follow, momentum, nesterov, rmsprop
from margin.optimize.landscapes import BEALE, ROSENBROCK, quadratic
from margin.optimize.problems import network_size, tanh_network
from margin.optimize.quadratics import best_momentum, momentum_matrix, nesterov_matrix, rate_limit, spectral_radius
from margin.optimize.rules import AdaDelta, AdaGrad, Adam, Descent, Momentum, Nesterov, RMSProp, Rule
from margin.optimize.steps import Array, Steps


def feed(rule: Rule, gradients: Any, rate: float = 1.0) -> Array:
    """The steps a rule makes when it is handed these gradients one after the other: (t, d)."""
    x = np.zeros(np.shape(gradients)[1])
    state, steps = rule.start(x), []
    for gradient in np.asarray(gradients, dtype=float):
        state, step = rule.update(state, gradient, x, rate)
        x = x + step
        steps.append(step)
    return np.array(steps)


def torch_path(optimizer: str, rate: float, steps: int, **options: Any) -> Array:
    """Iterates of a torch optimizer on the Beale function, which has no symmetry to hide behind."""
    import torch

    x = torch.tensor([1.0, 1.2], dtype=torch.float64, requires_grad=True)
    run = getattr(torch.optim, optimizer)([x], lr=rate, **options)
    path = [x.detach().numpy().copy()]
    for _ in range(steps):
        x.grad = torch.tensor(BEALE.grad(x.detach().numpy()))
        run.step()
        path.append(x.detach().numpy().copy())
    return np.array(path)


def our_path(rule: Rule, rate: float, steps: int) -> Array:
    return follow(descend(BEALE.f, BEALE.grad, [1.0, 1.2], rule, learning_rate=rate, max_iter=steps, tol=0.0)).path


def named_path(method: Callable[..., Steps], rate: float, steps: int, **options: Any) -> Array:
    """The same path by the function that goes by the name of the rule."""
    run = method(BEALE.f, BEALE.grad, [1.0, 1.2], learning_rate=rate, max_iter=steps, tol=0.0, **options)
    return follow(run).path


@claim("gradient-descent-optimisers")
def every_rule_equals_torch_step_by_step() -> Verdict:
    peers: dict[str, tuple[Rule, float, str, dict[str, Any]]] = {
        "sgd": (Descent(), 0.01, "SGD", {}),
        "momentum": (Momentum(0.9), 0.003, "SGD", {"momentum": 0.9}),
        "nesterov": (Nesterov(0.9, shifted=True), 0.003, "SGD", {"momentum": 0.9, "nesterov": True}),
        "adagrad": (AdaGrad(eps=1e-10), 0.1, "Adagrad", {"eps": 1e-10}),
        "rmsprop": (RMSProp(0.99), 0.01, "RMSprop", {"alpha": 0.99}),
        "adadelta": (AdaDelta(0.9, 1e-6), 1.0, "Adadelta", {"rho": 0.9, "eps": 1e-6}),
        "adam": (Adam(), 0.02, "Adam", {}),
        "adamw": (Adam(weight_decay=0.1), 0.02, "AdamW", {"weight_decay": 0.1}),
    }
    return every(
        **{
            name: near(our_path(rule, rate, 100), torch_path(peer, rate, 100, **options), tolerance=1e-10)
            for name, (rule, rate, peer, options) in peers.items()
        }
    )


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
    path = follow(descend(lambda x: x @ x / 2, lambda x: x, [1.0], Nesterov(0.5), learning_rate=0.2, max_iter=3)).path
    return corrected(
        every(
            contraction=near(right, [0.85, 0.67], tolerance=0.005),
            gone_after_two_steps=near(jump @ jump, np.zeros((2, 2)), tolerance=1e-15),
            by_hand=near(path[:, 0], [1.0, 0.8, 0.56, 0.352], tolerance=1e-14),
            by_name=near(named_path(nesterov, 0.003, 50), our_path(Nesterov(0.9), 0.003, 50), tolerance=0.0),
            beats_momentum=near(slow, [0.9, 0.9487], tolerance=1e-3),
            limits=near(limits, [1.357, 3.8], tolerance=1e-3),
            edge_of_stability=near(edge, [1.0, 1.0], tolerance=1e-9),
        ),
        converges=below(max(wrong), 1.0),
        larger_rates=above(limits[0] / limits[1], 1.0),
    )


@claim("adagrad")
def first_step_is_the_rate_in_every_coordinate() -> Verdict:
    steps = feed(AdaGrad(eps=1e-8), [[1.0, 100.0], [1.0, 100.0], [0.5, 20.0]], rate=0.1)
    norm_rule = 0.1 * np.array([1.0, 100.0]) / np.linalg.norm([1.0, 100.0])  # one scalar for the whole vector
    effective = np.abs(steps / [[1.0, 100.0], [1.0, 100.0], [0.5, 20.0]])
    return corrected(
        every(
            first=near(steps[0], [-0.1, -0.1], tolerance=1e-8),
            never_grows=below(float(np.max(np.diff(effective, axis=0))), 1e-15),
            torch=near(our_path(AdaGrad(), 0.1, 10), torch_path("Adagrad", 0.1, 10), tolerance=1e-12),
            by_name=near(named_path(adagrad, 0.1, 10), torch_path("Adagrad", 0.1, 10), tolerance=1e-12),
        ),
        total_of_gradients=near(0.1 * np.array([1.0, 100.0]) / np.sqrt([1.0, 100.0]), -steps[0], tolerance=1e-3),
        norm_of_the_vector=near(norm_rule, -steps[0], tolerance=1e-3),
    )


@claim("claim-adagrad-needs-sqrt")
def without_the_root_the_rate_dies_at_once() -> Verdict:
    told = atlas.row("claim-adagrad-needs-sqrt").values
    f, grad, _ = quadratic(np.diag(told["curvatures"]))

    def end(root: bool, rate: float) -> float:
        rule, steps = AdaGrad(root=root), told["steps"]
        return follow(descend(f, grad, told["start"], rule, learning_rate=rate, max_iter=steps)).value

    best = [min(end(root, rate) for rate in np.geomspace(1e-2, 1e3, 11)) for root in (True, False)]
    gradients = np.array([[3.0, -4.0], [1.0, 2.0], [-2.0, 0.5]])
    squares = np.cumsum(gradients**2, axis=0)
    return every(
        with_root=near(best[0], told["with_root"], tolerance=1e-6),
        without=near(best[1], told["without"], tolerance=0.05),
        rule=near(feed(AdaGrad(eps=0.0), gradients, 0.1), -0.1 * gradients / np.sqrt(squares), tolerance=1e-12),
        rule_without_root=near(
            feed(AdaGrad(eps=0.5, root=False), gradients, 0.1), -0.1 * gradients / (squares + 0.5), tolerance=1e-12
        ),
    )


@claim("claim-adagrad-rate-vanishes")
def adagrad_dies_where_rmsprop_lives() -> Verdict:
    gradients = np.ones((10_000, 1))
    adagrad, rmsprop = feed(AdaGrad(), gradients, 0.1), feed(RMSProp(0.9), gradients, 0.1)
    t = np.array([1, 10, 100, 10_000])
    return every(
        adagrad=near(-adagrad[t - 1, 0], 0.1 / np.sqrt(t), tolerance=1e-8),
        rmsprop=near(-rmsprop[[999, 9999], 0], [0.1, 0.1], tolerance=1e-8),
    )


@claim("rmsprop")
def steps_become_the_rate_whatever_the_gradient() -> Verdict:
    gradients = np.tile([1e-3, 1e3], (2000, 1))
    steps = feed(RMSProp(0.9, eps=1e-12), gradients, rate=0.01)
    norm_rule = 0.01 * gradients[-1] / np.linalg.norm(gradients[-1])
    # A window that already holds g_t in the previous average counts the newest gradient twice over.
    peek = 0.01 / np.sqrt(0.9 * 1.0 + 0.1 * 1.0)
    return corrected(
        every(
            limit=near(steps[-1], [-0.01, -0.01], tolerance=1e-8),
            recursion=near(steps[0, 1], -0.01 / np.sqrt(0.1), tolerance=1e-10),
            torch=near(our_path(RMSProp(), 0.01, 10), torch_path("RMSprop", 0.01, 10), tolerance=1e-12),
            by_name=near(named_path(rmsprop, 0.01, 10), torch_path("RMSprop", 0.01, 10), tolerance=1e-12),
        ),
        norm=near(norm_rule, [0.01, 0.01], tolerance=1e-3),
        previous_average=near(-steps[0, 1], peek, tolerance=1e-3),
    )


@claim("adadelta")
def adadelta_is_not_rmsprop() -> Verdict:
    def square(rule: Rule, rate: float) -> float:
        run = follow(descend(lambda x: x @ x, lambda x: 2 * x, [1.0], rule, learning_rate=rate, max_iter=3))
        return float(run.x[0])

    delta, prop = square(AdaDelta(0.9, 1e-6), 1.0), square(RMSProp(0.99), 0.01)
    return corrected(
        every(
            adadelta=near(delta, 0.9903, tolerance=1e-4),
            rmsprop=near(prop, 0.7800, tolerance=1e-4),
            torch=near(our_path(AdaDelta(), 1.0, 50), torch_path("Adadelta", 1.0, 50), tolerance=1e-12),
            by_name=near(named_path(adadelta, 1.0, 50), torch_path("Adadelta", 1.0, 50), tolerance=1e-12),
        ),
        printed=near(delta, prop, tolerance=0.01),
    )


@claim("adam")
def bias_correction_uses_powers_of_t(seed: int) -> Verdict:
    ones = -feed(Adam(eps=0.0), np.ones((100, 1)))[:, 0]
    t = np.arange(1, 101)
    m, v = 1 - 0.9**t, 1 - 0.999**t  # both moments of a constant gradient of 1
    printed = (m / 0.1) / np.sqrt(v)  # corrections by 1 - beta, and the root of the uncorrected second moment
    norm_rule = 0.1 * np.array([1.0, 100.0]) / np.linalg.norm([1.0, 100.0])
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((40, 2)) * [1.0, 0.01], rng.standard_normal(40)
    net = tanh_network(X, y, 4)
    starts = [rng.standard_normal(network_size(2, 4)) for _ in range(9)]  # the median: from some both are as good
    loss = [
        [
            follow(descend(net.value, net.gradient, start, made, learning_rate=0.01, max_iter=300)).value
            for made in (Adam(), Descent())
        ]
        for start in starts
    ]
    return corrected(
        every(
            one_rate_per_step=near(ones, np.ones(100), tolerance=1e-12),
            first_step=near(feed(Adam(), [[1.0, -100.0, 1e-3]], 0.1)[0], [-0.1, 0.1, -0.1], tolerance=1e-5),
            torch=near(our_path(Adam(), 0.02, 100), torch_path("Adam", 0.02, 100), tolerance=1e-10),
            by_name=near(named_path(adam, 0.02, 100), torch_path("Adam", 0.02, 100), tolerance=1e-10),
            decayed=near(
                named_path(adamw, 0.02, 100, weight_decay=0.1),
                torch_path("AdamW", 0.02, 100, weight_decay=0.1),
                tolerance=1e-10,
            ),
            trains=below(float(np.median([by_adam / by_sgd for by_adam, by_sgd in loss])), 1.0),
            printed_sizes=near([printed[0], printed[9], printed[99]], [31.6, 65.3, 32.4], tolerance=0.05),
        ),
        correction_without_the_power=near((m / 0.1) / np.sqrt(v / 0.001), ones, tolerance=0.1),
        root_of_the_uncorrected_moment=near((m / (1 - 0.9**t)) / np.sqrt(v), ones, tolerance=0.1),
        norm_of_the_vector=near(norm_rule, -feed(Adam(), [[1.0, 100.0]], 0.1)[0], tolerance=1e-3),
    )


@claim("claim-adam-bias-correction")
def corrected_moments_are_unbiased(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    rule, runs = Adam(), 10_000
    mean, second = 0.5, 0.5**2 + 1.0
    x = np.zeros(runs)
    state, gaps, raw = rule.start(x), [], []
    for t in range(1, 21):
        state, _ = rule.update(state, rng.normal(mean, 1.0, runs), x, 1.0)
        if t in (1, 2, 5, 20):
            m, v = state.corrected(rule.beta1, rule.beta2)
            gaps += [abs(m.mean() - mean) * np.sqrt(runs) / m.std(), abs(v.mean() - second) * np.sqrt(runs) / v.std()]
            raw.append(state.first.mean() / m.mean() - (1 - 0.9**t))
    return every(unbiased=below(max(gaps), ERRORS), raw_too_small_by=near(raw, np.zeros(4), tolerance=1e-12))


@claim("claim-adam-fixes-fixed-rate")
def adam_moves_flat_and_steep_alike() -> Verdict:
    f, grad, _ = quadratic(np.diag([2.0, 2e4]))
    limit = rate_limit("gradient_descent", 2e4)
    plain = follow(descend(f, grad, [1.0, 1.0], Descent(), learning_rate=0.95 * limit, max_iter=20))
    adaptive = follow(descend(f, grad, [1.0, 1.0], Adam(), learning_rate=0.01, max_iter=20))
    ratio = {name: (1 - run.x[0]) / (1 - run.x[1]) for name, run in (("descent", plain), ("adam", adaptive))}
    return every(
        descent_hardly_moves=below(ratio["descent"], 0.01), adam_equal=near(ratio["adam"], 1.0, tolerance=0.01)
    )


def _bytes_kept(method: Any, p: int) -> int:
    """Memory that a method holds after 25 steps on a quadratic of ``p`` variables, before it is let go."""
    import tracemalloc

    curvature = np.linspace(1.0, 50.0, p)
    steps = method(lambda x: float(0.5 * curvature @ x**2), lambda x: curvature * x, np.ones(p), tol=0.0)
    tracemalloc.start()
    try:
        for _ in range(25):
            next(steps)
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@claim("quasi-newton")
def limited_memory_needs_little_memory() -> Verdict:
    import torch

    from margin.optimize import bfgs, lbfgs
    from margin.optimize.quasi_newton import stored_numbers

    full, limited = (follow(method(ROSENBROCK.f, ROSENBROCK.grad, ROSENBROCK.start)) for method in (bfgs, lbfgs))
    x = torch.tensor(ROSENBROCK.start, dtype=torch.float64, requires_grad=True)
    peer = torch.optim.LBFGS([x], max_iter=limited.iterations, line_search_fn="strong_wolfe")

    def closure() -> Any:
        x.grad = torch.tensor(ROSENBROCK.grad(x.detach().numpy()))
        return torch.tensor(float(ROSENBROCK.f(x.detach().numpy())))

    peer.step(closure)
    kept = {method.__name__: _bytes_kept(method, 600) / 8 for method in (bfgs, lbfgs)}  # as numbers
    return corrected(
        every(
            bfgs_keeps_p_squared=within(kept["bfgs"] / 600**2, 0.9, 4.0),
            lbfgs_keeps_2_m_p=within(kept["lbfgs"] / (2 * 15 * 600), 0.5, 4.0),
            bfgs=below(full.gradient_norm, 1e-6),
            lbfgs=below(limited.gradient_norm, 1e-6),
            as_low_as_torch=below(limited.value, float(ROSENBROCK.f(x.detach().numpy())) + 1e-10),
            falls=below(float(np.max(np.diff(limited.history("value")))), 1e-15),
            numbers=equal([stored_numbers(m, 1000, memory=10) for m in ("bfgs", "lbfgs")], [10**6, 20_000]),
        ),
        # The notes count n^2 numbers for n data points: here 5 examples and 1000 parameters.
        printed=equal(stored_numbers("bfgs", 1000), 5**2),
    )
