"""Layers that torch does not have, or has only with the global random generator."""

from margin.neural.layers.dropout import Dropout, use_generator

__all__ = ["Dropout", "use_generator"]
