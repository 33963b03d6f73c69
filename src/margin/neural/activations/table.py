r"""A table of the activations: formula, derivative, range, order of continuity and what they may be given."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from margin.neural.activations import functions as f
from margin.neural.activations import slopes as d

__all__ = ["GELU_MINIMUM", "SILU_MINIMUM", "TABLE", "Activation", "activation_table"]

GELU_MINIMUM = -0.1699712074799  # at x = -0.7517915247
SILU_MINIMUM = -0.2784645427611  # at x = -1.2784645428, where x = value - 1
SMOOTH = math.inf


@dataclass(frozen=True)
class Activation:
    """One line of the table. An end of the range is a value of the function only if it is ``attained``."""

    name: str
    formula: str
    function: Callable[..., Tensor]
    slope: Callable[..., Tensor]
    low: float
    high: float
    continuity: float  # how many derivatives are continuous; -1 for a jump
    attained: tuple[bool, bool] = (False, False)
    monotone: bool = True
    options: dict[str, float] = field(default_factory=dict)

    @property
    def zero_centered(self) -> bool:
        """Whether the range reaches as far below 0 as above."""
        return self.low == -self.high

    @property
    def interval(self) -> str:
        """The range, with a square bracket at an end that is attained."""
        low, high = (f"{end:.5g}".replace("inf", "∞") for end in (self.low, self.high))
        return f"{'(['[self.attained[0]]}{low}, {high}{')]'[self.attained[1]]}"


TABLE = (
    Activation("identity", "x", f.identity, d.one, -math.inf, math.inf, SMOOTH),
    Activation("binary_step", r"1(x \ge 0)", f.binary_step, d.zero, 0.0, 1.0, -1, attained=(True, True)),
    Activation("sigmoid", r"1/(1 + e^{-x})", f.sigmoid, d.sigmoid_slope, 0.0, 1.0, SMOOTH),
    Activation("tanh", r"(e^x - e^{-x})/(e^x + e^{-x})", f.tanh, d.tanh_slope, -1.0, 1.0, SMOOTH),
    Activation("relu", r"\max(0, x)", f.relu, d.relu_slope, 0.0, math.inf, 0, attained=(True, False)),
    Activation("softplus", r"\log(1 + e^x)", f.softplus, f.sigmoid, 0.0, math.inf, SMOOTH),
    Activation("elu", r"x \text{ if } x > 0 \text{ else } \alpha(e^x - 1)", f.elu, d.elu_slope, -1.0, math.inf, 1,
               options={"alpha": 1.0}),
    Activation("gelu", r"\frac x2 (1 + \mathrm{erf}(x/\sqrt2))", f.gelu, d.gelu_slope, GELU_MINIMUM, math.inf, SMOOTH,
               attained=(True, False), monotone=False),
    Activation("silu", r"x\,\sigma(x)", f.silu, d.silu_slope, SILU_MINIMUM, math.inf, SMOOTH,
               attained=(True, False), monotone=False),
    Activation("leaky_relu", r"x \text{ if } x > 0 \text{ else } 0.01 x", f.leaky_relu, d.leaky_relu_slope,
               -math.inf, math.inf, 0, options={"slope": 0.01}),
    Activation("sine", r"\sin x", torch.sin, torch.cos, -1.0, 1.0, SMOOTH, attained=(True, True), monotone=False),
    Activation("gaussian", r"e^{-x^2}", f.gaussian, d.gaussian_slope, 0.0, 1.0, SMOOTH,
               attained=(False, True), monotone=False),
)  # fmt: skip


def activation_table() -> list[dict[str, Any]]:
    """Formula, range, continuity and options of every activation, one dictionary each.

    >>> {row["name"]: row["range"] for row in activation_table()}["gelu"]
    '[-0.16997, ∞)'
    """
    return [
        {
            "name": line.name,
            "formula": line.formula,
            "range": line.interval,
            "continuity": "C^inf"
            if line.continuity == SMOOTH
            else "not continuous"
            if line.continuity < 0
            else f"C^{line.continuity}",
            "monotone": line.monotone,
            "zero_centered": line.zero_centered,
            "options": dict(line.options),
        }
        for line in TABLE
    ]
