"""What fitted graph networks hold: no layer is built that the stored weights do not fill."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margin.core.invariants import Count, FieldsOf, Real, Sizes, Stored, StringOf, TrueOrFalse, Violation
from margin.graphs.network import ARCHITECTURES, READOUT_LAYERS
from margin.graphs.pooling import AGGREGATIONS
from margin.neural.stored import check_built

__all__ = ["GRAPH_NETWORK", "LINK_NETWORK", "NODE_NETWORK", "network_is_stored"]

MOST = 2**31


def network_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    """The described network has the stored weights, the columns of X and the outputs that the rest of the file has."""
    if "network_" not in model:
        return
    from margin.graphs.link_predictor import LinkNetwork
    from margin.graphs.network import GraphNetwork

    network = model["network_"]
    if network["n_features"] != sizes["n_features"]:
        raise Violation("network_ must begin with the features of the nodes")
    links = "n_relations" in network
    outputs = network["n_relations"] or 2 if links else network["n_outputs"]
    if outputs != sizes.known.get("n_outputs", outputs):
        raise Violation("network_ must end with the outputs")
    check_built(model["weights_"], lambda: (LinkNetwork if links else GraphNetwork)(**network), float32=False)


def _network(level: str, **more: Stored) -> Stored:
    """What a network is built from that says something of each node, or of whole graphs."""
    return FieldsOf(
        {
            "n_features": Count(low=1, high=MOST),
            "n_edge_features": Count(high=MOST),
            "n_outputs": Count(low=1, high=MOST),
            "architecture": StringOf(ARCHITECTURES),
            "width": Count(low=1, high=MOST),
            "n_layers": Count(low=1, high=10_000),
            "heads": Count(low=1, high=MOST),
            "dropout": Real(0.0, 1.0, finite=True),
            "level": StringOf((level,)),
            "mean_degree": Real(low=0.0, finite=True),
            "mean_nodes": Real(low=1.0, finite=True),
            **more,
        }
    )


READING: Mapping[str, Stored] = {
    "readout": StringOf(AGGREGATIONS),
    "readout_layers": StringOf(READOUT_LAYERS),
    "batch_norm": TrueOrFalse(),
}
NODE_NETWORK = _network("node")
GRAPH_NETWORK = _network("graph", **READING)
LINK_NETWORK = _network("node", n_relations=Count(high=MOST))
