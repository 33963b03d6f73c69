"""Claims about rules with a rate per coordinate: AdaGrad, RMSProp, AdaDelta, Adam."""

from __future__ import annotations

import numpy as np

from margin.core.verdict import Verdict, below, corrected, every, near
from margin.notes import atlas
from margin.notes.claims import claim
from margin.notes.claims.chance import ERRORS
from margin.notes.claims.optimization.networks import network_path
from margin.notes.claims.optimization.rules import feed, named_path, our_path, torch_path
from margin.optimize import adadelta, adagrad, adam, adamw, descend, follow, rmsprop
from margin.optimize.landscapes import quadratic
from margin.optimize.problems import network_size, tanh_network
from margin.optimize.quadratics import rate_limit
from margin.optimize.rules import AdaDelta, AdaGrad, Adam, AdamW, Descent, RMSProp, Rule


@claim("adagrad")
def first_step_is_the_rate_in_every_coordinate() -> Verdict:
    steps = feed(AdaGrad(epsilon=1e-8), [[1.0, 100.0], [1.0, 100.0], [0.5, 20.0]], rate=0.1)
    norm_rule = 0.1 * np.array([1.0, 100.0]) / np.linalg.norm([1.0, 100.0])  # one scalar for the whole vector
    effective = np.abs(steps / [[1.0, 100.0], [1.0, 100.0], [0.5, 20.0]])
    return corrected(
        every(
            first=near(steps[0], [-0.1, -0.1], tolerance=1e-8),
            never_grows=below(float(np.max(np.diff(effective, axis=0))), 1e-15),
            torch=near(our_path(AdaGrad(), 0.1, 10), torch_path("Adagrad", 0.1, 10), tolerance=1e-12),
            as_run=near(network_path(AdaGrad(), 0.1, 10), our_path(AdaGrad(), 0.1, 10), tolerance=1e-12),
            by_name=near(named_path(adagrad, 0.1, 10), torch_path("Adagrad", 0.1, 10), tolerance=1e-12),
        ),
        total_of_gradients=near(0.1 * np.array([1.0, 100.0]) / np.sqrt([1.0, 100.0]), -steps[0], tolerance=1e-3),
        norm_of_the_vector=near(norm_rule, -steps[0], tolerance=1e-3),
        sum_without_the_present_gradient=near(0.1 * 1.0 / (np.sqrt(0.0) + 1e-8), -steps[0][0], tolerance=1e-3),
    )


@claim("claim-adagrad-needs-sqrt")
def without_the_root_the_rate_dies_at_once() -> Verdict:
    notes = atlas.row("claim-adagrad-needs-sqrt").values
    f, grad, _ = quadratic(np.diag(notes["curvatures"]))

    def end(root: bool, rate: float) -> float:
        rule, steps = AdaGrad(root=root), notes["steps"]
        return follow(descend(f, grad, notes["start"], rule, learning_rate=rate, max_iter=steps)).value

    best = [min(end(root, rate) for rate in np.geomspace(1e-2, 1e3, 11)) for root in (True, False)]
    gradients = np.array([[3.0, -4.0], [1.0, 2.0], [-2.0, 0.5]])
    squares = np.cumsum(gradients**2, axis=0)
    return every(
        with_root=near(best[0], notes["with_root"], tolerance=1e-6),
        without=near(best[1], notes["without"], tolerance=0.05),
        rule=near(feed(AdaGrad(epsilon=0.0), gradients, 0.1), -0.1 * gradients / np.sqrt(squares), tolerance=1e-12),
        rule_without_root=near(
            feed(AdaGrad(epsilon=0.5, root=False), gradients, 0.1), -0.1 * gradients / (squares + 0.5), tolerance=1e-12
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
    steps = feed(RMSProp(0.9, epsilon=1e-12), gradients, rate=0.01)
    norm_rule = 0.01 * gradients[-1] / np.linalg.norm(gradients[-1])
    # A window that already holds g_t in the previous average counts the newest gradient twice over.
    peek = 0.01 / np.sqrt(0.9 * 1.0 + 0.1 * 1.0)
    return corrected(
        every(
            limit=near(steps[-1], [-0.01, -0.01], tolerance=1e-8),
            recursion=near(steps[0, 1], -0.01 / np.sqrt(0.1), tolerance=1e-10),
            torch=near(our_path(RMSProp(), 0.01, 10), torch_path("RMSprop", 0.01, 10), tolerance=1e-12),
            as_run=near(network_path(RMSProp(), 0.01, 10), our_path(RMSProp(), 0.01, 10), tolerance=1e-12),
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
            as_run=near(network_path(AdaDelta(), 1.0, 50), our_path(AdaDelta(), 1.0, 50), tolerance=1e-12),
            by_name=near(named_path(adadelta, 1.0, 50), torch_path("Adadelta", 1.0, 50), tolerance=1e-12),
        ),
        printed=near(delta, prop, tolerance=0.01),
    )


@claim("adam")
def bias_correction_uses_powers_of_t(seed: int) -> Verdict:
    ones = -feed(Adam(epsilon=0.0), np.ones((100, 1)))[:, 0]
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
            as_run=near(network_path(Adam(), 0.02, 100), our_path(Adam(), 0.02, 100), tolerance=1e-10),
            as_run_decayed=near(
                network_path(AdamW(weight_decay=0.0), 0.02, 100), our_path(Adam(), 0.02, 100), tolerance=1e-10
            ),
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
            m, v = state.corrected(rule.beta_1, rule.beta_2)
            gaps += [abs(m.mean() - mean) * np.sqrt(runs) / m.std(), abs(v.mean() - second) * np.sqrt(runs) / v.std()]
            raw.append(state.first.mean() / m.mean() - (1 - 0.9**t))
    return corrected(
        every(unbiased=below(max(gaps), ERRORS), raw_too_small_by=near(raw, np.zeros(4), tolerance=1e-12)),
        second_moment_is_the_variance=near(v.mean(), 1.0, tolerance=0.1),
    )


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
