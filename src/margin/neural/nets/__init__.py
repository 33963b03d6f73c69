"""Networks: plain torch modules without training, devices or randomness of their own."""

from margin.neural.nets.ensemble import MLPEnsemble
from margin.neural.nets.mlp import MLP
from margin.neural.nets.sequence import SequenceNetwork

__all__ = ["MLP", "MLPEnsemble", "SequenceNetwork"]
