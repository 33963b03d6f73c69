"""Automatic differentiation: both modes, their costs, graphs, orders, and what a change of one parameter does."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, within
from margin.notes.claims import claim
from margin.notes.claims.neural_core.perceptron import network


def peak(call: Callable[[], Any]) -> int:
    """Most bytes that were in use at once while ``call`` ran."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def chain(steps: int, size: int) -> Callable[[Any], Any]:
    """A number for a vector, through ``steps`` functions of ``size`` entries."""
    from margin.neural.autodiff.primitives import broadcast_to, sin, total

    def f(x: Any) -> Any:
        h = broadcast_to(total(x), shape=(size,))
        for _ in range(steps):
            h = sin(h)
        return total(h)

    return f


def fan(n_outputs: int, size: int) -> Callable[[Any], Any]:
    """Several numbers for a vector, all through one long chain."""
    from margin.neural.autodiff.primitives import broadcast_to, sin, take, total

    def f(x: Any) -> Any:
        h = broadcast_to(total(x), shape=(size,))
        for _ in range(10):
            h = sin(h)
        return take(h, index=(np.arange(n_outputs),))

    return f


@claim("partial-vs-total-derivative", "example-backprop-dag")
def derivatives_on_the_five_node_graph(seed: int) -> Verdict:
    from margin.neural.autodiff import Tape, as_primitive, graph_entries, partial_derivative, total_derivative

    x1, x2, x3, t1, t2 = np.random.default_rng(seed).normal(size=5)
    tape = Tape()
    theta_1, theta_2 = tape.variable(t1, "theta_1"), tape.variable(t2, "theta_2")
    v1, v2, v4 = (tape.variable(value, name) for value, name in ((x1, "v1"), (x2, "v2"), (x3, "v4")))
    v3 = as_primitive("v3", lambda a, b, t: t * a * b)(v1, v2, theta_1)
    v5 = as_primitive("v5", lambda t, a, b: t + a + b)(theta_2, v3, v4)
    adjoint = {entry.name: float(entry.adjoint) for entry in graph_entries(v5)}
    return every(
        value=near(v5.value, t2 + x3 + t1 * x1 * x2, tolerance=1e-12),
        partial=equal(float(partial_derivative(v5, theta_1)), 0.0),
        total=near(total_derivative(v5, theta_1), x1 * x2, tolerance=1e-12),
        partial_of_an_argument=equal(float(partial_derivative(v5, theta_2)), 1.0),
        ends=equal([adjoint["v5"], adjoint["v4"], adjoint["v3"]], [1.0, 1.0, 1.0]),
        v2=near(adjoint["v2"], t1 * x1, tolerance=1e-12),
        v1=near(adjoint["v1"], t1 * x2, tolerance=1e-12),
        theta=near([adjoint["theta_1"], adjoint["theta_2"]], [x1 * x2, 1.0], tolerance=1e-12),
    )


@claim("forward-mode-autodiff")
def forward_mode_takes_a_pass_per_input_and_stores_nothing(seed: int) -> Verdict:
    from margin.neural.autodiff import derivative, jacobian_forward, jacobian_reverse, pushforward
    from margin.neural.autodiff.primitives import exp, sin

    rng = np.random.default_rng(seed)
    x, calls = rng.normal(size=5), []
    M = rng.normal(size=(3, 5))

    def f(v: Any) -> Any:
        calls.append(1)
        return sin(M @ v.reshape(5, 1)) if isinstance(v, np.ndarray) else sin(M @ _column(v))

    forward = jacobian_forward(f, x)
    passes = len(calls)
    one = lambda t: sin(t) * exp(t)  # noqa: E731
    moved = lambda steps: peak(lambda: pushforward(chain(steps, 20_000), (np.ones(4),), (np.ones(4),)))  # noqa: E731
    plain = peak(lambda: chain(40, 20_000)(np.ones(4)))
    jacobian = lambda n: peak(lambda: jacobian_forward(chain(10, 20_000), np.ones(n)))  # noqa: E731
    truth = every(
        one_pass_per_input=equal(passes, 5),
        agrees_with_reverse=near(forward, jacobian_reverse(f, x), tolerance=1e-12),
        exact=near(derivative(one)(0.7), np.exp(0.7) * (np.sin(0.7) + np.cos(0.7)), tolerance=1e-14),
        about_twice_the_memory=within(moved(40) / plain, 1.2, 3.0),
        whatever_the_length=within(moved(40) / moved(10), 0.9, 1.1),
    )
    return corrected(truth, printed=above(jacobian(16) / jacobian(4), 2.0))


def _column(v: Any) -> Any:
    from margin.neural.autodiff.primitives import reshape

    return reshape(v, shape=(5, 1))


