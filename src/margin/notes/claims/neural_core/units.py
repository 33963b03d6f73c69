"""Single units and plain containers: the neuron, the perceptron rule, batches, layers in a row."""

from __future__ import annotations

import numpy as np

from margin.core.verdict import Verdict, above, corrected, equal, every, near
from margin.notes import atlas
from margin.notes.claims import claim


@claim("brain-inspiration")
def a_unit_fires_when_its_weighted_sum_passes_a_threshold(seed: int) -> Verdict:
    from margin.neural.theory import Neuron

    rng = np.random.default_rng(seed)
    X, w, b = rng.normal(size=(50, 4)), rng.normal(size=4), rng.normal()
    fires = Neuron(w, b, "sigmoid")(X) > 0.5
    return every(
        threshold=equal(fires, X @ w > -b),
        in_the_glossary=equal("brain-inspiration" in [row.id for row in atlas.find("brain")], True),
    )


@claim("artificial-neuron")
def a_neuron_is_a_function_of_a_dot_product(seed: int) -> Verdict:
    from margin.neural.theory import Neuron

    rng = np.random.default_rng(seed)
    w, b, x, h = rng.normal(size=3), rng.normal(), rng.normal(size=3), 1e-6
    sigmoid = lambda z: 1 / (1 + np.exp(-z))  # noqa: E731
    neuron = Neuron(w, b, "sigmoid")
    slopes = [(Neuron(w + h * e, b)(x) - Neuron(w - h * e, b)(x)) / (2 * h) for e in np.eye(3)]
    slopes.append((Neuron(w, b + h)(x) - Neuron(w, b - h)(x)) / (2 * h))
    truth = every(
        value=near(neuron(x), sigmoid(sum(w[i] * x[i] for i in range(3)) + b), tolerance=1e-14),
        gradient=near(neuron.gradients(x)[0], slopes, tolerance=1e-8),
        a_number=equal(np.ndim(neuron(x)), 0),
    )
    # A product of scalars, w_i x_i + b_i, gives one number per input in place of one.
    return corrected(truth, printed=near(sigmoid(w * x + b), neuron(x), tolerance=1e-6))


@claim("single-layer-perceptron")
def the_perceptron_rule_ends_if_and_only_if_a_line_separates(seed: int) -> Verdict:
    from margin.neural.theory import perceptron_rule

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 2))
    side = X @ [1.0, -0.5] + 0.2
    X, y = X[np.abs(side) > 0.1], (side[np.abs(side) > 0.1] > 0).astype(int)
    run = perceptron_rule(X, y)
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    exclusive_or = perceptron_rule(corners, np.array([0, 1, 1, 0]), max_passes=200)
    fresh = rng.normal(size=(500, 2))
    return every(
        no_errors=equal(run.predict(X), y),
        converged=equal((run.converged, run.mistakes[-1]), (True, 0)),
        linear_boundary=equal(run.predict(fresh), (fresh @ run.w + run.b > 0).astype(int)),
        exclusive_or_is_told=equal(exclusive_or.converged, False),
        exclusive_or_errs=above(min(exclusive_or.mistakes), 0),
    )


@claim("batched-tensor-shape-example")
def a_batch_adds_an_axis_that_the_network_does_not_fix(seed: int) -> Verdict:
    import torch
    from torch import nn
    from torch.nn import functional

    from margin.data.batching import collate
    from margin.neural.weights import build

    notes = atlas.row("batched-tensor-shape-example").values
    image = np.zeros(notes["batch"][1:], dtype=np.uint8)
    layers = lambda: nn.Sequential(nn.Conv3d(4, 3, 3), nn.ReLU(), nn.AdaptiveAvgPool3d(1), nn.Flatten())  # noqa: E731
    net = build(layers, seed, torch.float64).eval()
    small = np.random.default_rng(seed).normal(size=(2, 4, 6, 6, 6))
    both, one = net(torch.from_numpy(collate(list(small)))), net(torch.from_numpy(collate([small[0]])))
    losses = functional.mse_loss(both, torch.zeros_like(both), reduction="none").mean(dim=1)
    fixed = build(lambda: nn.Sequential(nn.Flatten(), nn.Linear(4 * 6**3, 2)), seed, torch.float64)
    truth = every(
        two=equal(collate([image, image]).shape, tuple(notes["batch"])),
        one=equal(collate([image]).shape, tuple(notes["one"])),
        same_output=near(both[:1].detach().numpy(), one.detach().numpy(), tolerance=1e-12),
        flat_at_its_size=equal(tuple(fixed(torch.from_numpy(small)).shape), (2, 2)),
    )
    default = functional.mse_loss(both, torch.zeros_like(both))
    return corrected(
        truth,
        the_loss_is_a_sum=near(float(default.detach()), float(losses.sum().detach()), tolerance=1e-9),
        any_size_fits=equal(_accepts(fixed, torch.zeros(1, 4, 7, 7, 7, dtype=torch.float64)), True),
    )


def _accepts(net: object, x: object) -> bool:
    try:
        net(x)  # type: ignore[operator]
    except RuntimeError:
        return False
    return True


@claim("sequential-processing")
def a_sequential_network_is_a_nested_call(seed: int) -> Verdict:
    import torch
    from torch import nn

    from margin.neural.layers.dense import Dense
    from margin.neural.weights import build

    net = build(lambda: nn.Sequential(Dense(4, 4, "relu"), Dense(4, 4, "tanh"), Dense(4, 4)), seed, torch.float64)
    x = torch.from_numpy(np.random.default_rng(seed).normal(size=(7, 4)))
    f1, f2, f3 = net
    with torch.no_grad():
        y, nested, reversed_order = net(x).numpy(), f3(f2(f1(x))).numpy(), f1(f2(f3(x))).numpy()
    return every(nested=equal(y, nested), order_matters=above(float(np.abs(y - reversed_order).max()), 1e-3))
