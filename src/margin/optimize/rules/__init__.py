"""Update rules: how a gradient becomes a step, one file and one declared class for each.

``Adam(beta_1=0.8)`` is the same object for :func:`margin.optimize.minimize`, :func:`margin.optimize.sgd` and the
parameter ``solver`` of every network. Where a fused form over all parameters exists, networks run that
(:mod:`margin.neural.training.optimizers`), and one test holds both together. ``make generated`` writes this file from
the others of its folder.
"""

from margin.optimize.rules.adadelta import AdaDelta
from margin.optimize.rules.adagrad import AdaGrad
from margin.optimize.rules.adam import Adam
from margin.optimize.rules.adamax import AdaMax
from margin.optimize.rules.adamw import AdamW
from margin.optimize.rules.amsgrad import AMSGrad
from margin.optimize.rules.base import Rule, hyperparameters
from margin.optimize.rules.gradient_descent import Descent
from margin.optimize.rules.lion import Lion
from margin.optimize.rules.momentum import Momentum
from margin.optimize.rules.muon import Muon
from margin.optimize.rules.nadam import NAdam
from margin.optimize.rules.nesterov import Nesterov
from margin.optimize.rules.rmsprop import RMSProp

__all__ = [
    "RULES",
    "AMSGrad",
    "AdaDelta",
    "AdaGrad",
    "AdaMax",
    "Adam",
    "AdamW",
    "Descent",
    "Lion",
    "Momentum",
    "Muon",
    "NAdam",
    "Nesterov",
    "RMSProp",
    "Rule",
    "hyperparameters",
]

# By the names that ``minimize(method=...)`` and ``solver=...`` take.
RULES: dict[str, type[Rule]] = {
    "adadelta": AdaDelta,
    "adagrad": AdaGrad,
    "adam": Adam,
    "adamax": AdaMax,
    "adamw": AdamW,
    "amsgrad": AMSGrad,
    "gradient_descent": Descent,
    "lion": Lion,
    "momentum": Momentum,
    "muon": Muon,
    "nadam": NAdam,
    "nesterov": Nesterov,
    "rmsprop": RMSProp,
}
