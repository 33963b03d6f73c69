"""Regularizers of weights: penalties and bounds, as functions and as objects that networks take."""

from margin.neural.regularizers.penalties import l1_gradient, l1_penalty, l2_gradient, l2_penalty, max_norm_
from margin.neural.regularizers.regularizer import L1, REGULARIZERS, ElasticPenalty, MaxNorm, Regularizer

__all__ = [
    "L1",
    "REGULARIZERS",
    "ElasticPenalty",
    "MaxNorm",
    "Regularizer",
    "l1_gradient",
    "l1_penalty",
    "l2_gradient",
    "l2_penalty",
    "max_norm_",
]
