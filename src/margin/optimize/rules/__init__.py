"""Update rules: how a gradient becomes a step, one file and one declared class for each.

``Adam(beta_1=0.8)`` is the same object for :func:`margin.optimize.minimize`, :func:`margin.optimize.sgd` and the
parameter ``solver`` of every network. Where a fused form over all parameters exists, networks run that
(:mod:`margin.neural.training.optimizers`), and one test holds both together.
"""

from margin.optimize.rules.adadelta import AdaDelta
from margin.optimize.rules.adagrad import AdaGrad
from margin.optimize.rules.adam import Adam, AdamMoments
from margin.optimize.rules.adamax import AdaMax
from margin.optimize.rules.adamw import AdamW
from margin.optimize.rules.amsgrad import AMSGrad
from margin.optimize.rules.base import Rule, hyperparameters
from margin.optimize.rules.descent import Descent
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
    "AdamMoments",
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
    "gradient_descent": Descent,
    "momentum": Momentum,
    "nesterov": Nesterov,
    "adagrad": AdaGrad,
    "rmsprop": RMSProp,
    "adadelta": AdaDelta,
    "adam": Adam,
    "adamw": AdamW,
    "adamax": AdaMax,
    "nadam": NAdam,
    "amsgrad": AMSGrad,
    "lion": Lion,
    "muon": Muon,
}
