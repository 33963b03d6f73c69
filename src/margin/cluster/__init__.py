"""Clustering: groups of similar rows, found without labels."""

from margin.cluster.kmeans import KMeans

__all__ = ["KMeans"]
