"""Deep learning: networks as plain modules, one training loop of small parts, and their scikit-learn faces."""

from margin.neural.augment import augment
from margin.neural.estimators import (
    CNNClassifier,
    CNNRegressor,
    MLPClassifier,
    MLPRegressor,
    NeuralClassifier,
    NeuralRegressor,
    SequenceClassifier,
    SequenceRegressor,
    TabularNetClassifier,
    TabularNetRegressor,
    VisionTransformer,
)
from margin.neural.nets.mlp import MLP
from margin.neural.training import Minimize, Plan, RowBatches, TensorRows, Training, train
from margin.neural.transformers_layout import load_transformers, save_transformers

__all__ = [
    "MLP",
    "CNNClassifier",
    "CNNRegressor",
    "MLPClassifier",
    "MLPRegressor",
    "Minimize",
    "NeuralClassifier",
    "NeuralRegressor",
    "Plan",
    "RowBatches",
    "SequenceClassifier",
    "SequenceRegressor",
    "TabularNetClassifier",
    "TabularNetRegressor",
    "TensorRows",
    "Training",
    "VisionTransformer",
    "augment",
    "load_transformers",
    "save_transformers",
    "train",
]
