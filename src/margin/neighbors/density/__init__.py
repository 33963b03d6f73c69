"""Densities without hidden variables: histograms and kernels."""

from margin.neighbors.density.histogram import HistogramDensity
from margin.neighbors.density.kernel_density import KernelDensity

__all__ = ["HistogramDensity", "KernelDensity"]
