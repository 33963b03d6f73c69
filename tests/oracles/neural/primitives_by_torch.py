"""Functions made of primitives against torch's of the same name: values, and derivatives by both modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from tests.oracles import oracle
from tests.oracles.neural.convolution import PATH, normal
from torch.nn import functional

from margin.core.verdict import Verdict, every, near
from margin.neural.autodiff import Tape, functions
from margin.neural.autodiff.graph import as_primitive, partial_derivative, total_derivative
from margin.neural.autodiff.modes import pullback, pushforward

LABELS, CODES, KEPT = (
    np.array([2, 0, 1, 1]),
    np.array([3, 0, 3]),
    np.array([[1.0, 0, 1], [0, 1, 1], [1, 1, 0], [1, 0, 1]]),
)


def _normalized(axis: int) -> Callable[..., torch.Tensor]:
    def normalized(a: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
        deviation = (a.var(dim=axis, correction=0, keepdim=True) + 1e-5).sqrt()
        return (a - a.mean(dim=axis, keepdim=True)) / deviation * gamma + beta

    return normalized


# Name, shapes of the inputs, ours, torch's.
PAIRS: list[tuple[str, list[tuple[int, ...]], Callable[..., Any], Callable[..., torch.Tensor]]] = [
    ("mean", [(4, 3, 2)], lambda a: functions.mean(a, axis=(0, 2)), lambda a: a.mean(dim=(0, 2))),
    ("largest", [(4, 3)], lambda a: functions.largest(a, 0), lambda a: a.amax(dim=0)),
    ("gelu", [(4, 3)], functions.gelu, functional.gelu),
    ("log_sum_exp", [(4, 3)], lambda a: functions.log_sum_exp(a, 0), lambda a: a.logsumexp(dim=0, keepdim=True)),
    ("log_softmax", [(4, 3)], functions.log_softmax, lambda a: a.log_softmax(dim=-1)),
    ("softmax", [(4, 3)], lambda a: functions.softmax(a, 0), lambda a: a.softmax(dim=0)),
    ("dense", [(4, 3), (5, 3), (5,)], functions.dense, functional.linear),
    ("dropout", [(4, 3)], lambda a: functions.dropout(a, KEPT, 0.3), lambda a: a * torch.from_numpy(KEPT) / 0.7),
    ("layer_norm", [(4, 3), (3,), (3,)], functions.layer_norm, _normalized(1)),
    ("batch_norm", [(4, 3), (3,), (3,)], functions.batch_norm, _normalized(0)),
    ("embedding", [(4, 3)], lambda a: functions.embedding(a, CODES), lambda a: a[torch.from_numpy(CODES)]),
    ("mse", [(4, 3), (4, 3)], functions.mse, functional.mse_loss),
    ("cross_entropy", [(4, 3)], lambda a: functions.cross_entropy(a, LABELS),
     lambda a: functional.cross_entropy(a, torch.from_numpy(LABELS))),
    ("attention", [(2, 5, 3), (2, 4, 3), (2, 4, 6)], functions.attention, functional.scaled_dot_product_attention),
    ("conv2d", [(2, 3, 6, 5), (4, 3, 3, 2), (4,)], functions.conv2d, functional.conv2d),
    ("max_pool2d", [(2, 3, 6, 4)], lambda a: functions.max_pool2d(a, 2), lambda a: functional.max_pool2d(a, 2)),
]  # fmt: skip


@oracle(f"{PATH}.autodiff.functions")
def layers_of_primitives(seed: int) -> Verdict:
    found = {}
    for name, shapes, ours, theirs in PAIRS:
        inputs = [normal(seed + k, *shape) for k, shape in enumerate(shapes)]
        variables = [x.clone().requires_grad_() for x in inputs]
        expected = theirs(*variables)
        weights, moves = normal(seed, *expected.shape), [normal(seed + 9 + k, *s) for k, s in enumerate(shapes)]
        slopes = torch.autograd.grad((weights * expected).sum(), variables)
        value, pull, _ = pullback(ours, *(x.numpy() for x in inputs))
        along = pushforward(ours, [x.numpy() for x in inputs], [move.numpy() for move in moves])[1]
        forward = float(np.sum(weights.numpy() * along))
        found[name] = near(np.asarray(value), expected.detach().numpy(), tolerance=1e-10)
        found[f"{name}_forward"] = near(
            forward, float(sum((s * m).sum() for s, m in zip(slopes, moves))), tolerance=1e-8
        )
        for k, (gradient, slope) in enumerate(zip(pull(weights.numpy()), slopes)):
            found[f"{name}_{k}"] = near(np.asarray(gradient), slope.numpy(), tolerance=1e-9)
    return every(**found)


@oracle(f"{PATH}.autodiff.graph.as_primitive")
def nodes_with_a_graph_inside(seed: int) -> Verdict:
    """z = x y^2 of y = x u: partial derivatives hold the other argument, the total one follows it."""
    x, u = np.random.default_rng(seed).uniform(0.5, 2.0, size=2)
    tape = Tape()
    first, second = tape.variable(x), tape.variable(u)
    inner = as_primitive("xu", lambda a, b: a * b)(first, second)
    outer = as_primitive("xyy", lambda a, b: a * b * b)(first, inner)
    return every(
        value=near(float(outer.value), x * (x * u) ** 2, tolerance=1e-12),
        partial=near(float(partial_derivative(outer, first)), (x * u) ** 2, tolerance=1e-12),
        partial_in_y=near(float(partial_derivative(outer, inner)), 2 * x * (x * u), tolerance=1e-12),
        total=near(float(total_derivative(outer, first)), 3 * x**2 * u**2, tolerance=1e-12),
        forward=near(
            float(pushforward(lambda a: as_primitive("xyy", lambda p, q: p * q * q)(a, 2 * a), [x], [1.5])[1]),
            1.5 * 12 * x**2,
            tolerance=1e-10,
        ),
    )
