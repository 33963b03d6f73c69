"""Constructions and exact counts against sampling, brute force, linear programs and torch."""

from itertools import product

import numpy as np
import pytest
import torch

from margin.neural import MLP
from margin.neural import theory as th
from margin.neural.backprop import SLOPES
from margin.neural.theory.approximation import random_feature_fit
from margin.neural.theory.folding import zigzag
from margin.neural.theory.pieces import unit_lines
from margin.neural.weights import build


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sizes", [(1, 5, 1), (1, 6, 4, 2), (1, 4, 4, 4, 1)])
def test_pieces_are_the_network(sizes, seed):
    net = th.DenseNetwork.random(sizes, np.random.default_rng(seed))
    pieces = th.linear_pieces(net)
    x = np.linspace(-8, 8, 3001)
    np.testing.assert_allclose(pieces.evaluate(x), net(x), atol=1e-9)
    # A sampled slope changes only where there is a joint, and at every joint that is not next to another one.
    slopes = np.diff(net(x), axis=0) / np.diff(x)[:, None]
    bent = (np.abs(np.diff(slopes, axis=0)) > 1e-6).any(axis=1)
    step = x[1] - x[0]
    for position in x[1:-1][bent]:
        assert np.abs(pieces.joints - position).min() <= step
    for joint in pieces.joints[(np.abs(pieces.joints) < 7.9)]:
        assert bent[np.abs(x[1:-1] - joint) <= step].any()


def test_pieces_between_two_points():
    pieces = th.linear_pieces(th.max_region_network(3, 3))
    inside = pieces.within(0.0, 1.0)
    assert len(inside) == 64
    assert len(inside.joints) == 63
    x = np.linspace(0.01, 0.99, 50)
    np.testing.assert_allclose(inside.evaluate(x), pieces.evaluate(x))


def test_units_of_a_second_layer_share_the_joints_of_the_first():
    net = th.DenseNetwork.random((1, 3, 3, 1), np.random.default_rng(0))
    lines = unit_lines(net, 1)
    np.testing.assert_allclose(lines.joints, np.sort(-net.biases[0] / net.weights[0][:, 0]))


@pytest.mark.parametrize("n_units", [3, 4, 7])
def test_a_zigzag_covers_the_interval_in_every_piece(n_units):
    pieces = th.linear_pieces(zigzag(n_units))
    edges = np.r_[0.0, pieces.joints, 1.0]
    assert len(pieces) == n_units + 1
    values = zigzag(n_units)(edges)[:, 0]
    np.testing.assert_allclose(
        np.sort(np.c_[values[:-1], values[1:]], axis=1), np.tile([0.0, 1.0], (n_units + 1, 1)), atol=1e-12
    )


def test_two_units_cannot_zigzag():
    with pytest.raises(ValueError, match="n_units must be at least 3"):
        zigzag(2)


@pytest.mark.parametrize("seed", range(3))
def test_regions_in_the_plane_are_those_of_linear_programs(seed):
    net = th.DenseNetwork.random((2, 5, 1), np.random.default_rng(seed))
    cells = th.activation_regions(net, (-1e4, 1e4, -1e4, 1e4))
    assert len(cells) == len(th.hyperplane_cells(net.weights[0], net.biases[0])) == th.shallow_regions(5, 2)


@pytest.mark.parametrize("seed", range(3))
def test_deep_regions_are_the_patterns_that_a_grid_finds(seed):
    net = th.DenseNetwork.random((2, 4, 3, 1), np.random.default_rng(seed))
    cells = th.activation_regions(net, (-2, 2, -2, 2))
    middle = np.array([cell.corners.mean(axis=0) for cell in cells])
    np.testing.assert_allclose([c.gradient @ m + c.constant for c, m in zip(cells, middle)], net(middle)[:, 0])

    def patterns(X):
        h, found = X, []
        for W, b in zip(net.weights[:-1], net.biases[:-1]):
            found.append(h @ W.T + b > 0)
            h = np.maximum(h @ W.T + b, 0)
        return {tuple(row) for row in np.hstack(found)}

    of_cells = patterns(middle)
    assert len(of_cells) == len(cells)
    grid = np.stack(np.meshgrid(*[np.linspace(-2, 2, 400)] * 2), axis=-1).reshape(-1, 2)
    assert patterns(grid) <= of_cells


def test_hyperplanes_through_one_point():
    w = np.random.default_rng(0).normal(size=(4, 2))
    assert len(th.hyperplane_cells(w, np.zeros(4))) == 8  # 2n, fewer than in general position
    assert len(th.hyperplane_cells(np.random.default_rng(1).normal(size=(4, 3)), np.ones(4))) == th.shallow_regions(
        4, 3
    )


def test_composition_is_the_composition():
    rng = np.random.default_rng(0)
    first, second = (th.DenseNetwork.random((1, 3, 1), rng) for _ in range(2))
    x = np.linspace(-3, 3, 101)
    np.testing.assert_allclose(th.compose(first, second)(x), second(first(x)), atol=1e-12)
    with pytest.raises(ValueError, match="sizes that fit"):
        th.compose(first, th.DenseNetwork.random((2, 3, 1), rng))


