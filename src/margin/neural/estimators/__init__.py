"""Networks with the face of a scikit-learn estimator."""

from margin.neural.estimators.cnn_classifier import CNNClassifier
from margin.neural.estimators.cnn_regressor import CNNRegressor
from margin.neural.estimators.mlp_classifier import MLPClassifier
from margin.neural.estimators.mlp_regressor import MLPRegressor
from margin.neural.estimators.module_classifier import NeuralClassifier
from margin.neural.estimators.module_regressor import NeuralRegressor
from margin.neural.estimators.sequence import SequenceClassifier, SequenceRegressor
from margin.neural.estimators.tabular_classifier import TabularNetClassifier
from margin.neural.estimators.tabular_regressor import TabularNetRegressor
from margin.neural.estimators.vision_transformer import VisionTransformer

__all__ = [
    "CNNClassifier",
    "CNNRegressor",
    "MLPClassifier",
    "MLPRegressor",
    "NeuralClassifier",
    "NeuralRegressor",
    "SequenceClassifier",
    "SequenceRegressor",
    "TabularNetClassifier",
    "TabularNetRegressor",
    "VisionTransformer",
]
