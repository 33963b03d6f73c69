"""Activation functions: the equations, their derivatives, a table of their properties, and layers by name."""

from margin.neural.activations.bounded import GaussianBump, Heaviside, LinearUnit, Sigmoid, Sinusoid, Tanh
from margin.neural.activations.competing import MaxoutUnits
from margin.neural.activations.functions import (
    binary_step,
    elu,
    gaussian,
    gelu,
    gelu_tanh,
    identity,
    leaky_relu,
    mish,
    relu,
    sigmoid,
    silu,
    smooth_relu,
    softplus,
    steep_sigmoid,
    tanh,
)
from margin.neural.activations.fused import fused_log_softmax, fused_logsumexp, fused_softmax, fused_softplus
from margin.neural.activations.gated import GELU, Mish, QuickGELU, SiLU, TanhGELU
from margin.neural.activations.layers import BinaryStep, Maxout, Sine, SquaredReLU
from margin.neural.activations.measure import derivative_gap, measured_range, smoothness
from margin.neural.activations.rectified import ELU, LeakyReLU, ReLU, Softplus, SquaredRectifier
from margin.neural.activations.softmax import log_softmax, logsumexp, softmax, softmax_jacobian
from margin.neural.activations.table import ACTIVATIONS, TABLE, USUAL, Activation, activation_layer, activation_table

__all__ = [
    "ACTIVATIONS",
    "ELU",
    "GELU",
    "TABLE",
    "USUAL",
    "Activation",
    "BinaryStep",
    "GaussianBump",
    "Heaviside",
    "LeakyReLU",
    "LinearUnit",
    "Maxout",
    "MaxoutUnits",
    "Mish",
    "QuickGELU",
    "ReLU",
    "SiLU",
    "Sigmoid",
    "Sine",
    "Sinusoid",
    "Softplus",
    "SquaredReLU",
    "SquaredRectifier",
    "Tanh",
    "TanhGELU",
    "activation_layer",
    "activation_table",
    "binary_step",
    "derivative_gap",
    "elu",
    "fused_log_softmax",
    "fused_logsumexp",
    "fused_softmax",
    "fused_softplus",
    "gaussian",
    "gelu",
    "gelu_tanh",
    "identity",
    "leaky_relu",
    "log_softmax",
    "logsumexp",
    "measured_range",
    "mish",
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
