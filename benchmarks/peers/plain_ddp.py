"""Our perceptron trained by torch's DistributedDataParallel in a loop of twenty lines: what a user would write."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from margin.neural.nets.mlp import MLP

__all__ = ["train_ddp"]


def train_ddp(
    X: np.ndarray, y: np.ndarray, units: tuple[int, ...], *, epochs: int, batch_size: int, rate: float = 1e-3
) -> float:
    """Mean loss of the last epoch; every process takes its part of each batch, and gradients are averaged."""
    from torch import distributed

    rank, size = (distributed.get_rank(), distributed.get_world_size()) if distributed.is_initialized() else (0, 1)
    torch.manual_seed(0)
    plain = MLP([X.shape[1], *units, int(y.max()) + 1])
    network: nn.Module = DistributedDataParallel(plain) if size > 1 else plain
    optimizer = torch.optim.Adam(network.parameters(), lr=rate)
    rows, labels = torch.from_numpy((X - X.mean(axis=0)) / X.std(axis=0)), torch.from_numpy(y)
    order = torch.Generator().manual_seed(0)
    total = 0.0
    for _ in range(epochs):
        permutation, total = torch.randperm(len(rows), generator=order), 0.0
        for start in range(0, len(rows), batch_size):
            index = permutation[start : start + batch_size]
            mine = index[rank * len(index) // size : (rank + 1) * len(index) // size]
            optimizer.zero_grad(set_to_none=True)
            loss = nn.functional.cross_entropy(network(rows[mine]), labels[mine])
            loss.backward()
            optimizer.step()
            total += float(loss.detach()) * len(mine)
    whole = torch.tensor([total])
    if size > 1:
        distributed.all_reduce(whole)
    return float(whole) / len(rows)
