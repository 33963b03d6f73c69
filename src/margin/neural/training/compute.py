"""Where and in which precision a network computes: the one object that training, evaluation and prediction go through.

Networks are built on the CPU from their seed and then placed, so the first weights are the same on every device. Rows
stay where they are read; a batch is moved when it is drawn. What is learned is read out as arrays of no device
(:mod:`margin.neural.weights`), so a model file knows none.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from margin.neural.training.batches import Batch
from margin.neural.training.processes import Processes, join_processes
from margin.neural.training.rows import Rows

__all__ = ["PRECISIONS", "Compute"]

Net = TypeVar("Net", bound=nn.Module)

#: What a user may ask for: the precision of the rows, of the weights, or of the products alone.
PRECISIONS = ("auto", "float32", "bfloat16")

CPU = torch.device("cpu")
ALONE = Processes()


@dataclass(frozen=True)
class Compute:
    """A device, the precision of the weights (None: that of the rows), and a lower one for products (``autocast``).

    A batch may be cut into ``parts`` (None: it is not), which the ``processes`` share; ``exact``: with the bits of one
    process, see :mod:`margin.neural.training.gradient_parts`.

    >>> Compute().device, Compute.of("MLPClassifier", "cpu", "float32").dtype
    (device(type='cpu'), torch.float32)
    >>> Compute.of("MLPClassifier", "cpu", "bfloat16")
    Traceback (most recent call last):
    ValueError: MLPClassifier: precision must be 'auto' or 'float32' on a CPU, where products in bfloat16 are slow and \
