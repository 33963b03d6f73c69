"""Layers: the equation of each, forward and backward, and those that torch lacks or draws from its global generator."""

from margin.neural.layers.counting import Counts, conv_parameters, count_values, linear_parameters
from margin.neural.layers.dense import Dense, DenseGradients, collapse_linear, dense, dense_backward
from margin.neural.layers.dropout import Dropout, thinned_masks, use_generator
from margin.neural.layers.pixel_mlp import PixelMLP
from margin.neural.layers.pooling import adaptive_avg_pool2d
from margin.neural.layers.recurrent import gru_step, lstm_step, rnn_step, unroll
from margin.neural.layers.residual import Residual

__all__ = [
    "Counts",
    "Dense",
    "DenseGradients",
    "Dropout",
    "PixelMLP",
    "Residual",
    "adaptive_avg_pool2d",
    "collapse_linear",
    "conv_parameters",
    "count_values",
    "dense",
    "dense_backward",
    "gru_step",
    "linear_parameters",
    "lstm_step",
    "rnn_step",
    "thinned_masks",
    "unroll",
    "use_generator",
]
