"""Claims that words of neural networks mean what the notes say: layers, weights, capacity, depth, iterations."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, equal, every, near
from margin.notes.claims import claim
from margin.notes.claims.neural_core.perceptron import network, outputs, parameters, rows, trace, with_parameters


@claim("neuron-terminology")
def layers_are_counted_from_the_input_to_k_plus_1(seed: int) -> Verdict:
    X = rows(seed, 5, 3)
    f, h = trace(network(3, 4, 2, 1, seed=seed), X)
    layers = [*h, f[-1]]  # layer 0 is the input, layer k + 1 the output
    return every(
        count=equal(len(layers), 4),
        first_is_the_input=equal(layers[0], X),
        sizes=equal([a.shape[1] for a in layers], [3, 4, 2, 1]),
    )


@claim("terminology-weights-biases")
def a_bias_offsets_y_and_a_weight_is_a_slope(seed: int) -> Verdict:
    net, X = network(2, 3, 1, seed=seed), rows(seed, 9, 2)
    (W1, W2), (b1, b2) = parameters(net)
    y, h = outputs(net, X).copy(), trace(net, X)[1][1]
    W1, W2, b1, b2 = W1.copy(), W2.copy(), b1.copy(), b2.copy()
    offset = outputs(with_parameters(net, (W1, b1), (W2, b2 + 1.5)), X).copy()
    doubled = outputs(with_parameters(net, (W1, b1), (W2 * [[2, 1, 1]], b2)), X)
    return every(
        bias_is_an_offset_of_y=near(offset, y + 1.5, tolerance=1e-12),
        weight_is_a_slope=near(doubled, y + h[:, :1] * W2[0, 0], tolerance=1e-12),
    )


@claim("terminology-preactivation-activation")
def activation_is_the_function_of_the_pre_activation(seed: int) -> Verdict:
    net, X = network(3, 6, 4, 2, activation="tanh", seed=seed), rows(seed, 7, 3)
    f, h = trace(net, X)
    W, b = parameters(net)
    return every(
        before=near(f[0], b[0] + X @ W[0].T, tolerance=1e-12),
        after=near(h[1], np.tanh(f[0]), tolerance=1e-15),
        second_layer=near(h[2], np.tanh(f[1]), tolerance=1e-15),
    )


@claim("terminology-capacity-width-depth")
def widths_4_2_3_are_depth_3_and_capacity_9(seed: int) -> Verdict:
    net = network(5, 4, 2, 3, 2, seed=seed)
    return every(widths=equal(net.widths, [4, 2, 3]), depth=equal(net.depth, 3), capacity=equal(net.capacity, 9))


@claim("terminology-feed-forward-shallow-deep")
def deep_means_more_than_one_hidden_layer(seed: int) -> Verdict:
    import torch

    output = network(2, 3, 3, 1, seed=seed)(torch.ones(1, 2, dtype=torch.float64))
    seen: list[Any] = []

    def visit(node: Any, above_it: tuple[Any, ...]) -> bool:
        """Whether no path from the output comes back to a node it left."""
        seen.append(node)
        return node not in above_it and all(
            visit(child, (*above_it, node)) for child, _ in node.next_functions if child is not None
        )

    return every(
        one=equal(network(2, 3, 1, seed=seed).kind, "shallow"),
        two=equal(network(2, 3, 3, 1, seed=seed).kind, "deep"),
        no_loops=equal(visit(output.grad_fn, ()), True),
        graph_is_not_empty=above(len(seen), 5),
    )


@claim("iteration")
def an_epoch_has_as_many_iterations_as_batches(seed: int) -> Verdict:
    from margin.neural import MLPRegressor

    X = rows(seed, 103, 2)
    model = MLPRegressor((2,), batch_size=10, max_iter=3, random_state=seed)
    records = list(model.iterate(X, X[:, 0]))
    return every(
        total=equal(records[-1].total, 3 * 11),  # ceil(103 / 10) = 11
        at_the_end_of_epochs=equal([record.iteration for record in records], [11, 22, 33]),
    )
