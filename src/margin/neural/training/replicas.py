r"""Data-parallel gradients: a batch is split over processes, each with a replica of the network, and gradients add up.

.. math:: \nabla \frac1N \sum_{i=1}^N \ell_i = \sum_r \frac{n_r}{N}\, \nabla \frac1{n_r} \sum_{i \in r} \ell_i

Replica r has :math:`n_r` of the N rows. Its mean loss must be weighed by :math:`n_r / N`: a plain average over replicas
is another gradient wherever the pieces are not of one size.

The processes meet in a file of a temporary folder (torch.distributed with gloo), so that no port is needed. Each is a
fresh interpreter: network and loss must be importable there, as with ``torchrun``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from margin.neural.training.processes import loopback

__all__ = ["data_parallel", "replica_gradients"]

Loss = Callable[[Tensor, Tensor], Tensor]
PATIENCE = timedelta(minutes=5)  # a worker may wait that long for the others: a busy machine starts them slowly


def replica_gradients(module: nn.Module, loss: Loss, x: Tensor, y: Tensor, n_rows: int) -> tuple[Tensor, list[Tensor]]:
    """What the rows of one replica add to the mean loss over ``n_rows`` and to its gradients."""
    value = loss(module(x), y) * (len(x) / n_rows)
    learned = [p for p in module.parameters() if p.requires_grad]
    return value.detach(), list(torch.autograd.grad(value, learned))


def data_parallel(module: nn.Module, loss: Loss, x: Tensor, y: Tensor, n_workers: int = 2) -> float:
    """The mean loss over a batch; its gradients are added to those of ``module``, as ``backward`` does.

    ``loss(outputs, y)`` is the mean over the rows it is given. The batch must have a row for every worker.
    """
    if n_workers < 1 or len(x) < n_workers or len(x) != len(y):
        raise ValueError(
            f"data_parallel: needs x and y of one length and at least one row for each worker; got {len(x)} and "
            f"{len(y)} rows for {n_workers} workers."
        )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "path.json").write_text(json.dumps(sys.path))
        pieces = zip(x.tensor_split(n_workers), y.tensor_split(n_workers))
        for rank, (rows, targets) in enumerate(pieces):
            torch.save((module, loss, rows.clone(), targets.clone(), len(x)), folder / f"piece-{rank}.pt")
        _run_workers(folder, n_workers)
        with np.load(folder / "gradients.npz") as gradients:
            _accumulate(module, gradients)
            return float(gradients["loss"])


def _accumulate(module: nn.Module, gradients: Mapping[str, np.ndarray]) -> None:
    for i, p in enumerate(p for p in module.parameters() if p.requires_grad):
        gradient = torch.from_numpy(gradients[f"gradient-{i}"]).to(p.device)
        p.grad = gradient if p.grad is None else p.grad + gradient


def _run_workers(folder: Path, n_workers: int) -> None:
    """Start the workers, wait for all of them, and say what went wrong if one fails."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    inside = loopback()
    if inside is not None:  # all workers are on this machine
        environment.setdefault("GLOO_SOCKET_IFNAME", inside)
    command = [sys.executable, "-m", __name__, str(folder), str(n_workers)]
    workers = []
    for rank in range(n_workers):
        with (folder / f"errors-{rank}.txt").open("w") as errors:
            workers.append(subprocess.Popen([*command, str(rank)], env=environment, stderr=errors))
    try:
        failed = [rank for rank, worker in enumerate(workers) if worker.wait(PATIENCE.total_seconds())]
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    if failed:
        lines = (folder / f"errors-{failed[0]}.txt").read_text().strip().splitlines() or ["no message"]
        raise RuntimeError(f"data_parallel: worker {failed[0]} of {n_workers} failed: {lines[-1]}")


def _work(folder: Path, n_workers: int, rank: int) -> None:
    """One replica: its piece of the batch, and the sum over all replicas, which the first one writes down."""
    from torch import distributed

    sys.path[:] = json.loads((folder / "path.json").read_text())
    torch.set_num_threads(1)
    # Written by the process that started this one, so it may hold code.
    module, loss, x, y, n_rows = torch.load(folder / f"piece-{rank}.pt", weights_only=False)
    meeting = (folder / "meeting").as_uri()
    distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=n_workers, timeout=PATIENCE)
    value, gradients = replica_gradients(module, loss, x, y, n_rows)
    for part in (value, *gradients):
        distributed.all_reduce(part, distributed.ReduceOp.SUM)
    distributed.destroy_process_group()
    if rank == 0:
        arrays: dict[str, Any] = {f"gradient-{i}": gradient.numpy() for i, gradient in enumerate(gradients)}
        np.savez(folder / "gradients.npz", loss=value.numpy(), **arrays)


if __name__ == "__main__":
    _work(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
