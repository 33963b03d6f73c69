"""Probabilistic graphical models: products of tables over few variables, directed or not, learned and queried."""

from margin.graphical.bayesian_network import BayesianNetwork
from margin.graphical.gaussian_hmm import GaussianHMM
from margin.graphical.sum_product_network import SumProductNetwork

__all__ = ["BayesianNetwork", "GaussianHMM", "SumProductNetwork"]
