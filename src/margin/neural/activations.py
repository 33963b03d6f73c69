"""Activation functions by name: what a network parameter such as ``activation="relu"`` stands for."""

from __future__ import annotations

from torch import nn

__all__ = ["ACTIVATIONS", "activation_layer"]

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "relu": nn.ReLU,
    "leaky_relu": nn.LeakyReLU,
    "elu": nn.ELU,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "softplus": nn.Softplus,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "logistic": nn.Sigmoid,  # the name scikit-learn has for it
    "identity": nn.Identity,
}


def activation_layer(name: str) -> nn.Module:
    """The layer that applies the named function to every entry.

    >>> activation_layer("relu")
    ReLU()
    """
    if name not in ACTIVATIONS:
        raise ValueError(f"activation_layer: name must be one of {', '.join(ACTIVATIONS)}; got {name!r}.")
    return ACTIVATIONS[name]()
