"""Densities without hidden variables: histograms and kernels."""

from margin.density.histogram import HistogramDensity
from margin.density.kernel_density import KernelDensity

__all__ = ["HistogramDensity", "KernelDensity"]
