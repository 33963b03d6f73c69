"""What fitted graphical models hold: tables that fit their graph, circuits in which children come first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from margin.core.invariants import Sizes, Violation
from margin.graphical.circuits import LEAF, SUM
from margin.graphical.network import DiscreteNetwork
from margin.neighbors.density.stored import state_counts

__all__ = ["children_come_first", "rows_are_distributions", "tables_fit_the_graph"]


SUM_TOLERANCE = 1e-6


def tables_fit_the_graph(model: Mapping[str, Any], _: Sizes) -> None:
    if "tables_" not in model:
        return
    sizes = state_counts(model)
    try:
        graph = {j: [int(p) for p in above] for j, above in enumerate(model["parents_"])}
        network = DiscreteNetwork(graph, dict(enumerate(model["tables_"])))
    except ValueError as error:
        raise Violation(str(error)) from None
    if list(network.sizes.values()) != sizes:
        raise Violation("tables_ must have one entry for every state of its column")


def children_come_first(model: Mapping[str, Any], _: Sizes) -> None:
    if "kinds_" not in model:
        return
    sizes = state_counts(model)
    for i, (kind, variable) in enumerate(zip(model["kinds_"], model["variables_"])):
        children, parameters = model["children_"][i], model["log_parameters_"][i]
        if kind == LEAF:
            fits = 0 <= variable < len(sizes) and len(parameters) == sizes[variable] and len(children) == 0
        else:
            fits = len(children) > 0 and (children < i).all() and (children >= 0).all()
            fits &= len(parameters) == (len(children) if kind == SUM else 0)
        if not fits or np.isnan(parameters).any() or (parameters > 1e-9).any():
            raise Violation(f"node {i} of the circuit must have children before it and one parameter for each state")


def rows_are_distributions(model: Mapping[str, Any], _: Sizes) -> None:
    """Where a chain starts and goes are probabilities."""
    for name in ("startprob_", "transmat_"):
        if name in model and np.abs(np.asarray(model[name]).sum(axis=-1) - 1).max() > SUM_TOLERANCE:
            raise Violation(f"{name} must be probabilities that sum to 1")
