r"""How many linear regions networks can have, against how many parameters they take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

__all__ = [
    "WidestNetwork", "compare_depths", "deep_region_bound", "montufar_bound", "parameter_count", "region_limit",
    "shallow_regions",
]  # fmt: skip


def shallow_regions(n_units: int, n_inputs: int = 1) -> int:
    r"""Regions into which n hyperplanes in general position cut space: :math:`\sum_{j=0}^{n_0}\binom{n}{j}`.

    >>> [shallow_regions(n, 2) for n in (1, 2, 3, 6)], shallow_regions(3, 3)
    ([2, 4, 7, 22], 8)
    """
    return sum(math.comb(n_units, j) for j in range(n_inputs + 1))


def region_limit(width: int, depth: int, n_inputs: int = 1) -> int:
    r"""No network of ``depth`` layers has more: :math:`\bigl(\sum_{j\le n_0}\binom{n}{j}\bigr)^K`, for one input
    :math:`(D+1)^K`.

    >>> region_limit(3, 5), region_limit(6, 2, 2)
    (1024, 484)
    """
    return shallow_regions(width, n_inputs) ** depth


def deep_region_bound(width: int, depth: int, n_inputs: int = 2) -> float:
    r"""The number that the notes print, :math:`\frac12(n^2+n+2)\,(n/n_0+1)^{n_0(k-1)}`; folding attains it.

    >>> deep_region_bound(6, 2)
    352.0
    """
    return (width**2 + width + 2) / 2 * (width / n_inputs + 1) ** (n_inputs * (depth - 1))


def montufar_bound(n_inputs: int, widths: Sequence[int]) -> int:
    r"""Some network of these widths has at least this many regions:

    .. math:: \Bigl(\prod_{i=1}^{L-1}\Bigl\lfloor\frac{n_i}{n_0}\Bigr\rfloor^{n_0}\Bigr)\sum_{j=0}^{n_0}\binom{n_L}{j}

    >>> montufar_bound(1, [3]), montufar_bound(1, [3, 3]), montufar_bound(2, [4, 4]), montufar_bound(2, [5, 5])
    (4, 12, 44, 64)
    """
    if not widths or min(widths) < n_inputs:
        raise ValueError(f"montufar_bound: every width must be at least {n_inputs}, the inputs; got {list(widths)}.")
    return math.prod((n // n_inputs) ** n_inputs for n in widths[:-1]) * shallow_regions(widths[-1], n_inputs)


def parameter_count(width: int, depth: int, n_inputs: int = 1) -> int:
    r"""Of K hidden layers of D units with one output; for one input :math:`3D + 1 + (K-1)D(D+1)`.

    >>> parameter_count(3, 1), parameter_count(3, 2), parameter_count(10, 5)
    (10, 22, 471)
    """
    return width * (n_inputs + 1) + (depth - 1) * width * (width + 1) + width + 1


class WidestNetwork(NamedTuple):
    """The widest network of one depth within a number of parameters, and the limit of its regions."""

    depth: int
    width: int
    parameters: int
    regions: int


def compare_depths(budget: int, depths: Sequence[int] = (1, 2, 3, 4, 5), n_inputs: int = 1) -> list[WidestNetwork]:
    """For every depth the widest network with at most ``budget`` parameters.

    >>> [(b.width, b.regions) for b in compare_depths(500, (1, 5))]
    [(166, 167), (10, 161051)]
    """
    networks = []
    for depth in depths:
        width = 0
        while parameter_count(width + 1, depth, n_inputs) <= budget:
            width += 1
        if width:
            regions = region_limit(width, depth, n_inputs)
            networks.append(WidestNetwork(depth, width, parameter_count(width, depth, n_inputs), regions))
    return networks
