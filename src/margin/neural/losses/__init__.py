"""Losses: pure functions of predictions and targets, stable and differentiable; torch's names, order and reductions."""

from margin.neural.losses.binary import bce_loss, bce_with_logits, bernoulli_log_likelihood, multilabel_bce
from margin.neural.losses.classes import cross_entropy, nll_loss
from margin.neural.losses.divergence import kl_div_loss
from margin.neural.losses.families import FAMILIES, LikelihoodFamily, register_family
from margin.neural.losses.likelihood import NegativeLogLikelihood, SumOfLosses, build_loss, gaussian_nll, sum_of
from margin.neural.losses.margins import hinge_loss, soft_margin_objective, triplet_loss
from margin.neural.losses.overlap import dice_loss
from margin.neural.losses.reduction import reduce
from margin.neural.losses.regression import half_squared_error, l1_loss, mse_loss, squared_error, sse
from margin.neural.losses.risk import default_loss, empirical_risk

__all__ = [
    "FAMILIES",
    "LikelihoodFamily",
    "NegativeLogLikelihood",
    "SumOfLosses",
    "bce_loss",
    "bce_with_logits",
    "bernoulli_log_likelihood",
    "build_loss",
    "cross_entropy",
    "default_loss",
    "dice_loss",
    "empirical_risk",
    "gaussian_nll",
    "half_squared_error",
    "hinge_loss",
    "kl_div_loss",
    "l1_loss",
    "mse_loss",
    "multilabel_bce",
    "nll_loss",
    "reduce",
    "register_family",
    "soft_margin_objective",
    "squared_error",
    "sse",
    "sum_of",
    "triplet_loss",
]
