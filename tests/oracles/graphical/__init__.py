"""Graphical models against sums over every state, SciPy's laws and differences."""
