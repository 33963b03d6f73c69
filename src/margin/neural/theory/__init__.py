"""What networks can represent: constructions without training, linear pieces and regions counted exactly."""

from margin.neural.theory.approximation import (
    bernstein,
    finite_set_network,
    interpolation_network,
    interval_network,
    lipschitz_estimate,
    step_network,
    walls_network,
)
from margin.neural.theory.counting import compare_depths, montufar_bound, parameter_count, region_limit, shallow_regions
from margin.neural.theory.folding import compose, folding_network, max_region_network
from margin.neural.theory.network import DenseNetwork, Neuron
from margin.neural.theory.perceptron import PerceptronRun, perceptron_rule
from margin.neural.theory.pieces import LinearPieces, linear_pieces
from margin.neural.theory.regions import activation_regions, hyperplane_cells

__all__ = [
    "DenseNetwork",
    "LinearPieces",
    "Neuron",
    "PerceptronRun",
    "activation_regions",
    "bernstein",
    "compare_depths",
    "compose",
    "finite_set_network",
    "folding_network",
    "hyperplane_cells",
    "interpolation_network",
    "interval_network",
    "linear_pieces",
    "lipschitz_estimate",
    "max_region_network",
    "montufar_bound",
    "parameter_count",
    "perceptron_rule",
    "region_limit",
    "shallow_regions",
    "step_network",
    "walls_network",
]
