"""Automatic differentiation in NumPy, small enough to read: a tape, dual numbers, primitives with their rules."""

from margin.neural.autodiff.checking import gradient_check
from margin.neural.autodiff.graph import as_primitive, graph_entries, partial_derivative, total_derivative
from margin.neural.autodiff.modes import (
    derivative,
    grad,
    hessian,
    hessian_vector,
    jacobian_forward,
    jacobian_reverse,
    pullback,
    pushforward,
)
from margin.neural.autodiff.primitives import PRIMITIVES
from margin.neural.autodiff.tracing import Dual, Node, Primitive, Tape

__all__ = [
    "PRIMITIVES",
    "Dual",
    "Node",
    "Primitive",
    "Tape",
    "as_primitive",
    "derivative",
    "grad",
    "gradient_check",
    "graph_entries",
    "hessian",
    "hessian_vector",
    "jacobian_forward",
    "jacobian_reverse",
    "partial_derivative",
    "pullback",
    "pushforward",
    "total_derivative",
]
