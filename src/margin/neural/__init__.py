"""Deep learning: networks as plain modules, one trainer with a visible loop, and their scikit-learn faces."""

from margin.neural.batches import Rows, validation_split
from margin.neural.estimators.mlp import MLPClassifier, MLPRegressor
from margin.neural.nets.mlp import MLP
from margin.neural.plan import Plan
from margin.neural.trainer import Trainer

__all__ = ["MLP", "MLPClassifier", "MLPRegressor", "Plan", "Rows", "Trainer", "validation_split"]
