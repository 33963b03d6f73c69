"""What fitted graphical models hold: tables that fit their graph, circuits in which children come first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from margin.core.invariants import ArrayOf, Count, Form, ListOf, Sizes, Violation
from margin.graphical.circuits import LEAF, SUM
from margin.graphical.network import DiscreteNetwork
from margin.neighbors.density.stored import STATES, columns_are_states, state_counts

__all__ = ["FORMS"]


def _tables_fit_the_graph(model: Mapping[str, Any], _: Sizes) -> None:
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


def _children_come_first(model: Mapping[str, Any], _: Sizes) -> None:
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


FORMS: Mapping[str, Form] = {
    "BayesianNetwork": Form(
        {
            **STATES,
            "parents_": ListOf(ArrayOf(None, kind="int64", low=0), "n_features"),
            "tables_": ListOf(ArrayOf(..., low=0, high=1), "n_features"),
            "n_iter_": Count(),
        },
        [columns_are_states, _tables_fit_the_graph],
    ),
    "SumProductNetwork": Form(
        {
            **STATES,
            "kinds_": ArrayOf("n_nodes", kind="int64", low=0, high=2),
            "variables_": ArrayOf("n_nodes", kind="int64", low=-1, below="n_features"),
            "children_": ListOf(ArrayOf(None, kind="int64"), "n_nodes"),
            "log_parameters_": ListOf(ArrayOf(None, finite=False), "n_nodes"),
        },
        [columns_are_states, _children_come_first],
    ),
}
