r"""Values that carry derivatives: the nodes of a tape (reverse mode) and dual numbers (forward mode).

A function written with primitives runs on plain arrays or on traced values. A tape keeps every node
:math:`v_1, \dots, v_N` in the order in which it was computed, and the derivatives of the last one follow backwards:

.. math:: \frac{dv_N}{dv_k} = \sum_{c\,\in\,\mathrm{children}(k)} \frac{dv_N}{dv_c}\,\frac{\partial v_c}{\partial v_k}

A dual number :math:`v + \dot v\,\varepsilon` with :math:`\varepsilon^2 = 0` carries its derivative along, and nothing
is stored. Every tape and every forward pass has a level, and the value of a node may itself be traced at a lower
level: this is how derivatives of derivatives are taken.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

__all__ = ["PRIMITIVES", "Dual", "Node", "Primitive", "Tape", "Traced", "new_level", "raw", "shape_of"]

new_level = count(1).__next__  # whatever starts later is nested inside what started before


@dataclass(frozen=True, eq=False)
class Primitive:
    """A function with the rules of its derivatives, which are themselves written with primitives.

    ``pull(g, out, *args, **options)`` gives the derivative of a number in every argument, from ``g``, that in the
    output. ``push(tangents, out, *args, **options)`` gives the derivative of the output, from those of the arguments
    (None where an argument does not move). Options (axes, shapes, masks) are constants.
    """

    name: str
    evaluate: Callable[..., Any]
    pull: Callable[..., Sequence[Any]]
    push: Callable[..., Any]

    def __call__(self, *args: Any, **options: Any) -> Any:
        level = max(map(_level, args))
        if level == 0:
            return self.evaluate(*args, **options)
        values = tuple(arg.value if _level(arg) == level else arg for arg in args)
        out = self(*values, **options)
        lead = next(arg for arg in args if _level(arg) == level)
        return lead.follow(self, out, values, args, options)


PRIMITIVES: dict[str, Primitive] = {}  # by name; filled where they are defined


class Traced(ABC):
    """A value of which derivatives are wanted; arithmetic on it is that of the primitives."""

    __array_ufunc__ = None  # an array on the left leaves the operation to the methods below

    level: int
    value: Any

    @abstractmethod
    def follow(
        self, primitive: Primitive, out: Any, values: tuple[Any, ...], args: tuple[Any, ...], options: dict[str, Any]
    ) -> Traced:
        """What ``primitive`` gives for ``args``, of which this is one: ``out``, with its place in the derivative."""

    @property
    def shape(self) -> tuple[int, ...]:
        return shape_of(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({raw(self)!r})"

    def __add__(self, other: Any) -> Any:
        return PRIMITIVES["add"](self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return PRIMITIVES["subtract"](self, other)

    def __rsub__(self, other: Any) -> Any:
        return PRIMITIVES["subtract"](other, self)

    def __mul__(self, other: Any) -> Any:
        return PRIMITIVES["multiply"](self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return PRIMITIVES["divide"](self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return PRIMITIVES["divide"](other, self)

    def __matmul__(self, other: Any) -> Any:
        return PRIMITIVES["matmul"](self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return PRIMITIVES["matmul"](other, self)

    def __neg__(self) -> Any:
        return PRIMITIVES["negative"](self)

    def __pow__(self, exponent: float) -> Any:
        if isinstance(exponent, Traced):
            raise TypeError("power: the exponent must be a number; exp(b * log(a)) has a derivative in both.")
        return PRIMITIVES["power"](self, exponent=exponent)

    def __getitem__(self, index: Any) -> Any:
        return PRIMITIVES["take"](self, index=index)


class Node(Traced):
    """One entry of a tape: its value, what it was computed from, and by which primitive (None: an input)."""

    def __init__(self, tape: Tape, value: Any, primitive: Primitive | None = None, name: str = ""):
        self.tape, self.value, self.primitive = tape, value, primitive
        self.level, self.index, self.name = tape.level, len(tape.nodes), name
        self.arguments: tuple[Any, ...] = ()  # nodes of this tape, and constants in the places of the others
        self.values: tuple[Any, ...] = ()
        self.options: dict[str, Any] = {}
        tape.nodes.append(self)

    def follow(
        self, primitive: Primitive, out: Any, values: tuple[Any, ...], args: tuple[Any, ...], options: dict[str, Any]
    ) -> Node:
        node = Node(self.tape, out, primitive, primitive.name)
        node.arguments, node.values, node.options = args, values, options
        return node

    def partials(self, g: Any) -> list[tuple[Node, Any]]:
        """``g`` times the derivative of this node in each node it was computed from, all others held fixed."""
        if self.primitive is None:
            return []
        pulled = self.primitive.pull(g, self.value, *self.values, **self.options)
        return [(arg, part) for arg, part in zip(self.arguments, pulled) if _level(arg) == self.level]


class Tape:
    """The nodes of one computation in order. ``passes`` counts how often it was run backwards.

    >>> tape = Tape()
    >>> x = tape.variable(3.0)
    >>> [float(g) for g in tape.gradients(x * x + x, [x])]
    [7.0]
    """

    def __init__(self) -> None:
        self.level = new_level()
        self.nodes: list[Node] = []
        self.passes = 0

    def variable(self, value: Any, name: str = "") -> Node:
        """An input of the computation."""
        return Node(self, value, name=name)

    def adjoints(self, output: Node, seed: Any = None) -> list[Any]:
        """The derivative of ``output`` in every node, by position; 0.0 where it does not depend on the node.

        ``seed`` are the weights of the entries of ``output``, needed unless it is a single number.
        """
        if seed is None:
            if shape_of(output) not in ((), (1,)):
                raise ValueError(
                    f"Tape: the output must be one number unless a seed is given; got shape {shape_of(output)}."
                )
            seed = np.ones(shape_of(output)) if shape_of(output) else 1.0
        self.passes += 1
        adjoints: list[Any] = [0.0] * (output.index + 1)
        reached = [False] * (output.index + 1)
        adjoints[output.index], reached[output.index] = seed, True
        for node in reversed(self.nodes[: output.index + 1]):
            if not reached[node.index]:
                continue
            for parent, part in node.partials(adjoints[node.index]):
                # A node that is used several times adds up what comes from every use.
                adjoints[parent.index] = adjoints[parent.index] + part if reached[parent.index] else part
                reached[parent.index] = True
        return adjoints

    def gradients(self, output: Any, nodes: Sequence[Node], seed: Any = None) -> list[Any]:
        """The derivative of ``output`` in each of ``nodes``, of the shape of the node."""
        if not isinstance(output, Node) or output.tape is not self:
            return [np.zeros(shape_of(node)) for node in nodes]  # a constant
        adjoints = self.adjoints(output, seed)
        slopes = [adjoints[node.index] if node.index <= output.index else 0.0 for node in nodes]
        return [np.zeros(node.shape) if isinstance(g, float) and node.shape else g for g, node in zip(slopes, nodes)]


class Dual(Traced):
    r"""A value and its derivative in one direction, :math:`v + \dot v\,\varepsilon`.

    >>> x = Dual(3.0, 1.0, new_level())
    >>> float((x * x + x).tangent)
    7.0
    """

    def __init__(self, value: Any, tangent: Any, level: int):
        self.value, self.tangent, self.level = value, tangent, level

    def follow(
        self, primitive: Primitive, out: Any, values: tuple[Any, ...], args: tuple[Any, ...], options: dict[str, Any]
    ) -> Dual:
        tangents = [arg.tangent if _level(arg) == self.level else None for arg in args]
        return Dual(out, primitive.push(tangents, out, *values, **options), self.level)


def raw(value: Any) -> Any:
    """The array or number without what is traced around it."""
    while isinstance(value, Traced):
        value = value.value
    return value


def shape_of(value: Any) -> tuple[int, ...]:
    return np.shape(raw(value))


def _level(value: Any) -> int:
    return value.level if isinstance(value, Traced) else 0
