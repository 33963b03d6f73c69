"""d-separation against numbers, Markov equivalence against joint tables, orders and cycles."""

from itertools import combinations

import numpy as np
import pytest

from margin.graphical.graphs import (
    checked_graph,
    d_separated,
    descendants,
    markov_equivalent,
    moral_graph,
    random_graph,
    skeleton,
    topological_order,
)
from margin.graphical.network import random_network


def dependence(joint, a, b, given):
    """Largest |p(a, b | c) - p(a | c) p(b | c)| over all states."""
    axes = [a, b, *given]
    table = joint.sum(axis=tuple(i for i in range(joint.ndim) if i not in axes))
    kept = sorted(axes)
    table = table.transpose([kept.index(x) for x in axes]).reshape(joint.shape[a], joint.shape[b], -1)
    table = table / table.sum(axis=(0, 1))
    return np.abs(table - table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True)).max()


@pytest.mark.parametrize("seed", range(5))
def test_d_separation_is_independence_in_random_parameters(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(5, rng)
    joint = random_network(graph, 2, rng).joint()
    for a, b in combinations(range(5), 2):
        rest = [i for i in range(5) if i not in (a, b)]
        for size in range(4):
            for given in combinations(rest, size):
                assert d_separated(graph, [a], [b], given) == (dependence(joint, a, b, given) < 1e-10)


def test_chains_and_forks_are_equivalent_and_colliders_are_not():
    fork = {"x1": [], "x2": ["x1"], "x3": ["x1"]}
    chain = {"x2": [], "x1": ["x2"], "x3": ["x1"]}
    collider = {"x2": [], "x3": [], "x1": ["x2", "x3"]}
    assert markov_equivalent(fork, chain)
    assert not markov_equivalent(fork, collider)
    assert not markov_equivalent(fork, {"x1": []})
    assert skeleton(fork) == skeleton(collider)


def test_orders_and_relatives():
    graph = {"d": ["b", "c"], "b": ["a"], "c": ["a"], "a": []}
    assert topological_order(graph) == ["a", "b", "c", "d"]
    assert descendants(graph, "b") == {"b", "d"}
    assert moral_graph(graph)["b"] == {"a", "c", "d"}


@pytest.mark.parametrize(
    ("graph", "sentence"),
    [
        ({"a": ["b"], "b": ["a"]}, "a cycle goes through a, b"),
        ({"a": ["z"]}, "the parent 'z' of 'a' is not a variable"),
        ({"a": [], "b": ["a", "a"]}, "named twice"),
    ],
)
def test_what_is_no_graph(graph, sentence):
    with pytest.raises(ValueError, match=sentence):
        checked_graph(graph)


def test_questions_that_make_no_sense():
    with pytest.raises(ValueError, match="not a variable"):
        d_separated({"a": []}, ["a"], ["b"])
    with pytest.raises(ValueError, match="no variable in common"):
        d_separated({"a": [], "b": []}, ["a"], ["b"], ["a"])
