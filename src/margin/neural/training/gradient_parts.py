r"""The gradient of a batch from parts of it, each computed alone, whoever computes it.

.. math:: \nabla \frac{\sum_i w_i \ell_i}{\sum_i w_i}
          = \frac{1}{\sum_i w_i} \Bigl(\bigl(\nabla L_1 + \nabla L_2\bigr) + \nabla L_3 + \dots\Bigr), \qquad
          L_k = \sum_{i \in \text{part } k} w_i \ell_i

A batch is cut into a number of parts that does not depend on the number of processes. Process r computes the parts r,
r + W, ...; all gather all of them and add them in their order, so the bits are those of one process. Noise of a part
follows from the seed, the step and the number of the part. Layers with running statistics (batch norm) see one part at
a time, each from the statistics before the step, and what the parts make of them is averaged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from margin.neural.training.batches import Batch
from margin.neural.training.meter import Mean
from margin.neural.training.processes import Processes
from margin.neural.training.steps import Terms, measure

__all__ = ["GradientParts", "part_seed"]


LEAST_ROWS = 2  # of a part: batch norm has no variance of a single row


def part_seed(*numbers: int) -> int:
    """A seed of its own for every tuple of integers: the seed of a fit, a step, a part.

    >>> part_seed(0, 3, 1) == part_seed(0, 3, 1), part_seed(0, 3, 1) == part_seed(0, 1, 3)
    (True, False)
    """
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))


class GradientPart(NamedTuple):
    """What one part gives: the gradient of its total loss (None: not reached), and what was measured."""

    gradients: list[Tensor | None]
    numbers: Tensor  # float64: total and mass of every term, then how far every entry of the statistics moved
    names: tuple[str, ...]


class GradientParts:
    """Sets the gradients of ``parameters`` to those of the mean loss of a batch, part after part.

    ``count`` parts per batch (fewer where it has fewer rows). ``restart(step, part)`` sets the noise of a part.
    ``statistics`` are the buffers that forward passes change. With ``exact`` False the processes share one sum: a
    message of the size of the gradient instead of one per part, and other last bits for every number of processes.
    """

    def __init__(
        self,
        parameters: Sequence[nn.Parameter],
        count: int,
        *,
        processes: Processes | None = None,
        exact: bool = True,
        restart: Callable[[int, int], None] | None = None,
        statistics: Sequence[Tensor] = (),
    ):
        self.parameters, self.count, self.exact = list(parameters), count, exact
        self.processes = processes or Processes()
        self.restart, self.statistics = restart, list(statistics)

    def __call__(self, terms_of: Callable[[Batch], Terms], batch: Batch, step: int) -> dict[str, Mean]:
        lengths = {len(tensor) for tensor in batch.tensors}
        if len(lengths) > 1:
            raise ValueError(f"GradientParts: a batch is cut by the rows of its tensors; they have {sorted(lengths)}.")
        pieces = list(batch.parts(min(self.count, max(1, max(lengths) // LEAST_ROWS))))
        before = [buffer.clone() for buffer in self.statistics]
        own = range(self.processes.rank, len(pieces), self.processes.size)
        parts: Iterator[GradientPart] = (self._compute(terms_of, pieces[k], step, k, before) for k in own)
        if not self.processes.alone:
            # Who has no part of a small batch still needs to know the shape of one.
            known = list(parts) or [self._compute(terms_of, pieces[0], step, 0, before)]
            parts = self._gather(known, len(pieces)) if self.exact else self._share(known, bool(own))
        means = self._add(parts, before, len(pieces))
        if self.restart is not None:
            self.restart(step, len(pieces))  # where the noise stands after a step is the same on every process
        return means

    def _compute(
        self, terms_of: Callable[[Batch], Terms], piece: Batch, step: int, k: int, before: Sequence[Tensor]
    ) -> GradientPart:
        if self.restart is not None:
            self.restart(step, k)
        for buffer, value in zip(self.statistics, before):
            buffer.copy_(value)
        for parameter in self.parameters:
            parameter.grad = None
        means = measure(terms_of(piece), piece)
        means["loss"].total.backward(inputs=self.parameters)
        gradients = [None if p.grad is None else p.grad.contiguous() for p in self.parameters]
        sums = [torch.as_tensor(number).detach() for mean in means.values() for number in mean]
        numbers = torch.cat([_flat(sums), _flat(self.statistics) - _flat(before)])
        return GradientPart(gradients, numbers, tuple(means))

    def _add(self, parts: Iterator[GradientPart], before: Sequence[Tensor], n_parts: int) -> dict[str, Mean]:
        """Sums in the order of the parts, divided by the mass of all; statistics become the mean of the parts'."""
        gradients: list[Tensor | None] = [None] * len(self.parameters)
        names: tuple[str, ...] = ()
        numbers: Tensor | None = None
        for part in parts:
            names, numbers = part.names, part.numbers if numbers is None else numbers + part.numbers
            for i, gradient in enumerate(part.gradients):
                if gradient is not None:
                    known = gradients[i]
                    gradients[i] = gradient if known is None else known + gradient
        assert numbers is not None
        sums, moved = numbers[: 2 * len(names)].view(-1, 2), numbers[2 * len(names) :]
        means = {name: Mean(total, float(mass)) for name, (total, mass) in zip(names, sums)}
        with torch.no_grad():
            for parameter, gradient in zip(self.parameters, gradients):
                parameter.grad = None if gradient is None else gradient / means["loss"].mass
            _write(_flat(before) + moved / n_parts, self.statistics)
        return means

    def _gather(self, own: Sequence[GradientPart], n_parts: int) -> Iterator[GradientPart]:
        """All parts in their order: process r has the parts r, r + W, ..., and every process sends as many."""
        rounds = -(-n_parts // self.processes.size)
        for k in range(rounds):
            part = own[min(k, len(own) - 1)]  # who has one part less repeats its last, which nobody reads
            first = k * self.processes.size
            found = zip(*(self.processes.gather(tensor) for tensor in self._pack(part)))
            for tensors in list(found)[: n_parts - first]:
                yield self._unpack(tensors, part.names)

    def _share(self, own: Sequence[GradientPart], counts: bool) -> Iterator[GradientPart]:
        """One part in place of all: their sum, as the processes add it up among themselves, in one message."""
        (part,) = own
        packed = [tensor if counts else torch.zeros_like(tensor) for tensor in self._pack(part)]
        # A message costs more than its bytes, and what is measured needs no more digits than the gradients have.
        kind = packed[-1].dtype if len(packed) == 2 else torch.float64
        place = packed[-1].device
        total = self.processes.add(torch.cat([tensor.to(place, kind) for tensor in packed]))
        sums = total.split([tensor.numel() for tensor in packed])
        yield self._unpack([s.to(tensor.device, tensor.dtype) for s, tensor in zip(sums, packed)], part.names)

    def _pack(self, part: GradientPart) -> list[Tensor]:
        """One tensor per message: the numbers behind a flag per gradient, and the gradients by precision."""
        reached = torch.tensor([gradient is not None for gradient in part.gradients], dtype=torch.float64)
        gradients = [torch.zeros_like(p) if g is None else g for p, g in zip(self.parameters, part.gradients)]
        kinds = dict.fromkeys(parameter.dtype for parameter in self.parameters)
        flat = [torch.cat([g.reshape(-1) for g in gradients if g.dtype == kind]) for kind in kinds]
        return [torch.cat([reached, part.numbers]), *flat]

    def _unpack(self, tensors: Sequence[Tensor], names: tuple[str, ...]) -> GradientPart:
        numbers, *flat = tensors
        n = len(self.parameters)
        at = dict.fromkeys((tensor.dtype for tensor in flat), 0)
        by_kind = {tensor.dtype: tensor for tensor in flat}
        gradients: list[Tensor | None] = []
        for parameter, reached in zip(self.parameters, numbers[:n]):
            begin = at[parameter.dtype]
            at[parameter.dtype] = begin + parameter.numel()
            piece = by_kind[parameter.dtype][begin : begin + parameter.numel()]
            gradients.append(piece.view(parameter.shape) if reached else None)
        return GradientPart(gradients, numbers[n:], names)


def _flat(tensors: Sequence[Tensor]) -> Tensor:
    empty = torch.zeros(0, dtype=torch.float64)
    return torch.cat([empty, *(tensor.reshape(-1).to("cpu", torch.float64) for tensor in tensors)])


def _write(numbers: Tensor, tensors: Sequence[Tensor]) -> None:
    for tensor, piece in zip(tensors, numbers.split([tensor.numel() for tensor in tensors])):
        tensor.copy_(piece.view(tensor.shape))
