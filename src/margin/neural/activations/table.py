r"""All activations by name, and the table of the notes: formula, derivative, range, order of continuity."""

from __future__ import annotations

from typing import Any

from torch import nn

from margin.neural.activations.activation import SMOOTH, Activation
from margin.neural.activations.bounded import GaussianBump, Heaviside, LinearUnit, Sigmoid, Sinusoid, Tanh
from margin.neural.activations.competing import MaxoutUnits
from margin.neural.activations.gated import GELU, GELU_MINIMUM, SILU_MINIMUM, Mish, QuickGELU, SiLU, TanhGELU
from margin.neural.activations.rectified import ELU, LeakyReLU, ReLU, Softplus, SquaredRectifier
from margin.neural.parts import choose

__all__ = [
    "ACTIVATIONS",
    "GELU_MINIMUM",
    "SILU_MINIMUM",
    "SMOOTH",
    "TABLE",
    "USUAL",
    "Activation",
    "activation_layer",
    "activation_table",
]

#: Names of activations; a new one is a class in a file of its own, and a line here.
ACTIVATIONS: dict[str, type[Activation]] = {
    "relu": ReLU,
    "leaky_relu": LeakyReLU,
    "elu": ELU,
    "gelu": GELU,
    "silu": SiLU,
    "softplus": Softplus,
    "tanh": Tanh,
    "sigmoid": Sigmoid,
    "logistic": Sigmoid,  # the name scikit-learn has for it
    "identity": LinearUnit,
    "mish": Mish,
    "gelu_tanh": TanhGELU,
    "quick_gelu": QuickGELU,
    "relu_squared": SquaredRectifier,
    "binary_step": Heaviside,
    "sine": Sinusoid,
    "gaussian": GaussianBump,
}

#: What a search tries.
USUAL = ("relu", "leaky_relu", "elu", "gelu", "silu", "softplus", "tanh", "sigmoid", "logistic", "identity")

#: Activations of units with several inputs; only networks that give them these can have one.
COMPETING: dict[str, type[Activation]] = {"maxout": MaxoutUnits}

TABLE: tuple[Activation, ...] = tuple(
    line()
    for line in (
        LinearUnit, Heaviside, Sigmoid, Tanh, ReLU, Softplus, ELU, GELU, SiLU, Mish, LeakyReLU, Sinusoid, GaussianBump,
    )
)  # fmt: skip


def activation_layer(name: Any, **options: Any) -> nn.Module:
    """The layer that applies an activation to every entry: that of a name, with its ``options``, or of an object.

    >>> activation_layer("relu")
    ReLU()
    >>> activation_layer("leaky_relu", negative_slope=0.2)
    LeakyReLU(negative_slope=0.2)
    """
    value = {"name": name, **options} if options else name
    part = choose("activation_layer: name", value, ACTIVATIONS)
    if part.pieces != 1:
        raise ValueError(f"activation_layer: name must be an activation of single units; got {part!r}.")
    return part.layer()


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
            "options": line.options,
        }
        for line in TABLE
    ]
