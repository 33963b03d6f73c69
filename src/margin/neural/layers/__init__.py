"""Layers: the equation of each, forward and backward, and those that torch lacks or draws from its global generator."""

from margin.neural.layers.dense import Dense, DenseGradients, collapse_linear, dense, dense_backward
from margin.neural.layers.dropout import Dropout, use_generator

__all__ = ["Dense", "DenseGradients", "Dropout", "collapse_linear", "dense", "dense_backward", "use_generator"]