def test_counts_are_those_of_built_networks():
    for width, depth, n_inputs in product((3, 7), (1, 2, 4), (1, 10)):
        sizes = [n_inputs, *[width] * depth, 1]
        assert (
            th.parameter_count(width, depth, n_inputs)
            == th.DenseNetwork.random(sizes, np.random.default_rng(0)).n_parameters
        )
    best = th.compare_depths(500)
    assert all(b.parameters <= 500 < th.parameter_count(b.width + 1, b.depth) for b in best)
    with pytest.raises(ValueError, match="every width must be at least 2"):
        th.montufar_bound(2, [1, 4])


def test_a_network_is_read_from_a_module():
    module = build(lambda: MLP([2, 4, 3, 1]), 0, torch.float64)
    X = np.random.default_rng(0).normal(size=(6, 2))
    np.testing.assert_allclose(th.DenseNetwork.of(module)(X), module(torch.from_numpy(X)).detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize("activation", list(SLOPES))
def test_a_neuron_and_its_gradients(activation):
    rng = np.random.default_rng(0)
    w, b, x = rng.normal(size=3), rng.normal(), rng.normal(size=3)
    neuron = th.Neuron(w, b, activation)
    for_parameters, for_input = neuron.gradients(x)
    h = 1e-6
    for k in range(3):
        e = np.eye(3)[k] * h
        by_weight = (th.Neuron(w + e, b, activation)(x) - th.Neuron(w - e, b, activation)(x)) / (2 * h)
        by_input = (neuron(x + e) - neuron(x - e)) / (2 * h)
        np.testing.assert_allclose([for_parameters[k], for_input[k]], [by_weight, by_input], atol=1e-8)


@pytest.mark.parametrize("merged", [False, True])
def test_values_on_a_finite_set(merged):
    values = np.random.default_rng(0).normal(scale=10, size=12)
    net = th.finite_set_network(values, merged=merged)
    np.testing.assert_allclose(net(np.arange(1.0, 13))[:, 0], values, atol=1e-6)
    assert net.n_hidden == (12 if merged else 24)


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("tight", [False, True])
def test_functions_on_an_interval(merged, tight):
    f = lambda x: np.abs(np.sin(3 * x)) - x  # noqa: E731
    x = np.linspace(-1, 2, 20_001)
    for eps in (0.4, 0.2, 0.1):
        net = th.interval_network(f, -1, 2, 4.0, eps, merged=merged, tight=tight)
        assert np.abs(net(x)[:, 0] - f(x)).max() < eps
        assert net.n_hidden == (1 if merged else 2) * round(12 / eps) // (2 if tight else 1)


def test_functions_of_two_variables():
    f = lambda X: np.sin(X[:, 0]) * X[:, 1]  # noqa: E731
    net = th.walls_network(f, -1.0, 1.0, 10)
    middles = np.linspace(-0.9, 0.9, 10)
    grid = np.stack(np.meshgrid(middles, middles), axis=-1).reshape(-1, 2)
    np.testing.assert_allclose(net(grid)[:, 0], f(grid), atol=1e-6)
    assert net.sizes == [2, 22, 100, 1]


def test_rectifiers_interpolate():
    net = th.interpolation_network(np.cos, 0.0, 5.0, 9)
    knots, x = np.linspace(0, 5, 10), np.linspace(0, 5, 333)
    np.testing.assert_allclose(net(x)[:, 0], np.interp(x, knots, np.cos(knots)), atol=1e-12)


def test_bernstein_polynomials_are_scipys():
    from scipy.interpolate import BPoly

    x = np.linspace(0, 1, 33)
    coefficients = np.exp(np.arange(9) / 8)
    np.testing.assert_allclose(th.bernstein(np.exp, 8)(x), BPoly(coefficients[:, None], [0, 1])(x), rtol=1e-12)


def test_random_units_of_a_polynomial_activation_span_little():
    x = np.linspace(-1, 1, 200)
    assert random_feature_fit(x, np.sin(4 * x), 50, np.square, np.random.default_rng(0))[1] == 3


def test_the_perceptron_rule_makes_no_more_mistakes_than_its_bound():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    w, b = np.array([0.6, 0.8]), 0.1
    X = X[np.abs(X @ w + b) > 0.3]
    run = th.perceptron_rule(X, (X @ w + b > 0).astype(int))
    assert run.converged
    length = np.sqrt((X**2).sum(axis=1).max() + 1)
    margin = np.abs(X @ w + b).min() / np.sqrt(1 + b**2)
    assert sum(run.mistakes) <= (length / margin) ** 2
    with pytest.raises(ValueError, match="y must have a label 0 or 1"):
        th.perceptron_rule(X, np.full(len(X), 2))