@claim("reverse-mode-autodiff")
def reverse_mode_takes_a_pass_per_output_and_stores_the_way(seed: int) -> Verdict:
    import torch

    from margin.neural.autodiff import grad, gradient_check, jacobian_reverse, pullback
    from margin.neural.autodiff.primitives import sin, tanh, total

    rng = np.random.default_rng(seed)
    x = rng.normal(size=6)
    shared = lambda v: total(tanh(v) * v + sin(v * v))  # noqa: E731  (v has five uses)
    t = torch.tensor(x, requires_grad=True)
    (expected,) = torch.autograd.grad((torch.tanh(t) * t + torch.sin(t * t)).sum(), t)
    passes = {}
    for n in (3, 300):
        _, pull, tape = pullback(shared, np.ones(n))
        pull()
        passes[n] = tape.passes
    value, pull, tape = pullback(fan(4, 50), x)
    rows = [pull(row) for row in np.eye(len(value))]
    backward = lambda steps: peak(lambda: grad(chain(steps, 20_000))(np.ones(4)))  # noqa: E731
    of_outputs = lambda m: peak(lambda: jacobian_reverse(fan(m, 20_000), np.ones(4)))  # noqa: E731
    truth = every(
        torch=near(grad(shared)(x), expected.numpy(), tolerance=1e-12),
        differences=below(gradient_check(shared, x).reverse, 1e-6),
        starts_from_1=equal(tape.adjoints(tape.nodes[0], np.ones(6))[0].tolist(), [1.0] * 6),
        one_pass_for_a_number=equal(passes, {3: 1, 300: 1}),
        a_pass_per_output=equal((tape.passes - 1, len(rows)), (4, 4)),
        memory_grows_with_the_length=above(backward(40) / backward(10), 2.0),
    )
    return corrected(truth, printed=above(of_outputs(16) / of_outputs(2), 2.0))


@claim("autodiff-primitives")
def every_listed_primitive_passes_a_gradient_check(seed: int) -> Verdict:
    from margin.neural.autodiff import PRIMITIVES, gradient_check
    from margin.neural.autodiff import functions as fn
    from margin.neural.autodiff import primitives as p

    rng = np.random.default_rng(seed)
    n = lambda *shape: rng.normal(size=shape)  # noqa: E731
    mask, codes = rng.random((3, 4)) < 0.5, np.array([2, 0, 1])
    listed: dict[str, tuple[Any, ...]] = {
        "linear layer": (fn.dense, n(3, 4), n(2, 4), n(2)),
        "convolution": (fn.conv2d, n(2, 2, 5, 5), n(3, 2, 3, 3), n(3)),
        "pooling": (lambda x: fn.max_pool2d(x, 2), n(1, 2, 4, 4)),
        "layer normalization": (fn.layer_norm, n(3, 4), n(4), n(4)),
        "batch normalization": (fn.batch_norm, n(6, 4), n(4), n(4)),
        "reduction": (lambda x: fn.mean(x, axis=1), n(3, 4)),
        "dropout": (lambda x: fn.dropout(x, mask, 0.5), n(3, 4)),
        "cross-entropy": (lambda x: fn.cross_entropy(x, codes), n(3, 4)),
        "squared error": (fn.mse, n(3, 4), n(3, 4)),
        "attention": (fn.attention, n(2, 3, 4), n(2, 5, 4), n(2, 5, 4)),
        "indexing": (lambda x: fn.embedding(x, codes), n(4, 2)),
        "reshaping": (lambda x: p.transpose(p.reshape(x, shape=(2, 6)), axes=(1, 0)), n(3, 4)),
        "joining": (lambda x, y: p.concatenate(x, y, axis=1), n(3, 2), n(3, 4)),
        **{name: (getattr(p, name), n(5)) for name in ("tanh", "sigmoid", "softplus", "exp", "sin", "cos", "erf")},
        **{name: (getattr(p, name), n(5) + 4) for name in ("relu", "absolute", "log", "sqrt")},
    }
    errors = {name: max(gradient_check(f, *inputs)) for name, (f, *inputs) in listed.items()}
    worst = max(errors, key=lambda name: errors[name])
    return every(worst_of_all=below(errors[worst], 1e-6), how_many=above(len(PRIMITIVES), 25))


@claim("higher-order-autodiff")
def derivatives_in_the_input_can_be_differentiated_in_the_weights(seed: int) -> Verdict:
    import torch

    from margin.neural.autodiff import grad
    from margin.neural.autodiff.functions import dense
    from margin.neural.autodiff.primitives import concatenate, reshape, tanh, total

    rng = np.random.default_rng(seed)
    W1, b1, W2 = rng.normal(size=(8, 2)), rng.normal(size=8), rng.normal(size=(1, 8))

    def u(t: Any, x: Any, w: Any) -> Any:
        point = concatenate(reshape(t, shape=(1, 1)), reshape(x, shape=(1, 1)), axis=1)
        return total(dense(tanh(dense(point, w, b1)), W2, np.zeros(1)))

    u_t, u_x = grad(u, 0), grad(u, 1)
    u_xx = grad(u_x, 1)
    at, h = (0.3, -0.4), 1e-4
    difference = (u(0.3, -0.4 + h, W1) - 2 * u(*at, W1) + u(0.3, -0.4 - h, W1)) / h**2
    residual = lambda w: (u_t(*at, w) - 0.1 * u_xx(*at, w)) ** 2  # noqa: E731  (the heat equation)
    w = torch.tensor(W1, requires_grad=True)
    point = torch.tensor(at, dtype=torch.float64, requires_grad=True)
    value = (torch.tanh(point @ w.T + torch.tensor(b1)) @ torch.tensor(W2).T).sum()
    (first,) = torch.autograd.grad(value, point, create_graph=True)
    (second,) = torch.autograd.grad(first[1], point, create_graph=True)
    (expected,) = torch.autograd.grad((first[0] - 0.1 * second[1]).square(), w)
    return every(
        differences=near(u_xx(*at, W1), difference, tolerance=1e-4),
        torch=near(u_xx(*at, W1), float(second[1].detach()), tolerance=1e-10),
        weights=near(grad(residual)(W1), expected.numpy(), tolerance=1e-9),
    )


