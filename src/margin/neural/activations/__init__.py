"""Activation functions: the equations, their derivatives, a table of their properties, and layers by name."""

from margin.neural.activations.functions import (
    binary_step,
    elu,
    gaussian,
    gelu,
    identity,
    leaky_relu,
    relu,
    sigmoid,
    silu,
    smooth_relu,
    softplus,
    steep_sigmoid,
    tanh,
)
from margin.neural.activations.layers import ACTIVATIONS, BinaryStep, Maxout, Sine, activation_layer
from margin.neural.activations.measure import derivative_gap, measured_range, smoothness
from margin.neural.activations.softmax import log_softmax, logsumexp, softmax, softmax_jacobian
from margin.neural.activations.table import TABLE, Activation, activation_table

__all__ = [
    "ACTIVATIONS",
    "TABLE",
    "Activation",
    "BinaryStep",
    "Maxout",
    "Sine",
    "activation_layer",
    "activation_table",
    "binary_step",
    "derivative_gap",
    "elu",
    "gaussian",
    "gelu",
    "identity",
    "leaky_relu",
    "log_softmax",
    "logsumexp",
    "measured_range",
    "relu",
    "sigmoid",
    "silu",
    "smooth_relu",
    "smoothness",
    "softmax",
    "softmax_jacobian",
    "softplus",
    "steep_sigmoid",
    "tanh",
]