end the process on some machines; got 'bfloat16'.
    """

    device: torch.device = CPU
    dtype: torch.dtype | None = None
    autocast: torch.dtype | None = None
    parts: int | None = None
    exact: bool = True
    processes: Processes = ALONE

    def __post_init__(self) -> None:
        if self.autocast is not None:
            _check_lower(type(self).__name__, self.device)

    @classmethod
    def of(cls, owner: str, device: str, precision: str) -> Compute:
        """What the parameters ``device`` and ``precision`` of an estimator mean on this machine."""
        found = _named_device(owner, device)
        if precision == "bfloat16":
            _check_lower(owner, found)
            return cls(found, torch.float32, torch.bfloat16)
        narrow = precision == "float32" or not _has_float64(found.type)
        return cls(found, torch.float32 if narrow else None)

    def in_parts(self, parts: int | str | None) -> Compute:
        """The same, sharing every batch with the processes that run with this one; "processes": a part for each."""
        if parts is None:
            return self
        processes = join_processes()
        if isinstance(parts, str):
            return replace(self, parts=processes.size, exact=False, processes=processes)
        return replace(self, parts=parts, processes=processes)

    @classmethod
    def to_predict(cls, owner: str, device: str, precision: str) -> Compute:
        """As :meth:`of`, in full precision; the CPU where the device is not there: a stored model runs anywhere."""
        try:
            return cls.of(owner, device, "auto" if precision == "bfloat16" else precision)
        except ValueError:
            return cls.of(owner, "cpu", "auto" if precision == "bfloat16" else precision)

    @property
    def on_cpu(self) -> bool:
        return self.device.type == "cpu"

    def dtype_for(self, dtype: torch.dtype) -> torch.dtype:
        """The precision of the weights for rows of ``dtype``."""
        return self.dtype or dtype

    def place(self, module: Net) -> Net:
        """``module`` on the device, its floating-point weights in the precision."""
        return module.to(device=self.device, dtype=self.dtype)

    def tensor(self, tensor: Tensor) -> Tensor:
        """``tensor`` on the device, in the precision if it has floating-point numbers."""
        dtype = self.dtype if self.dtype is not None and tensor.is_floating_point() else tensor.dtype
        return tensor.to(device=self.device, dtype=dtype, non_blocking=True)

    def batch(self, batch: Batch) -> Batch:
        """``batch`` on the device; on a CPU in the precision of its rows it is there already."""
        if self.on_cpu and self.dtype is None:
            return batch
        weight = None if batch.weight is None else self.tensor(batch.weight)
        mass = self.tensor(batch.mass) if isinstance(batch.mass, Tensor) else batch.mass
        return batch._replace(tensors=tuple(map(self.tensor, batch.tensors)), weight=weight, mass=mass)

    def rows(self, rows: Rows) -> Rows:
        """``rows`` whose batches come on the device."""
        return rows if self.on_cpu and self.dtype is None else RowsOnDevice(rows, self)

    def generator(self, seed: int) -> torch.Generator:
        """A stream of random numbers on the device: tensors that draw from it must lie there."""
        return torch.Generator(self.device).manual_seed(seed)

    def products(self) -> AbstractContextManager[Any]:
        """Forward passes inside may use the lower precision."""
        return nullcontext() if self.autocast is None else torch.autocast(self.device.type, self.autocast)


@dataclass(frozen=True)
class RowsOnDevice(Rows):
    """Rows that stay where they are; their batches are moved."""

    source: Rows
    compute: Compute

    @property
    def dtype(self) -> torch.dtype:  # type: ignore[override]
        return self.compute.dtype_for(self.source.dtype)

    def __len__(self) -> int:
        return len(self.source)

    def batch(self, index: Tensor | slice) -> Batch:
        return self.compute.batch(self.source.batch(index))

    def take(self, index: Tensor) -> Rows:
        return RowsOnDevice(self.source.take(index), self.compute)

    def chunks(self, size: int) -> Iterator[Batch]:
        return map(self.compute.batch, self.source.chunks(size))


def _named_device(owner: str, name: str) -> torch.device:
    if name == "auto":
        return _best_device()
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ValueError(
            f"{owner}: device must be 'auto' or one that torch knows, like 'cuda:1'; got {name!r}."
        ) from None
    if device.type == "meta":
        raise ValueError(f"{owner}: device must hold numbers; got 'meta', which holds shapes alone.")
    if not _is_there(device):
        raise ValueError(f"{owner}: device must be one of this machine ({', '.join(_devices())}); got {name!r}.")
    return device


def _best_device() -> torch.device:
    """The accelerator of this machine, or its CPU; of several, each process that torchrun starts takes its own."""
    kind = _accelerator()
    if kind is None:
        return CPU
    rank = os.environ.get("LOCAL_RANK", "")
    return torch.device(kind, int(rank) % _count(kind)) if rank.isdigit() and _count(kind) > 1 else torch.device(kind)


@cache
def _accelerator() -> str | None:
    found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return None if found is None else found.type


@cache
def _count(kind: str) -> int:
    return 1 if kind == "cpu" else torch.get_device_module(kind).device_count()


def _is_there(device: torch.device) -> bool:
    index = device.index or 0
    if device.type == "cpu":
        return index == 0  # torch takes any number for the one there is
    return device.type == _accelerator() and index < _count(device.type)


def _devices() -> list[str]:
    kind = _accelerator()
    if kind is None:
        return ["'cpu'"]
    return ["'cpu'", *(repr(f"{kind}:{i}" if _count(kind) > 1 else kind) for i in range(_count(kind)))]


@cache
def _has_float64(kind: str) -> bool:
    """Apple's processors have no double precision."""
    try:
        torch.zeros(1, dtype=torch.float64, device=kind)
    except (TypeError, RuntimeError):
        return False
    return True


def _check_lower(owner: str, device: torch.device) -> None:
    if device.type == "cpu":
        raise ValueError(
            f"{owner}: precision must be 'auto' or 'float32' on a CPU, where products in bfloat16 are slow and end the "
            "process on some machines; got 'bfloat16'."
        )
    if device.type == "cuda" and not torch.cuda.is_bf16_supported():
        raise ValueError(
            f"{owner}: precision must be 'auto' or 'float32' on {torch.cuda.get_device_name(device)}, which has no "
            "bfloat16; got 'bfloat16'."
        )
