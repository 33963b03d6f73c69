"""The tape and dual numbers against torch and finite differences: every primitive, layers, random graphs, orders."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from margin.neural import autodiff as ad
from margin.neural.autodiff import functions as fn
from margin.neural.autodiff import primitives as p
from margin.neural.autodiff.tracing import raw

rng = np.random.default_rng(0)


def normal(*shape):
    return rng.normal(size=shape)


def above_zero(*shape):
    return rng.uniform(0.5, 2.0, size=shape)


# Every primitive with arguments away from its corners; shapes are broadcast where it allows.
CASES = {
    "add": (p.add, normal(3, 4), normal(4)),
    "subtract": (p.subtract, normal(3, 1), normal(3, 4)),
    "multiply": (p.multiply, normal(4), normal(2, 3, 4)),
    "divide": (p.divide, normal(3, 4), above_zero(3, 1)),
    "negative": (p.negative, normal(5)),
    "power": (lambda a: p.power(a, exponent=2.5), above_zero(5)),
    "exp": (p.exp, normal(5)),
    "log": (p.log, above_zero(5)),
    "sqrt": (p.sqrt, above_zero(5)),
    "sin": (p.sin, normal(5)),
    "cos": (p.cos, normal(5)),
    "tanh": (p.tanh, normal(5)),
    "sigmoid": (p.sigmoid, normal(5)),
    "softplus": (p.softplus, normal(5)),
    "erf": (p.erf, normal(5)),
    "positive": (p.positive, normal(5)),
    "sign": (p.sign, normal(5)),
    "relu": (p.relu, normal(5)),
    "absolute": (p.absolute, normal(5)),
    "maximum": (p.maximum, normal(3, 4), normal(4)),
    "select": (lambda a, b: p.select(a, b, mask=np.array([True, False, True])), normal(2, 3), normal(3)),
    "total": (lambda a: p.total(a, axis=1), normal(3, 4)),
    "broadcast_to": (lambda a: p.broadcast_to(a, shape=(5, 3, 4)), normal(3, 1)),
    "reshape": (lambda a: p.reshape(a, shape=(2, 6)), normal(3, 4)),
    "transpose": (lambda a: p.transpose(a, axes=(2, 0, 1)), normal(2, 3, 4)),
    "take": (lambda a: p.take(a, index=(np.array([0, 2, 2]),)), normal(3, 4)),
    "place": (lambda a: p.place(a, index=(np.array([0, 2, 2]),), shape=(4,)), normal(3)),
    "matmul": (p.matmul, normal(2, 3, 4), normal(4, 5)),
    "concatenate": (lambda a, b: p.concatenate(a, b, axis=1), normal(2, 3), normal(2, 1)),
}


@pytest.mark.parametrize("name", sorted(ad.PRIMITIVES))
def test_every_primitive_passes_finite_differences(name):
    f, *inputs = CASES[name]
    found = ad.gradient_check(f, *inputs)
    assert found.reverse < 1e-8
    assert found.forward < 1e-8


CODES = np.array([2, 0, 1])
MASK = rng.random((3, 4)) < 0.5
LAYERS = {
    "mean": (fn.mean, torch.mean, normal(3, 4)),
    "largest": (lambda a: fn.largest(a, axis=1), lambda a: a.max(dim=1).values, normal(3, 4, 2)),
    "gelu": (fn.gelu, F.gelu, normal(5)),
    "log_sum_exp": (fn.log_sum_exp, lambda a: torch.logsumexp(a, -1, keepdim=True), normal(3, 4)),
    "softmax": (fn.softmax, lambda a: torch.softmax(a, -1), normal(3, 4)),
    "log_softmax": (fn.log_softmax, lambda a: torch.log_softmax(a, -1), 300 * normal(3, 4)),
    "dense": (fn.dense, F.linear, normal(3, 4), normal(2, 4), normal(2)),
    "dropout": (
        lambda a: fn.dropout(a, MASK, 0.5),
        lambda a: a * torch.from_numpy(MASK) / 0.5,
        normal(3, 4),
    ),
    "layer_norm": (
        fn.layer_norm,
        lambda a, g, b: F.layer_norm(a, (4,), g, b),
        normal(3, 4), normal(4), normal(4),
    ),
    "batch_norm": (
        fn.batch_norm,
        lambda a, g, b: F.batch_norm(a, None, None, g, b, training=True),
        normal(6, 4), normal(4), normal(4),
    ),
    "embedding": (lambda t: fn.embedding(t, CODES), lambda t: F.embedding(torch.from_numpy(CODES), t), normal(4, 2)),
    "mse": (fn.mse, F.mse_loss, normal(3, 4), normal(3, 4)),
    "cross_entropy": (
        lambda a: fn.cross_entropy(a, CODES),
        lambda a: F.cross_entropy(a, torch.from_numpy(CODES)),
        normal(3, 4),
    ),
    "attention": (
        fn.attention, F.scaled_dot_product_attention, normal(2, 3, 4), normal(2, 5, 4), normal(2, 5, 6),
    ),
    "conv2d": (fn.conv2d, F.conv2d, normal(2, 3, 6, 5), normal(4, 3, 3, 2), normal(4)),
    "max_pool2d": (lambda a: fn.max_pool2d(a, 2), lambda a: F.max_pool2d(a, 2), normal(2, 3, 6, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_layers_are_torchs_in_value_and_derivative(name):
    ours, theirs, *inputs = LAYERS[name]
    tensors = [torch.tensor(x, requires_grad=True) for x in inputs]
    expected = theirs(*tensors)
    value, pull, _ = ad.pullback(ours, *inputs)
    np.testing.assert_allclose(value, expected.detach().numpy(), rtol=1e-10, atol=1e-12)
    weights = normal(*np.shape(value))
    gradients = torch.autograd.grad(expected, tensors, torch.tensor(weights), allow_unused=True)
    for got, wanted in zip(pull(weights), gradients):
        np.testing.assert_allclose(got, wanted.numpy(), rtol=1e-8, atol=1e-10)
    found = ad.gradient_check(ours, *inputs)
    assert found.forward < 1e-6


def test_every_layer_is_compared_with_torch():
    assert set(fn.__all__) == set(LAYERS)


UNARY = {
    "tanh": (p.tanh, torch.tanh),
    "sin": (p.sin, torch.sin),
    "sigmoid": (p.sigmoid, torch.sigmoid),
    "softplus": (p.softplus, F.softplus),
    "square": (lambda a: a * a, lambda a: a * a),
}
BINARY = {
    "add": (lambda a, b: a + b, lambda a, b: a + b),
    "sub": (lambda a, b: a - b, lambda a, b: a - b),
    "mul": (lambda a, b: a * b, lambda a, b: a * b),
    "div": (lambda a, b: a / (1.0 + b * b), lambda a, b: a / (1.0 + b * b)),
}


def random_function(seed, side):
    """A graph of 15 nodes over vectors, each using earlier ones, some of them several times; 0 is ours, 1 torch's."""

    def f(x):
        draw, nodes = np.random.default_rng(seed), [x]
        for _ in range(15):
            if draw.random() < 0.4:
                name = list(UNARY)[draw.integers(len(UNARY))]
                nodes.append(UNARY[name][side](nodes[draw.integers(len(nodes))]))
            else:
                name = list(BINARY)[draw.integers(len(BINARY))]
                a, b = draw.integers(len(nodes), size=2)
                nodes.append(BINARY[name][side](nodes[a], nodes[b]))
        out = nodes[-1] + nodes[-2] * 0.5
        return p.total(p.tanh(out)) if side == 0 else torch.tanh(out).sum()

    return f


