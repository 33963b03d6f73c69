"""Losses: pure functions of predictions and targets, stable and differentiable; torch's names, order and reductions."""

from margin.neural.losses.binary import bce_loss, bce_with_logits, bernoulli_log_likelihood, multilabel_bce
from margin.neural.losses.class_losses import CLASS_LOSSES, CrossEntropy, MarginLoss
from margin.neural.losses.classes import cross_entropy, nll_loss
from margin.neural.losses.counts import half_poisson_deviance
from margin.neural.losses.divergence import kl_div_loss
from margin.neural.losses.families import FAMILIES, LikelihoodFamily, register_family
from margin.neural.losses.fused import (
    fused_bce_with_logits,
    fused_cross_entropy,
    fused_huber_loss,
    fused_mse_loss,
    fused_nll_loss,
)
from margin.neural.losses.likelihood import NegativeLogLikelihood, SumOfLosses, build_loss, gaussian_nll, sum_of
from margin.neural.losses.margins import hinge_loss, multiclass_hinge_loss, soft_margin_objective, triplet_loss
from margin.neural.losses.network_loss import ClassLoss, NetworkLoss, TargetLoss
from margin.neural.losses.overlap import dice_loss, soft_dice
from margin.neural.losses.reduction import reduce
from margin.neural.losses.regression import (
    half_squared_error,
    huber_loss,
    l1_loss,
    mse_loss,
    quantile_loss,
    squared_error,
    sse,
)
from margin.neural.losses.risk import default_loss, empirical_risk
from margin.neural.losses.target_losses import (
    TARGET_LOSSES,
    AbsoluteError,
    Huber,
    LaplaceLikelihood,
    NormalLikelihood,
    Pinball,
    PoissonDeviance,
    SquaredError,
)

__all__ = [
    "CLASS_LOSSES",
    "FAMILIES",
    "TARGET_LOSSES",
    "AbsoluteError",
    "ClassLoss",
    "CrossEntropy",
    "Huber",
    "LaplaceLikelihood",
    "LikelihoodFamily",
    "MarginLoss",
    "NegativeLogLikelihood",
    "NetworkLoss",
    "NormalLikelihood",
    "Pinball",
    "PoissonDeviance",
    "SquaredError",
    "SumOfLosses",
    "TargetLoss",
    "bce_loss",
    "bce_with_logits",
    "bernoulli_log_likelihood",
    "build_loss",
    "cross_entropy",
    "default_loss",
    "dice_loss",
    "empirical_risk",
    "fused_bce_with_logits",
    "fused_cross_entropy",
    "fused_huber_loss",
    "fused_mse_loss",
    "fused_nll_loss",
    "gaussian_nll",
    "half_poisson_deviance",
    "half_squared_error",
    "hinge_loss",
    "huber_loss",
    "kl_div_loss",
    "l1_loss",
    "mse_loss",
    "multiclass_hinge_loss",
    "multilabel_bce",
    "nll_loss",
    "quantile_loss",
    "reduce",
    "register_family",
    "soft_dice",
    "soft_margin_objective",
    "squared_error",
    "sse",
    "sum_of",
    "triplet_loss",
]
