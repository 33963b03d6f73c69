r"""Computation graphs as the notes draw them: nodes that are functions of others, partial and total derivatives.

For :math:`v_5 = \theta_2 + v_3 + v_4` with :math:`v_3 = \theta_1 v_1 v_2` the partial derivative of :math:`v_5` in
:math:`\theta_1` is 0, because :math:`\theta_1` is no argument of :math:`v_5`; the total one is :math:`v_1 v_2`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from margin.neural.autodiff.modes import pullback, pushforward
from margin.neural.autodiff.tracing import Node, Primitive, raw, shape_of

__all__ = ["GraphEntry", "as_primitive", "graph_entries", "partial_derivative", "total_derivative"]


def as_primitive(name: str, function: Callable[..., Any]) -> Primitive:
    """A function of primitives as one node of the graph, whose partial derivatives are found inside it.

    >>> from margin.neural.autodiff import Tape
    >>> tape = Tape()
    >>> x, y = tape.variable(2.0), tape.variable(3.0)
    >>> product = as_primitive("xyy", lambda a, b: a * b * b)
    >>> float(total_derivative(product(x, y), y)), len(tape.nodes)
    (12.0, 3)
    """

    def pull(g: Any, _out: Any, *args: Any) -> Sequence[Any]:
        return pullback(function, *args)[1](g)

    def push(tangents: Sequence[Any], _out: Any, *args: Any) -> Any:
        moves = [np.zeros(shape_of(arg)) if t is None else t for arg, t in zip(args, tangents)]
        return pushforward(function, args, moves)[1]

    return Primitive(name, function, pull, push)


def partial_derivative(node: Node, argument: Node) -> Any:
    """Of ``node`` in one of the nodes it is computed from directly, the others held fixed; 0.0 in any other."""
    parts = [part for parent, part in node.partials(1.0) if parent is argument]
    return sum(parts[1:], start=parts[0]) if parts else 0.0


def total_derivative(node: Node, argument: Node) -> Any:
    """Of ``node`` in another one, with everything that depends on it."""
    return node.tape.gradients(node, [argument])[0]


class GraphEntry(NamedTuple):
    """One node for a table or a drawing: position on the tape, name, where it comes from, value and derivative."""

    position: int
    name: str
    parents: tuple[int, ...]
    value: Any
    adjoint: Any


def graph_entries(output: Node) -> list[GraphEntry]:
    """Every node that ``output`` was computed from, with the derivative of ``output`` in it."""
    adjoints = output.tape.adjoints(output)
    entries = []
    for node in output.tape.nodes[: output.index + 1]:
        parents = tuple(arg.index for arg in node.arguments if isinstance(arg, Node) and arg.tape is node.tape)
        entries.append(GraphEntry(node.index, node.name, parents, raw(node.value), raw(adjoints[node.index])))
    return entries
