"""Graphs as data, message passing by gather and scatter, and estimators for nodes, edges and whole graphs."""

from margin.graphs.graph import Graph, GraphTensors, disjoint_union
from margin.graphs.graph_estimators import GraphClassifier, GraphRegressor
from margin.graphs.link_predictor import LinkPredictor
from margin.graphs.node_classifier import NodeClassifier
from margin.graphs.pooling import scatter

__all__ = [
    "Graph",
    "GraphClassifier",
    "GraphRegressor",
    "GraphTensors",
    "LinkPredictor",
    "NodeClassifier",
    "disjoint_union",
    "scatter",
]
