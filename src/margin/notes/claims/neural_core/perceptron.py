"""What a multi-layer perceptron computes: its terms, shapes, counts and worked examples."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, corrected, equal, every, near
from margin.notes import atlas
from margin.notes.claims import claim


def network(*sizes: int, activation: str = "relu", seed: int) -> Any:
    """A perceptron in double precision with fixed random weights."""
    import torch

    from margin.neural.nets.mlp import MLP
    from margin.neural.weights import build

    return build(lambda: MLP(sizes, activation), seed=seed, dtype=torch.float64)


def with_parameters(net: Any, *layers: tuple[Any, Any]) -> Any:
    """The same network with given weights and biases, layer by layer."""
    from margin.neural.weights import load_weights

    named: dict[str, np.ndarray] = {}
    for k, (weight, bias) in enumerate(layers):
        named |= {f"linears.{k}.weight": np.array(weight, float), f"linears.{k}.bias": np.array(bias, float)}
    load_weights(net, named)
    return net


def parameters(net: Any) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Weights and biases of every layer."""
    layers = [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in net.linears]
    return [weight for weight, _ in layers], [bias for _, bias in layers]


def rows(seed: int, n: int, d: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def outputs(net: Any, X: np.ndarray) -> np.ndarray:
    import torch

    return net(torch.from_numpy(X)).detach().numpy()


def trace(net: Any, X: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Pre-activations and activations as arrays."""
    import torch

    f, h = net.trace(torch.from_numpy(X))
    return [part.detach().numpy() for part in f], [part.detach().numpy() for part in h]


@claim("shallow-network-1d", "three-steps-of-a-shallow-network")
def three_clipped_lines_weighted_and_added(seed: int) -> Verdict:
    from margin.neural.weights import count_parameters

    net, x = network(1, 3, 1, seed=seed), np.linspace(-2, 2, 41)[:, None]
    (slopes, weights), (offsets, offset) = parameters(net)
    lines = [offsets[d] + slopes[d, 0] * x[:, 0] for d in range(3)]
    clipped = [np.maximum(line, 0) for line in lines]
    y = offset[0] + sum(weights[0, d] * clipped[d] for d in range(3))
    f, h = trace(net, x)
    return every(
        ten_parameters=equal(count_parameters(net), 10),
        lines=near(f[0], np.stack(lines, axis=1), tolerance=1e-12),
        clipped=near(h[1], np.stack(clipped, axis=1), tolerance=1e-12),
        sum=near(outputs(net, x)[:, 0], y, tolerance=1e-12),
    )


@claim("general-shallow-network")
def outputs_sum_over_all_hidden_units(seed: int) -> Verdict:
    from margin.neural.weights import count_parameters

    n_in, n_hidden, n_out = 4, 7, 3
    net, X = network(n_in, n_hidden, n_out, seed=seed), rows(seed, 6, n_in)
    (theta, phi), (theta_0, phi_0) = parameters(net)

    def double_sum(terms: int) -> np.ndarray:
        h = [np.maximum(theta_0[d] + sum(theta[d, i] * X[:, i] for i in range(n_in)), 0) for d in range(n_hidden)]
        return np.stack([phi_0[j] + sum(phi[j, d] * h[d] for d in range(terms)) for j in range(n_out)], axis=1)

    truth = every(
        formula=near(outputs(net, X), double_sum(n_hidden), tolerance=1e-12),
        parameters=equal(count_parameters(net), n_hidden * (n_in + 1) + n_out * (n_hidden + 1)),
    )
    return corrected(truth, printed=near(outputs(net, X), double_sum(n_out), tolerance=1e-6))


@claim("mlp")
def a_perceptron_is_the_recursion_and_learns_exclusive_or(seed: int) -> Verdict:
    from margin.neural import MLPClassifier, MLPRegressor
    from margin.neural.weights import count_parameters

    sizes = [3, 4, 4, 2]  # two layers of one size, so that the values of one could be taken for those of the other
    net, X = network(*sizes, seed=seed), rows(seed, 8, 3)
    W, b = parameters(net)
    h = [X]
    for k in range(2):
        h.append(np.maximum(b[k] + h[k] @ W[k].T, 0))
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    exclusive_or = MLPClassifier((16,), learning_rate_init=0.1, alpha=0.0, random_state=seed).fit(corners, [0, 1, 1, 0])
    line = MLPRegressor((8,), learning_rate_init=0.02, random_state=seed).fit(X, X @ [1.0, -2.0, 0.5])
    return every(
        regression=above(line.score(X, X @ [1.0, -2.0, 0.5]), 0.9),
        layers=near(trace(net, X)[1][2], h[2], tolerance=1e-12),
        recursion=near(outputs(net, X), b[2] + h[2] @ W[2].T, tolerance=1e-12),
        parameters=equal(count_parameters(net), sum((a + 1) * c for a, c in pairwise(sizes))),
        exclusive_or=equal(exclusive_or.predict(corners), np.array([0, 1, 1, 0])),
    )


@claim("example-mlp-2-1-2-algebra")
def a_2_1_2_network_written_out(seed: int) -> Verdict:
    net, X = network(2, 1, 2, activation="sigmoid", seed=seed), rows(seed, 5, 2)
    (W1, W2), (b1, b2) = parameters(net)
    hidden = 1 / (1 + np.exp(-(W1[0, 0] * X[:, 0] + W1[0, 1] * X[:, 1] + b1[0])))
    written_out = np.stack([W2[i, 0] * hidden + b2[i] for i in range(2)], axis=1)
    return every(
        values=near(outputs(net, X), written_out, tolerance=1e-12), shapes=equal([W1.shape, W2.shape], [(1, 2), (2, 1)])
    )


@claim("example-mlp-numeric")
def the_2_1_2_example_gives_132_and_028(seed: int) -> Verdict:
    x = np.array([[5.0, 2.0]])

    def rectify(bias: list[float]) -> np.ndarray:
        net = with_parameters(network(2, 1, 2, seed=seed), ([[0.5, -0.5]], [0.1]), ([[0.7], [0.3]], bias))
        return np.maximum(outputs(net, x)[0], 0)

    # The list of parameters leaves out the first output bias, 0.2, which the computation uses.
    return corrected(
        near(rectify([0.2, -0.2]), [1.32, 0.28], tolerance=1e-12),
        printed=near(rectify([0.0, -0.2]), [1.32, 0.28], tolerance=1e-6),
    )


@claim("matrix-notation-network")
def the_activation_encloses_bias_and_product(seed: int) -> Verdict:
    net, X = network(2, 3, 8, 1, seed=seed), rows(seed, 30, 2)  # so many that not all units are off for all rows
    W, b = parameters(net)

    def matrices(enclosed: bool = True, biases: list[np.ndarray] = b) -> np.ndarray:
        h = X
        for k in range(2):
            h = np.maximum(biases[k] + h @ W[k].T, 0) if enclosed else np.maximum(biases[k], 0) + h @ W[k].T
        return b[2] + h @ W[2].T

    loops = np.array([[scalar_forward(W, b, x)] for x in X])
    return corrected(
        every(
            network=near(trace(net, X)[0][-1], loops, tolerance=1e-12),
            matrices=near(matrices(), loops, tolerance=1e-12),
            theta_0_is_a_vector=equal(b[0].shape, (3,)),
        ),
        activation_of_the_bias_alone=near(matrices(enclosed=False), loops, tolerance=1e-6),
        one_bias_for_all_units=near(matrices(biases=[b[0][:1], b[1][:1]]), loops, tolerance=1e-6),
    )


def scalar_forward(W: list[np.ndarray], b: list[np.ndarray], x: np.ndarray) -> float:
    """One output, neuron by neuron."""
    h = list(x)
    for k in range(len(W)):
        sums = [b[k][j] + sum(W[k][j, i] * h[i] for i in range(len(h))) for j in range(len(b[k]))]
        h = [max(s, 0.0) for s in sums] if k < len(W) - 1 else sums
    return h[0]


@claim("network-parameter-shapes")
def weights_map_from_the_layer_before(seed: int) -> Verdict:
    from margin.neural.weights import count_parameters

    D = [3, 4, 2, 3, 2]
    net = network(*D, seed=seed)
    W, b = parameters(net)
    truth = every(
        weights=equal([w.shape for w in W], [(D[k + 1], D[k]) for k in range(4)]),
        biases=equal([beta.shape for beta in b], [(D[k + 1],) for k in range(4)]),
        count=equal(count_parameters(net), 16 + 10 + 9 + 8),
    )
    # Omega_0 and beta_K are as in the notes; the others have the printed sizes.
    weights = D[0] * D[1] + sum(D[k - 1] * D[k] for k in range(1, 4))
    return corrected(
        truth,
        sizes_of_the_weights=equal(sum(w.size for w in W), weights),
        sizes_of_the_biases=equal(sum(beta.size for beta in b), sum(D[:4])),
    )


@claim("mlp-forward-complexity")
def a_forward_pass_costs_the_sum_of_products_of_sizes(seed: int) -> Verdict:
    from torch.utils.flop_counter import FlopCounterMode

    notes = atlas.row("mlp-forward-complexity").values
    sizes = [7, 5, 6, 3]
    net, X = network(*sizes, seed=seed), rows(seed, 1, 7)
    with FlopCounterMode(display=False) as counter:
        outputs(net, X)
    wide, deep, narrow = network(64, 64, 64, seed=seed), network(*[32] * 5, seed=seed), network(32, 32, 32, seed=seed)
    truth = every(
        counted_by_torch=equal(counter.get_total_flops(), 2 * net.multiply_adds),
        formula=equal(net.multiply_adds, sum(sizes[j - 1] * sizes[j] for j in range(1, 4))),
        equal_widths=equal(notes["multiply_adds"], (notes["k"] + 1) * notes["n"] ** 2),
        counted=equal(network(*[notes["n"]] * (notes["k"] + 2), seed=seed).multiply_adds, notes["multiply_adds"]),
        twice_as_wide=equal(wide.multiply_adds / narrow.multiply_adds, 4.0),
        twice_as_deep=equal(deep.multiply_adds / narrow.multiply_adds, 2.0),
    )
    # From j = 0 the sum needs a size n_{-1}; Python's sizes[-1], the output size, shows that any value would be wrong.
    return corrected(truth, printed=equal(net.multiply_adds, sum(sizes[j - 1] * sizes[j] for j in range(4))))


@claim("probability-simplex-classification")
def class_probabilities_lie_on_a_simplex_of_one_dimension_less(seed: int) -> Verdict:
    from margin.neural import MLPClassifier

    n_classes, X = 4, rows(seed, 120, 3)
    y = np.argmax(np.c_[X, X.sum(axis=1)], axis=1)
    model = MLPClassifier((8,), max_iter=3, random_state=seed).fit(X, y)
    P = model.predict_proba(X)
    inequalities = np.all(P[:, [1]] >= P, axis=1)  # x_2 > x_j for all other j
    centered = P - P.mean(axis=0)
    truth = every(
        sum=near(P.sum(axis=1), np.ones(len(P)), tolerance=1e-12),
        inside=equal(bool((P >= 0).all() and (P <= 1).all()), True),
        region_is_cut_by_inequalities=equal(inequalities, model.predict(X) == 1),
        dimension=equal(int(np.linalg.matrix_rank(centered, tol=1e-8)), n_classes - 1),
    )
    return corrected(truth, printed=equal(int(np.linalg.matrix_rank(centered, tol=1e-8)), 2))
