"""Networks with the face of a scikit-learn estimator."""

from margin.neural.estimators.base import NeuralEstimator
from margin.neural.estimators.mlp import MLPClassifier, MLPRegressor

__all__ = ["MLPClassifier", "MLPRegressor", "NeuralEstimator"]
