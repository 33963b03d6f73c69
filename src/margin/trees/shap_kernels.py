"""Shapley values of a tree's columns for many rows; see :mod:`margin.trees.shap`."""

from __future__ import annotations

import cython

from margin.core.kernel_source import (
    Bytes,
    ConstByteMatrix,
    ConstBytes,
    ConstIntegers,
    ConstIntegers32,
    ConstMatrix,
    ConstVector,
    Cube,
    Vector,
    inner,
    kernel,
)

__all__ = ["LeafPaths", "Questions", "ShapScratch", "add_attributions"]


@cython.cclass
class Questions:
    """What a tree asks, as in :mod:`margin.trees.cart.structure`."""

    feature = cython.declare(ConstIntegers32, visibility="public")
    threshold = cython.declare(ConstVector, visibility="public")
    missing_left = cython.declare(ConstBytes, visibility="public")
    category_row = cython.declare(ConstIntegers32, visibility="public")
    category_set = cython.declare(ConstByteMatrix, visibility="public")


@cython.cclass
class LeafPaths:
    """The way to every leaf: its questions, and the different columns they are about."""

    leaf = cython.declare(ConstIntegers, visibility="public")  # number of the node
    node_start = cython.declare(ConstIntegers, visibility="public")  # where each leaf's questions start
    node = cython.declare(ConstIntegers, visibility="public")  # the question
    goes_left = cython.declare(ConstBytes, visibility="public")  # the answer that leads to the leaf
    position = cython.declare(ConstIntegers, visibility="public")  # which of the leaf's columns it is about
    column_start = cython.declare(ConstIntegers, visibility="public")  # where each leaf's columns start
    column = cython.declare(ConstIntegers, visibility="public")
    fraction = cython.declare(ConstVector, visibility="public")  # of the weight that the column's questions let pass


@cython.cclass
class ShapScratch:
    """Memory for one thread: answers to all questions of a tree, and for the columns of one leaf at a time."""

    answers = cython.declare(Bytes, visibility="public")  # (nodes,)
    passes = cython.declare(Bytes, visibility="public")  # (columns,)
    polynomial = cython.declare(Vector, visibility="public")  # (columns + 1,)
    contribution = cython.declare(Vector, visibility="public")  # (columns,)


@inner
def _answer_all(X: ConstMatrix, i: cython.Py_ssize_t, asked: Questions, scratch: ShapScratch) -> cython.void:
    """Whether row ``i`` goes left, at every question of the tree."""
    for node in range(asked.feature.shape[0]):
        if asked.feature[node] < 0:
            continue
        x = X[i, asked.feature[node]]
        if x != x:
            scratch.answers[node] = asked.missing_left[node]
        elif asked.category_row[node] >= 0:
            code = cython.cast(cython.longlong, x)
            scratch.answers[node] = (asked.category_set[asked.category_row[node], code >> 3] >> (code & 7)) & 1
        else:
            scratch.answers[node] = x <= asked.threshold[node]


@inner
def _multiply(scratch: ShapScratch, degree: cython.Py_ssize_t, z: cython.double) -> cython.void:
    """polynomial * (z + t), in place."""
    s: cython.Py_ssize_t = degree
    scratch.polynomial[degree + 1] = scratch.polynomial[degree]
    while s > 0:
        scratch.polynomial[s] = scratch.polynomial[s - 1] + z * scratch.polynomial[s]
        s -= 1
    scratch.polynomial[0] *= z


@inner
def _expected_without(
    scratch: ShapScratch, degree: cython.Py_ssize_t, z: cython.double, chances: ConstMatrix, columns: cython.Py_ssize_t
) -> cython.double:
    """The sum of coefficient times chance after dividing by (z + t), highest power first."""
    quotient: cython.double = scratch.polynomial[degree]
    total: cython.double = 0.0
    s: cython.Py_ssize_t = degree - 1
    while s >= 0:
        total += quotient * chances[columns, s]
        quotient = scratch.polynomial[s] - z * quotient
        s -= 1
    return total


@inner
def _leaf_fractions(
    paths: LeafPaths,
    first: cython.Py_ssize_t,
    columns: cython.Py_ssize_t,
    chances: ConstMatrix,
    scratch: ShapScratch,
) -> cython.void:
    """What the leaf's value is multiplied by for each of its columns, which begin at ``first``."""
    degree: cython.Py_ssize_t = 0
    blocked: cython.double = 1.0
    missed: cython.double = 0.0
    scratch.polynomial[0] = 1.0
    for k in range(columns):
        if scratch.passes[k]:
            _multiply(scratch, degree, paths.fraction[first + k])
            degree += 1
        else:
            blocked *= paths.fraction[first + k]
    # Dividing by a factor z_k + 0 t and multiplying by 0 - z_k is the same for every column that does not pass.
    for s in range(min(degree + 1, columns)):
        missed += scratch.polynomial[s] * chances[columns, s]
    for k in range(columns):
        if scratch.passes[k]:
            z = paths.fraction[first + k]
            scratch.contribution[k] = blocked * (1.0 - z) * _expected_without(scratch, degree, z, chances, columns)
        else:
            scratch.contribution[k] = -blocked * missed


@kernel
def add_attributions(
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    X: ConstMatrix,
    asked: Questions,
    value: ConstMatrix,
    paths: LeafPaths,
    chances: ConstMatrix,
    scratch: ShapScratch,
    total: Cube,
) -> cython.void:
    """Add every leaf's contribution for the rows ``low`` to ``high`` to ``total`` (n, p, outputs)."""
    for i in range(low, high):
        _answer_all(X, i, asked, scratch)
        for leaf in range(paths.leaf.shape[0]):
            first = paths.column_start[leaf]
            columns = paths.column_start[leaf + 1] - first
            for k in range(columns):
                scratch.passes[k] = True
            for q in range(paths.node_start[leaf], paths.node_start[leaf + 1]):
                if scratch.answers[paths.node[q]] != paths.goes_left[q]:
                    scratch.passes[paths.position[q]] = False
            _leaf_fractions(paths, first, columns, chances, scratch)
            for k in range(columns):
                for output in range(value.shape[1]):
                    total[i, paths.column[first + k], output] += (
                        scratch.contribution[k] * value[paths.leaf[leaf], output]
                    )
