"""Graphs as data, message passing by gather and scatter, and estimators for nodes, edges and whole graphs."""

from margin.graphs.graph import Graph, GraphTensors, disjoint_union
from margin.graphs.pooling import scatter

__all__ = ["Graph", "GraphTensors", "disjoint_union", "scatter"]
