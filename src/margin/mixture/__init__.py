"""MixtureParameters models: densities with a hidden component behind every row, fitted by expectation-maximization."""

from margin.mixture.gaussian_mixture import GaussianMixture

__all__ = ["GaussianMixture"]
