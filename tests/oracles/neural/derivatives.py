"""Derivatives by tapes and dual numbers against differences, paths and masks by enumeration, cells by loops."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import torch
from tests.oracles import oracle
from torch import nn

from margin.core.verdict import Verdict, equal, every, near
from margin.neural.autodiff.graph import partial_derivative, total_derivative
from margin.neural.autodiff.modes import derivative, grad, jacobian_forward, jacobian_reverse, pushforward
from margin.neural.autodiff.tracing import Tape
from margin.neural.backprop import forward_pass, relu_jacobian
from margin.neural.diagnostics.flow import gradient_norms
from margin.neural.diagnostics.paths import path_outputs, residual_paths
from margin.neural.layers.dropout import Dropout, thinned_masks
from margin.neural.layers.recurrent import unroll
from margin.neural.weights import build
from margin.notes.claims.chance import ERRORS

PATH = "margin.neural"


@oracle(
    *(f"{PATH}.autodiff.graph.{name}" for name in ("partial_derivative", "total_derivative")),
    f"{PATH}.autodiff.tracing.Tape",
)
def a_graph_with_two_ways(seed: int) -> Verdict:
    """z = u x + u with u = x^2 y: the total derivative goes both ways, the partial one holds u fixed."""
    a, b = np.random.default_rng(seed).normal(1.0, 0.6, size=2).tolist()
    tape = Tape()
    x, y = tape.variable(a), tape.variable(b)
    u = x * x * y
    z = u * x + u
    value = lambda s, t: s * s * t * s + s * s * t  # noqa: E731
    slopes = [(value(a + h, b + k) - value(a - h, b - k)) / 2e-5 for h, k in ((1e-5, 0.0), (0.0, 1e-5))]
    mixed = z * 1.0
    return every(
        both=near([float(g) for g in tape.gradients(z, [x, y])], slopes, tolerance=1e-6),
        total=near(float(total_derivative(z, x)), slopes[0], tolerance=1e-6),
        through_u=near(float(total_derivative(z, u)), a + 1, tolerance=1e-12),
        partial=near(float(partial_derivative(u * x, x)), float(a * a * b), tolerance=1e-12),
        none=equal(float(partial_derivative(mixed, x)), 0.0),
    )


@oracle(
    *(
        f"{PATH}.autodiff.modes.{name}"
        for name in ("derivative", "grad", "jacobian_forward", "jacobian_reverse", "pushforward")
    )
)
def slopes_both_ways(seed: int) -> Verdict:
    """A function of three numbers with two outputs: columns and rows of its Jacobian by differences."""
    rng = np.random.default_rng(seed)
    W, point, direction = rng.normal(size=(2, 3)), rng.normal(0.5, 1.0, size=(1, 3)), rng.normal(size=(1, 3))
    f = lambda x: (x * x * x) @ W.T  # noqa: E731
    plain = lambda x: W @ x[0] ** 3  # noqa: E731
    columns = [(plain(point + h) - plain(point - h)) / 2e-5 for h in 1e-5 * np.eye(3)]
    value, tangent = pushforward(f, (point,), (direction,))
    t = float(point[0, 0])
    return every(
        forward=near(jacobian_forward(f, point), np.column_stack(columns), tolerance=1e-6),
        reverse=near(jacobian_reverse(f, point), np.column_stack(columns), tolerance=1e-6),
        value=near(np.ravel(value), plain(point), tolerance=1e-12),
        along=near(np.ravel(tangent), np.column_stack(columns) @ direction[0], tolerance=1e-5),
        third=near(float(derivative(lambda x: x * x * x * x, order=3)(t)), 24 * t, tolerance=1e-9),
        gradient=near(float(grad(lambda x, y: x * x * y, argument=1)(t, 2.0)), t * t, tolerance=1e-12),
    )


@oracle(f"{PATH}.backprop.forward_pass", f"{PATH}.backprop.relu_jacobian")
def layers_unit_by_unit(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    sizes, x = (3, 4, 2), rng.normal(size=(5, 3))
    weights = [rng.normal(size=(b, a)) for a, b in pairwise(sizes)]
    biases = [rng.normal(size=b) for b in sizes[1:]]
    before = [[sum(w * v for w, v in zip(unit, row)) + c for unit, c in zip(weights[0], biases[0])] for row in x]
    after = [[max(value, 0.0) for value in row] for row in before]
    last = [[sum(w * v for w, v in zip(unit, row)) + c for unit, c in zip(weights[1], biases[1])] for row in after]
    f, h = forward_pass(weights, biases, x)
    b = rng.normal(size=4)
    slopes = [(np.maximum(b + s, 0) - np.maximum(b - s, 0)) / 2e-7 for s in 1e-7 * np.eye(4)]
    return every(
        before=near(f[0], before, tolerance=1e-12),
        after=near(h[1], after, tolerance=1e-12),
        last=near(f[1], last, tolerance=1e-12),
        jacobian=near(relu_jacobian(b), np.column_stack(slopes), tolerance=1e-6),
    )


@oracle(f"{PATH}.diagnostics.flow.gradient_norms")
def lengths_of_slopes(seed: int) -> Verdict:
    """Every weight moved a little on both sides; biases have no part in the lengths."""
    net = build(lambda: nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)), seed, torch.float64)
    x = torch.from_numpy(np.random.default_rng(seed).normal(size=(4, 2)))
    objective = lambda: net(x).square().mean()  # noqa: E731
    lengths = []
    for layer in (net[0], net[2]):
        total = 0.0
        for index in np.ndindex(*layer.weight.shape):
            values = []
            for step in (1e-5, -2e-5):
                with torch.no_grad():
                    layer.weight[index] += step
                values.append(float(objective()))
            with torch.no_grad():
                layer.weight[index] += 1e-5
            total += ((values[0] - values[1]) / 2e-5) ** 2
        lengths.append(total**0.5)
    return near(gradient_norms(net, objective), lengths, tolerance=1e-6)


@oracle(*(f"{PATH}.diagnostics.paths.{name}" for name in ("residual_paths", "path_outputs")))
def paths_that_add_up(seed: int) -> Verdict:
    """The paths of x + Bx, block after block: every choice of blocks once, and their sum is the output."""
    rng = np.random.default_rng(seed)
    blocks, x = rng.normal(size=(3, 4, 4)), rng.normal(size=4)
    h = x
    for block in blocks:
        h = h + block @ h
    outputs = path_outputs(list(blocks), x)
    chosen = {tuple(k for k in range(3) if kept[k]) for kept in product((0, 1), repeat=3)}
    return every(
        paths=equal((len(residual_paths(3)), set(residual_paths(3))), (8, chosen)),
        total=near(sum(outputs.values()), h, tolerance=1e-9),
        one=near(outputs[0, 2], blocks[2] @ (blocks[0] @ x), tolerance=1e-12),
    )


@oracle(*(f"{PATH}.layers.dropout.{name}" for name in ("Dropout", "thinned_masks")))
def units_left_out(seed: int) -> Verdict:
    """What is kept is divided by its probability, the rate of zeros is that asked for; nothing when predicting."""
    layer, h = Dropout(0.3), torch.from_numpy(np.random.default_rng(seed).normal(3.0, 0.5, size=(200, 50)))
    layer.generator = torch.Generator().manual_seed(seed)
    dropped = layer(h).numpy()
    kept, n = dropped != 0, h.numel()
    bits = [[number >> (3 - unit) & 1 for unit in range(4)] for number in range(16)]
    return every(
        values=near(dropped[kept], h.numpy()[kept] / 0.7, tolerance=1e-12),
        rate=near(1 - kept.mean(), 0.3, tolerance=ERRORS * (0.21 / n) ** 0.5),
        predicting=near(layer.eval()(h), h, tolerance=0.0),
        masks=near(thinned_masks(4), bits, tolerance=0.0),
    )


@oracle(f"{PATH}.layers.recurrent.unroll")
def states_step_by_step(seed: int) -> Verdict:
    """tanh(W x + U h + b + c) sequence by sequence; cut from its past, a state gives the same values and no slopes."""
    rng = np.random.default_rng(seed)
    x, parts = rng.normal(size=(2, 5, 3)), [rng.normal(0, 0.6, size=shape) for shape in ((4, 3), (4, 4), (4,), (4,))]
    W, U, b, c = parts
    expected = np.zeros((2, 5, 4))
    for n in range(2):
        h = np.zeros(4)
        for t in range(5):
            h = np.tanh(W @ x[n, t] + U @ h + b + c)
            expected[n, t] = h
    given = torch.from_numpy(x).requires_grad_()
    weights = tuple(torch.from_numpy(part) for part in parts)
    cut = unroll("rnn", given, weights, truncation=3)
    (slope,) = torch.autograd.grad(cut[:, 4].sum(), given)
    lstm = nn.LSTM(3, 4, batch_first=True).double()
    theirs = lstm(torch.from_numpy(x))[0]
    ours = unroll("lstm", torch.from_numpy(x), tuple(p.detach() for p in lstm.parameters()))
    return every(
        states=near(unroll("rnn", torch.from_numpy(x), weights), expected, tolerance=1e-12),
        cut=near(cut.detach(), expected, tolerance=1e-12),
        forgotten=equal((slope[:, :3] == 0).all().item(), True),
        remembered=equal((slope[:, 3] != 0).any().item(), True),
        lstm=near(ours, theirs.detach(), tolerance=1e-10),
    )