@claim("claim-parameter-change-ripples")
def a_change_moves_later_layers_only(seed: int) -> Verdict:
    import torch

    from margin.neural.diagnostics import parameter_influence

    net = network(3, 5, 4, 4, 1, activation="tanh", seed=seed)
    x = torch.from_numpy(np.random.default_rng(seed).normal(size=(6, 3)))
    influences = parameter_influence(net, "linears.1.bias", (2,), x)  # of the second hidden layer
    moved = [float(part.moved.abs().max()) for part in influences]
    gap = [float((p.moved - p.predicted).norm() / p.predicted.norm()) for p in influences[2:]]
    return every(
        layers_before=equal(moved[:2], [0.0, 0.0]),
        layers_after=above(min(moved[2:]), 0.0),
        first_order=below(max(gap), 1e-4),
        all_layers=equal(len(influences), 5),
    )


@claim("claim-backprop-reuses-gradients")
def one_backward_pass_costs_two_forward_passes(seed: int) -> Verdict:
    import torch

    from margin.neural.training.work import WorkCounter
    from margin.neural.weights import count_parameters

    ratios, alternatives = [], []
    for depth in (2, 4, 7, 10):
        net = network(8, *[8] * depth, 1, activation="tanh", seed=seed)
        x = torch.from_numpy(np.random.default_rng(seed).normal(size=(16, 8)))
        with WorkCounter() as forward:
            value = net(x).sum()
        with WorkCounter() as backward:
            value.backward()
        ratios.append((forward.multiply_adds + backward.multiply_adds) / forward.multiply_adds)
        alternatives.append(count_parameters(net))
    return every(
        at_most_three=below(max(ratios), 3.0 + 1e-9),
        not_less_than_two=above(min(ratios), 2.0),
        one_at_a_time_costs=above(min(alternatives) / max(ratios), 40),
    )


@claim("claim-early-layer-derivative-chain")
def the_derivative_in_an_early_layer_is_a_product(seed: int) -> Verdict:
    import torch

    from margin.neural.diagnostics import parameter_influence

    net = network(2, 4, 4, 4, 1, activation="tanh", seed=seed)
    x = torch.from_numpy(np.random.default_rng(seed).normal(size=(1, 2)))
    trace = net.trace(x)
    f1 = trace.pre_activations[0].detach().requires_grad_()

    def rest(f: Any) -> Any:
        for linear in net.linears[1:]:
            f = linear(torch.tanh(f))
        return f

    (by_autodiff,) = torch.autograd.grad(rest(f1).sum(), f1)
    factors = [
        linear.weight * (1 - torch.tanh(f) ** 2) for linear, f in zip(net.linears[1:], trace.pre_activations[:-1])
    ]
    product = torch.linalg.multi_dot(factors[::-1])
    moved = parameter_influence(net, "linears.0.bias", (0,), x, step=0.1)
    # One unit per layer: y = f4(f3(f2(f1))), each f_k(v) = sin(v) + k v / 5, and f1 = theta.
    slope = lambda v, k: np.cos(v) + k / 5  # noqa: E731
    v1 = 0.4 + 0.1 * (seed % 5)  # where no slope is near zero
    v2 = np.sin(v1) + 2 * v1 / 5
    v3 = np.sin(v2) + 3 * v2 / 5
    chain_rule = slope(v1, 2) * slope(v2, 3) * slope(v3, 4)
    h = 1e-6
    y = lambda v: _compose(v)  # noqa: E731
    of_theta = [slope(v1, 2), slope(v1, 2) * slope(v2, 3), chain_rule]  # df_2, df_3 and df_4 in theta
    truth = every(
        product=near(product.detach().numpy(), by_autodiff.numpy(), tolerance=1e-12),
        # Steep or flat, but by more than rounding, which is 1e-16.
        every_factor_changes=above(min(float(part.moved.abs().max()) for part in moved[1:]), 1e-9),
        scalar=near((y(v1 + h) - y(v1 - h)) / (2 * h), chain_rule, tolerance=1e-6),
    )
    return corrected(truth, printed=near(float(np.prod(of_theta)), chain_rule, tolerance=1e-3))


def _compose(v: float) -> float:
    for k in (2, 3, 4):
        v = np.sin(v) + k * v / 5
    return v
