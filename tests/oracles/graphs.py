"""Quantities of graphs edge by edge, and networks on them by matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from tests.oracles import oracle
from torch import nn

from margin.core.verdict import Verdict, every, near
from margin.graphs import Graph
from margin.graphs.graph import disjoint_union
from margin.graphs.layers import GCNLayer, SAGELayer
from margin.graphs.network import GNN
from margin.graphs.pooling import pool_nodes_to_global
from margin.graphs.refinement import dirichlet_energy
from margin.neural.weights import build

PATH = "margin.graphs"


@oracle(f"{PATH}.refinement.dirichlet_energy")
def differences_along_edges(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x, edges = rng.normal(2.0, 1.0, size=(5, 3)), np.array([[0, 1, 3, 4, 2, 2], [1, 2, 0, 3, 4, 0]])
    expected = np.mean([np.sum((x[i] - x[j]) ** 2) for i, j in edges.T])
    return near(dirichlet_energy(Graph(edges, x), x), expected, tolerance=1e-10)


@oracle(f"{PATH}.network.GNN", f"{PATH}.pooling.pool_nodes_to_global")
def layers_by_matrices(seed: int) -> Verdict:
    """Three layers with dense matrices: rectifiers and norms after all but the last, sums and means over two graphs."""
    rng = np.random.default_rng(seed)
    graphs = [
        Graph(np.array([[0, 1, 1, 2, 3], [1, 0, 2, 3, 1]]), rng.normal(size=(4, 3))),
        Graph(np.array([[0, 2, 1], [1, 1, 2]]), rng.normal(size=(3, 3))),
    ]
    joint = disjoint_union(graphs, torch.float64)
    scale = torch.from_numpy(rng.uniform(0.5, 2.0, size=5))
    norms = [_Scaled(scale), _Scaled(scale[:4])]
    make = lambda: GNN([GCNLayer(3, 5), SAGELayer(5, 4), GCNLayer(4, 2)], norms=norms)  # noqa: E731
    net: Any = build(make, seed, torch.float64).requires_grad_(False)
    net.layers[0].bias.copy_(torch.from_numpy(rng.normal(size=5)))
    n = len(joint.x)
    A = torch.zeros(n, n, dtype=torch.float64)
    A[joint.edges[1], joint.edges[0]] = 1.0
    around = A + torch.eye(n, dtype=torch.float64)
    root = around.sum(dim=1).rsqrt()
    smooth, degrees = root[:, None] * around * root, A.sum(dim=1).clamp(min=1)
    first, second, third = net.layers
    h = torch.relu((smooth @ joint.x @ first.linear.weight.T + first.bias) * scale)
    gathered = A @ h / degrees[:, None]
    k = torch.relu((h @ second.own.weight.T + second.own.bias + gathered @ second.neighbors.weight.T) * scale[:4])
    last = smooth @ k @ third.linear.weight.T + third.bias
    out = net(joint)
    return every(
        hidden=near(net.stages(joint)[1].x.numpy(), k.numpy(), tolerance=1e-10),
        out=near(out.x.numpy(), last.numpy(), tolerance=1e-10),
        sums=near(pool_nodes_to_global(out).numpy(), np.stack([last[:4].sum(0), last[4:].sum(0)]), tolerance=1e-10),
        means=near(
            pool_nodes_to_global(out, "mean").numpy(), np.stack([last[:4].mean(0), last[4:].mean(0)]), tolerance=1e-10
        ),
        most=near(
            pool_nodes_to_global(out, "max").numpy(), np.stack([last[:4].amax(0), last[4:].amax(0)]), tolerance=1e-10
        ),
    )


class _Scaled(nn.Module):
    """Stands for a norm: columns times fixed factors."""

    def __init__(self, factors: torch.Tensor):
        super().__init__()
        self.factors = factors

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.factors
