"""Starting points of networks: weights drawn from an explicit generator, and the moments they lead to."""

from margin.neural.initialize.moments import he_variance, propagate_variance, xavier_variance
from margin.neural.initialize.schemes import SCHEMES, fans, he_, initialize_, normal_, xavier_
from margin.neural.initialize.signal import Signal, signal_through_depth

__all__ = [
    "SCHEMES",
    "Signal",
    "fans",
    "he_",
    "he_variance",
    "initialize_",
    "normal_",
    "propagate_variance",
    "signal_through_depth",
    "xavier_",
    "xavier_variance",
]
