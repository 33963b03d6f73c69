"""What one hidden layer can approximate, built by hand, and what that does not say."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, within
from margin.notes import atlas
from margin.notes.claims import claim

CIRCLE = 2 * np.pi


@claim("universal-approximation")
def wider_networks_come_closer_if_the_activation_is_no_polynomial(seed: int) -> Verdict:
    from margin.neural.theory import interpolation_network, interval_network
    from margin.neural.theory.approximation import random_feature_fit

    notes = atlas.row("universal-approximation").values
    x, t = np.linspace(0, CIRCLE, 4001), np.linspace(-1, 1, 400)
    errors = [np.abs(interpolation_network(np.sin, 0, CIRCLE, D)(x)[:, 0] - np.sin(x)).max() for D in (4, 8, 16, 32)]
    steps = interval_network(np.sin, 0, CIRCLE, lipschitz=1.0, eps=0.05)

    def rmse(activation: object, units: int = 500) -> float:
        rng = np.random.default_rng(seed)
        fitted, _ = random_feature_fit(t, np.sin(4 * t), units, activation, rng)  # type: ignore[arg-type]
        return float(np.sqrt(np.mean((fitted - np.sin(4 * t)) ** 2)))

    others = [rmse(np.sin), rmse(np.abs), rmse(lambda z: np.exp(-(z**2)))]
    far = np.linspace(-100, 100, 2001)
    parabola = np.abs(interpolation_network(np.square, -1, 1, 64)(far)[:, 0] - far**2).max()
    rank = random_feature_fit(t, t, 500, np.square, np.random.default_rng(seed))[1]
    truth = every(
        built_within_eps=below(float(np.abs(steps(x)[:, 0] - np.sin(x)).max()), 0.05),
        falls=below(max(b / a for a, b in pairwise(errors)), 0.5),
        about_a_quarter=within(errors[3] / errors[2], 0.24, 0.27),
        tanh=below(rmse(np.tanh), 1e-9),
        tanh_improves=below(rmse(np.tanh, 16), rmse(np.tanh, 4)),
        square_stops=near(rmse(np.square), notes["square_rmse"], tolerance=5e-3),
        square_has_rank=equal(rank, notes["square_rank"]),
    )
    return corrected(
        truth,
        only_select_activations=above(max(others), 0.05),
        on_all_of_space=below(float(parabola), 0.05),
        any_nonlinearity=below(rmse(np.square), 0.05),
    )


@claim("weierstrass-polynomials")
def bernstein_polynomials_converge_slowly() -> Verdict:
    from margin.neural.theory import bernstein, interpolation_network

    x = np.linspace(0, 1, 2001)
    corner = lambda t: np.abs(t - 0.5)  # noqa: E731
    errors = {n: float(np.abs(bernstein(corner, n)(x) - corner(x)).max()) for n in (10, 20, 40, 80, 160)}
    net = interpolation_network(corner, 0, 1, 13)  # an odd number of pieces: the corner is inside one
    return every(
        falls=equal(all(errors[a] > errors[b] for a, b in pairwise(errors)), True),
        towards_0=below(errors[160] / errors[10], 0.3),
        equal_parameters=equal(net.n_parameters, 40),
        network_is_closer=below(float(np.abs(net(x)[:, 0] - corner(x)).max()), 0.7 * errors[40]),
    )


@claim("lipschitz-constant")
def eps_over_l_is_a_delta(seed: int) -> Verdict:
    from margin.neural.theory import lipschitz_estimate

    rng = np.random.default_rng(seed)
    f = lambda x: np.sin(3 * x) + 0.5 * x  # noqa: E731  (its steepest slope is 3.5)
    eps, x = 0.1, rng.uniform(-2, 2, 10_000)
    near_by = x + rng.uniform(-1, 1, x.size) * eps / 3.5
    return every(
        sine=near(lipschitz_estimate(np.sin, -4, 4), 1.0, tolerance=1e-5),
        never_above=within(lipschitz_estimate(f, -2, 2), 3.5 - 1e-3, 3.5),
        delta=below(float(np.abs(f(x) - f(near_by)).max()), eps),
        no_larger_delta_is_safe=above(float(np.abs(f(np.array([0.0])) - f(np.array([1.1 * eps / 3.5])))[0]), eps),
    )


@claim("ufa-step1-finite-set")
def steep_steps_give_any_values_on_a_finite_set(seed: int) -> Verdict:
    from margin.neural.theory import finite_set_network

    notes = atlas.row("ufa-step1-finite-set").values
    rng = np.random.default_rng(seed)
    values = 10 * rng.normal(size=7)
    points = np.arange(1.0, 8)
    net, merged = finite_set_network(values), finite_set_network(values, merged=True)
    three, S = np.array(notes["values"]), 3
    s = np.arange(1, 2 * len(values) + 1)
    tiny = finite_set_network(three, shift=1e-9, slope=10.0**S)(np.arange(1.0, 4))[:, 0]
    # sigma(10^S (x - n) + 10^(S - 9)) at S = 9, x - n = 1e-9: the exponent is -2, and 0 with the printed sign.
    flipped = 1 / (1 + np.exp(-1.0 + 1.0))
    error = lambda exponent: float(  # noqa: E731
        np.abs(finite_set_network(three, shift=10.0**exponent, slope=1e3)(np.arange(1.0, 4))[:, 0] - three).max()
    )
    delta = 0.01  # every indicator is off by this much in the middle of its step
    soft = finite_set_network([100.0, -100.0, 100.0], slope=2 * np.log((1 - delta) / delta))
    off = float(np.abs(soft(np.arange(1.0, 4))[:, 0] - [100.0, -100.0, 100.0]).max())
    truth = every(
        values=near(net(points)[:, 0], values, tolerance=1e-6),
        units=equal((net.n_hidden, merged.n_hidden), (2 * 7, 7)),
        merged=near(merged(points)[:, 0], values, tolerance=1e-6),
        thresholds=near(np.ceil(-net.biases[0] / net.weights[0][:, 0]), np.ceil((s + 1) / 2), tolerance=0),
        output_weights=near(net.weights[1][0], (-1.0) ** (s + 1) * values[(s + 1) // 2 - 1], tolerance=0),
        shift_of_a_billionth=near(tiny, notes["with_shift_1e-9"], tolerance=1e-3),
        sign=near(1 / (1 + np.exp(-(1e9 * 1e-9 + 1.0))), 1 / (1 + np.exp(-2.0)), tolerance=1e-12),
        error_of_an_indicator_must_be_smaller=below(off, 2 * delta * 300),
    )
    return corrected(
        truth,
        sign_in_the_expansion=near(flipped, 1 / (1 + np.exp(-2.0)), tolerance=1e-3),
        tiny_shift=near(tiny, three, tolerance=0.01),
        smaller_exponent_is_more_precise=below(error(-4), error(-2)),
        eps_per_indicator_is_enough=below(off, delta),
        neuron_of_the_threshold=near(steps_by_own_index(three), three, tolerance=0.01),
    )


def steps_by_own_index(values: np.ndarray) -> np.ndarray:
    """Output weights f(1), -f(1), f(2), ... over hidden neurons of which the k-th is the step at k."""
    x = np.arange(1.0, len(values) + 1)
    neurons = x[:, None] >= np.arange(1.0, 2 * len(values) + 1)
    return np.asarray(neurons @ np.column_stack([values, -values]).ravel())


@claim("ufa-step2-interval")
def midpoints_of_short_parts_are_within_eps(seed: int) -> Verdict:
    from margin.neural.theory import interval_network

    rng = np.random.default_rng(seed)
    a, b, frequency = -1.0, 2.0, rng.uniform(1.0, 3.0)
    f = lambda x: np.sin(frequency * x + 1)  # noqa: E731
    x = np.linspace(a, b, 20_001)
    error = lambda net: float(np.abs(net(x)[:, 0] - f(x)).max())  # noqa: E731
    nets = {eps: interval_network(f, a, b, frequency, eps) for eps in (0.2, 0.1, 0.05)}
    tight = interval_network(f, a, b, frequency, 0.05, tight=True, merged=True)
    truth = every(
        within_eps=equal([error(net) < eps for eps, net in nets.items()], [True] * 3),
        units=equal([n.n_hidden for n in nets.values()], [2 * int(np.ceil(frequency * 3 / e)) for e in nets]),
        twice_as_many=within(nets[0.05].n_hidden / nets[0.1].n_hidden, 1.9, 2.1),
        half_the_parts_suffice=below(error(tight), 0.05),
        merged_units=equal(tight.n_hidden, int(np.ceil(frequency * 3 / 0.1))),
    )
    # The number of units said to be required, against one that stays within eps.
    return corrected(truth, printed=equal(tight.n_hidden, 2 * int(np.ceil(frequency * 3 / 0.05))))


@claim("ufa-step3-several-variables")
def walls_need_a_second_threshold(seed: int) -> Verdict:
    from margin.neural.theory import DenseNetwork, walls_network

    rng = np.random.default_rng(seed)
    f = lambda X: np.sin(X[:, 0] + 0.5) * np.cos(X[:, 1])  # noqa: E731  (Lipschitz constant at most 1 in each input)
    cells, eps = 24, 0.1  # half a cell is 1/24 in each direction
    net = walls_network(f, -1.0, 1.0, cells)
    X = rng.uniform(-1, 1, size=(4000, 2))
    inside = (np.abs((X + 1) * cells / 2 % 1 - 0.5) < 0.35).all(axis=1)  # away from the walls
    P = rng.uniform(-3, 3, size=(4000, 2))
    edges, inner = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]), np.array([0.0, 0.0, 1.0])
    behind = (P @ edges.T + inner > 0).sum(axis=1)  # of how many walls of the triangle (0, 0), (1, 0), (0, 1)
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    turns = [_turn(corners[k], corners[(k + 1) % 3], P) > 0 for k in range(3)]
    in_triangle = np.all(turns, axis=0)
    steep = 1e4
    weights = [steep * edges, np.full((1, 3), 60.0), np.ones((1, 1))]
    second = DenseNetwork(weights, [steep * inner, np.array([-60 * 2.5]), np.zeros(1)], "sigmoid")
    truth = every(
        within_eps=below(float(np.abs(net(X[inside])[:, 0] - f(X[inside])).max()), eps),
        two_hidden_layers=equal(len(net.sizes), 4),
        the_sum_takes=equal(sorted(set(behind.tolist())), [1, 2, 3]),
        threshold_isolates=equal(second(P)[:, 0] > 0.5, in_triangle),
    )
    return corrected(truth, printed=equal(sorted(set(behind[~in_triangle].tolist())), [0]))


def _turn(a: np.ndarray, b: np.ndarray, P: np.ndarray) -> np.ndarray:
    """Above 0 where a point of P is left of the line from a to b."""
    return (b[0] - a[0]) * (P[:, 1] - a[1]) - (b[1] - a[1]) * (P[:, 0] - a[0])


@claim("example-visual-universality-proof")
def bumps_of_the_right_heights_follow_a_function(seed: int) -> Verdict:
    from margin.neural.theory import step_network

    rng = np.random.default_rng(seed)
    phase = rng.uniform(0, 6)
    f = lambda x: 0.2 + 0.4 * x**2 + 0.3 * x * np.sin(15 * x) + 0.05 * np.cos(50 * x + phase)  # noqa: E731
    errors = []
    for n in (10, 40, 160):
        x = np.linspace(0, 1, 4001)
        away = np.abs(x * n % 1 - 0.5) < 0.4  # from the edges of the bumps
        errors.append(float(np.abs(step_network(f, 0, 1, n)(x)[:, 0] - f(x))[away].max()))
    two = step_network(lambda x: np.where(x < 0.5, 0.0, 0.8), 0, 1, 2)  # one bump: two steep sigmoids
    return every(
        falls=equal(errors[0] > errors[1] > errors[2], True),
        towards_0=below(errors[2], 0.15 * errors[0]),
        a_bump=near(two(np.array([0.25, 0.75]))[:, 0], [0.0, 0.8], tolerance=1e-6),
        one_hidden_layer=equal(two.sizes, [1, 4, 1]),
    )


@claim("claim-construction-not-what-training-finds")
def training_finds_a_far_smaller_network(seed: int) -> Verdict:
    from margin.neural import MLPRegressor
    from margin.neural.theory import interval_network

    x = np.linspace(0, CIRCLE, 400)
    built = interval_network(np.sin, 0, CIRCLE, lipschitz=1.0, eps=0.05)
    # Descent may stop in a poor minimum: the best of three starts counts.
    errors = []
    for start in range(3):
        net = MLPRegressor(
            (12,), "tanh", solver="lbfgs", alpha=0.0, tol=1e-6, max_iter=400, random_state=10 * seed + start
        )
        errors.append(float(np.abs(net.fit(x[:, None], np.sin(x)).predict(x[:, None]) - np.sin(x)).max()))
    return every(
        built=below(float(np.abs(built(x)[:, 0] - np.sin(x)).max()), 0.05),
        trained=below(min(errors), 0.05),
        neurons=above(built.n_hidden / 12, 20),
    )


@claim("expressive-efficiency-terms")
def a_network_takes_fewer_components_than_a_polynomial_for_a_corner() -> Verdict:
    from margin.neural.theory import bernstein, interpolation_network

    x = np.linspace(0, 1, 2001)
    corner = lambda t: np.abs(t - 0.37)  # noqa: E731
    report = {}
    for name, function, parameters, operations in (
        ("polynomial", bernstein(corner, 99), 100, 3 * 100),
        ("network", lambda t: interpolation_network(corner, 0, 1, 33)(t)[:, 0], 100, 2 * 33),
    ):
        report[name] = (float(np.abs(function(x) - corner(x)).max()), parameters, operations)
    return every(
        expressivity=below(report["network"][0], 0.02),
        efficiency=below(report["network"][0], 0.5 * report["polynomial"][0]),
        equal_components=equal(report["network"][1], interpolation_network(corner, 0, 1, 33).n_parameters),
        tractability=below(report["network"][2], report["polynomial"][2]),
    )
