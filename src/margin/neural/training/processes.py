"""Processes that one command started together (``torchrun``), as a training sees them.

Every process holds the whole network and the whole data, and runs the same program: what one of them decides (to stop,
to make a record early) all of them must decide at the same step, or they wait for each other for ever.
"""

from __future__ import annotations

import atexit
import gc
import os
import socket
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

import torch
from torch import Tensor, distributed

__all__ = ["Processes", "join_processes", "loopback"]

LOOPBACK = ("lo", "lo0")
GOODBYE = timedelta(seconds=10)  # how long a process that ends waits for the others


@dataclass(frozen=True)
class Processes:
    """The number of this process and how many there are; alone, everything here costs nothing.

    >>> Processes().any(False, True), Processes().broadcast(b"state")
    ((False, True), b'state')
    """

    rank: int = 0
    size: int = 1

    @property
    def alone(self) -> bool:
        return self.size == 1

    @property
    def first(self) -> bool:
        """Whether this is the process that writes files and speaks to the user."""
        return self.rank == 0

    def any(self, *flags: bool) -> tuple[bool, ...]:
        """For every flag, whether one of the processes has set it."""
        if self.alone:
            return flags
        table = torch.tensor(flags, dtype=torch.uint8)
        distributed.all_reduce(table, distributed.ReduceOp.MAX)
        return tuple(bool(flag) for flag in table)

    def broadcast(self, content: bytes) -> bytes:
        """The ``content`` of the first process, on all of them."""
        if self.alone:
            return content
        length = torch.tensor([len(content)])
        distributed.broadcast(length, 0)
        data = torch.frombuffer(bytearray(content), dtype=torch.uint8) if self.first and content else None
        data = torch.empty(int(length), dtype=torch.uint8) if data is None else data
        distributed.broadcast(data, 0)
        return data.numpy().tobytes()

    def gather(self, tensor: Tensor) -> list[Tensor]:
        """The tensors of all processes, which have one shape, in the order of the processes."""
        if self.alone:
            return [tensor]
        found = [torch.empty_like(tensor) for _ in range(self.size)]
        distributed.all_gather(found, tensor)
        return found

    def add(self, tensor: Tensor) -> Tensor:
        """The sum over all processes, in ``tensor`` itself; its last bits depend on how many there are."""
        if not self.alone:
            distributed.all_reduce(tensor)
        return tensor


def join_processes() -> Processes:
    """The processes that this one belongs to: of a group that the program has made, or those that torchrun started."""
    if not (distributed.is_available() and distributed.is_initialized()):
        if int(os.environ.get("WORLD_SIZE", "1")) < 2 or "RANK" not in os.environ:
            return Processes()
        _meet()
    return Processes(distributed.get_rank(), distributed.get_world_size())


def loopback() -> str | None:
    """The network interface of this machine alone: a host name may lead nowhere."""
    return next((name for _, name in socket.if_nameindex() if name in LOOPBACK), None)


def _meet() -> None:
    inside = loopback()
    if inside is not None and os.environ.get("LOCAL_WORLD_SIZE") == os.environ["WORLD_SIZE"]:  # all on this machine
        os.environ.setdefault("GLOO_SOCKET_IFNAME", inside)
    cards = torch.cuda.is_available() and distributed.is_nccl_available()
    distributed.init_process_group("cpu:gloo,cuda:nccl" if cards else "gloo")
    atexit.register(_part)


def _part() -> None:
    """Leave together: threads of gloo that still hold tensors abort a process that ends before them."""
    gc.collect()
    with suppress(Exception):
        distributed.monitored_barrier(timeout=GOODBYE)
        distributed.destroy_process_group()