@pytest.mark.parametrize("seed", range(20))
def test_random_graphs_have_torchs_gradients_and_hessians(seed):
    x = np.random.default_rng([seed, 1]).uniform(-1, 1, size=4)
    ours, theirs = random_function(seed, 0), random_function(seed, 1)
    t = torch.tensor(x, requires_grad=True)
    expected = torch.autograd.grad(theirs(t), t)[0].numpy()
    np.testing.assert_allclose(ad.grad(ours)(x), expected, rtol=1e-9, atol=1e-11)
    direction = np.random.default_rng([seed, 2]).normal(size=4)
    np.testing.assert_allclose(ad.pushforward(ours, (x,), (direction,))[1], expected @ direction, rtol=1e-9, atol=1e-11)
    H = torch.autograd.functional.hessian(theirs, t.detach()).numpy()
    np.testing.assert_allclose(ad.hessian(ours)(x), H, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(ad.hessian_vector(ours, x, direction), H @ direction, rtol=1e-8, atol=1e-9)


def test_orders_and_modes_can_be_nested():
    def f(x):
        return p.sin(x) * p.exp(0.5 * x)

    by_forward = [ad.derivative(f, order=k)(0.7) for k in range(5)]
    by_reverse = [0.0] * 5
    g = f
    for k in range(5):
        by_reverse[k] = float(g(0.7))
        g = ad.grad(g)
    exact = [np.imag((0.5 + 1j) ** k * np.exp((0.5 + 1j) * 0.7)) for k in range(5)]
    np.testing.assert_allclose(by_forward, exact, rtol=1e-12)
    np.testing.assert_allclose(by_reverse, exact, rtol=1e-12)
    assert ad.derivative(ad.grad(lambda x: x * x * x))(2.0) == 12.0
    assert ad.grad(ad.derivative(lambda x: x * x * x))(2.0) == 12.0


def test_inner_and_outer_variables_are_not_confused():
    """d/dx of x times (d/dy of x + y) is 1: the classic trap of nested forward mode."""
    assert ad.derivative(lambda x: x * ad.derivative(lambda y: x + y)(1.0))(1.0) == 1.0
    assert ad.grad(lambda x: x * ad.grad(lambda y: x * y)(3.0))(5.0) == 10.0


def test_what_an_output_does_not_depend_on_has_derivative_0():
    assert ad.grad(lambda x: 3.0)(2.0).tolist() == 0.0
    np.testing.assert_array_equal(ad.pullback(lambda x, y: p.total(x), normal(2), normal(3))[1]()[1], np.zeros(3))
    assert ad.pushforward(lambda x: 4.0, (1.0,), (1.0,))[1] == 0.0


def test_jacobians_of_both_modes_agree():
    f = lambda x: p.concatenate(p.sin(x) * x[0], p.exp(x[1:]), axis=0)  # noqa: E731
    x = normal(4)
    expected = torch.autograd.functional.jacobian(
        lambda t: torch.cat([torch.sin(t) * t[0], torch.exp(t[1:])]), torch.tensor(x)
    ).numpy()
    np.testing.assert_allclose(ad.jacobian_forward(f, x), expected, rtol=1e-12)
    np.testing.assert_allclose(ad.jacobian_reverse(f, x), expected, rtol=1e-12)


def test_partial_and_total_derivatives_on_a_graph():
    tape = ad.Tape()
    x, y = tape.variable(2.0, "x"), tape.variable(3.0, "y")
    u = ad.as_primitive("u", lambda a, b: a * b)(x, y)
    v = ad.as_primitive("v", lambda a, b: a + p.sin(b))(u, x)
    assert ad.partial_derivative(v, x) == np.cos(2.0)
    assert ad.total_derivative(v, x) == 3.0 + np.cos(2.0)
    assert ad.partial_derivative(v, y) == 0.0
    entries = ad.graph_entries(v)
    assert [entry.parents for entry in entries] == [(), (), (0, 1), (2, 0)]
    assert raw(entries[2].adjoint) == 1.0
    assert ad.derivative(ad.grad(ad.as_primitive("c", lambda a: a * a * a)))(2.0) == 12.0


def test_wrong_use_is_told():
    with pytest.raises(ValueError, match="the output must be one number unless a seed is given"):
        ad.pullback(lambda x: x * 2, normal(3))[1]()
    with pytest.raises(ValueError, match="both factors must be matrices"):
        p.matmul(normal(3), normal(3, 2))
    tape = ad.Tape()
    x = tape.variable(2.0)
    with pytest.raises(TypeError, match="the exponent must be a number"):
        x**x
