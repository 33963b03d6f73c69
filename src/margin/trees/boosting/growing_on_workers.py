"""Trees whose rows lie on the workers of a cluster: these divide and count, the caller chooses the splits.

Histograms are integers, so their sums over the workers are those of one process, and so is the tree. A worker needs
eight bytes per row of its own for every tree; for every split it sends a histogram. Nodes that are likely to be split
soon are divided ahead, so that several of them cost one message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from margin.core.streaming import KeepsObjects
from margin.trees.boosting.bundling import Bundles
from margin.trees.boosting.growing import TreeGrower
from margin.trees.boosting.kernel_types import CODES, SplitLimits
from margin.trees.boosting.row_group import ROOT, Division, RowGroup

__all__ = ["GrowerOnWorkers"]

DIVIDED_TOGETHER = 3  # nodes of one message: more of them save few messages, and more are then not split in the end
NO_ROOM = -1  # of may_split: the pool has no histogram left


class GrowerOnWorkers(TreeGrower):
    """A :class:`TreeGrower` that counts no rows itself: every worker of ``runner`` has a range of them."""

    def __init__(
        self,
        codes: np.ndarray,
        columns: np.ndarray,
        limits: SplitLimits,
        bundles: Bundles | None,
        groups: np.ndarray | None,
        runner: KeepsObjects,
    ):
        super().__init__(codes, columns, limits, bundles, groups)
        workers = max(1, min(runner.n_workers, len(codes)))
        self.cuts = [len(codes) * k // workers for k in range(workers + 1)]
        ranges = zip(self.cuts[:-1], self.cuts[1:], strict=True)
        self.kept = runner.keep(RowGroup, [self.codes[low:high] for low, high in ranges])

    @property
    def grows_rounds(self) -> bool:
        return False

    def close(self) -> None:
        self.kept.close()

    def _grow_planted(self, rows: np.ndarray) -> None:
        from margin.compiled.boosting import add_split, choose_node, end_growth, may_split, open_root, search_root

        growth, drawn = self.growth, self._drawn(rows)
        # By node: its key on the workers, what they found when it was divided, and those that stayed leaves.
        self.keys, self.answers, self.refused = {0: ROOT}, dict[int, tuple[Division, int, np.ndarray]](), set[int]()
        self.children, self.n_keys = dict[int, Division](), ROOT + 1
        packed = [self.packed[low:high] for low, high in zip(self.cuts, self.cuts[1:])]
        self.pool[: self.codes.shape[1] * CODES] = sum(self.kept.begin("plant", list(zip(packed, drawn))))
        if open_root(growth):
            search_root(growth)
        while (room := may_split(growth)) != 0:
            if room == NO_ROOM:
                self._enlarge_pool()
                continue
            number = choose_node(growth)
            if number not in self.answers:
                self._divide([number, *self._next_nodes(min(room, DIVIDED_TOGETHER) - 1)])
            division, n_left, histogram = self.answers.pop(number)
            if add_split(growth, number, n_left, histogram, division.counts_left):
                node = self.nodes[number]
                self.keys[int(node["left"])], self.keys[int(node["right"])] = division.left, division.right
            else:
                self.refused.add(number)
        end_growth(growth)
        self._order(rows, drawn)

    def _drawn(self, rows: np.ndarray) -> list[np.ndarray | None]:
        """The rows of every worker that the tree is grown on, by their numbers there; None for all."""
        if len(rows) == len(self.packed):
            return [None] * (len(self.cuts) - 1)
        at = np.searchsorted(rows, self.cuts)
        return [rows[a:b] - np.int32(cut) for a, b, cut in zip(at[:-1], at[1:], self.cuts)]

    def _next_nodes(self, most: int) -> list[int]:
        """The nodes that gain most of those that wait and were not divided."""
        waiting = [int(n) for n in self.waiting[: self.growth.count_waiting()] if int(n) not in self.answers]
        return sorted(waiting, key=lambda number: -self.nodes["gain"][number])[: max(0, most)]

    def _divide(self, numbers: Sequence[int]) -> None:
        """Let the workers divide these nodes and count a child of each."""
        divisions = [self._division(number) for number in numbers]
        found = self.kept.ask("divide", [(divisions,)] * (len(self.cuts) - 1))
        for number, division, parts in zip(numbers, divisions, zip(*found, strict=True), strict=True):
            self.children[number] = division
            self.answers[number] = division, sum(part[0] for part in parts), sum(part[1] for part in parts)

    def _division(self, number: int) -> Division:
        from margin.compiled.boosting import write_sides

        stored = write_sides(self.growth, number)
        node = self.nodes[number]
        at = (int(node["histogram"]) * self.codes.shape[1] + stored) * CODES
        left = int(self.pool[at : at + CODES][self.goes_left == 1].sum())
        # An estimate of which child has fewer rows is enough: the other one's histogram follows in either case.
        fewer = 2 * self._weight_of(left) <= self._weight_of(int(node["total"]))
        first, sides = self.n_keys, np.packbits(self.goes_left == 1).tobytes()
        self.n_keys += 2
        return Division(self.keys[number], stored, sides, first, first + 1, bool(fewer))

    def _weight_of(self, total: int) -> int:
        """The rows, or what the hessians of them sum to, in a sum of packed rows."""
        packing = self.packing
        if packing.counted:
            return total & int(packing.count_mask)
        return (total >> int(packing.hessian_shift)) & int(packing.hessian_mask)

    def _order(self, rows: np.ndarray, drawn: Sequence[np.ndarray | None]) -> None:
        """Order ``rows`` by leaf as one process leaves them: within a leaf, and a half of one that was divided in vain,
        in their old order."""
        nodes = self.nodes[: self.growth.count_nodes()]
        leaves = np.flatnonzero(nodes["feature"] < 0)
        keys: list[int] = []
        for number in leaves[np.argsort(nodes["start"][leaves])].tolist():
            parts = self.children[number] if number in self.refused else None
            keys += [self.keys[number]] if parts is None else [parts.left, parts.right]
        found = self.kept.ask("places", [(keys,)] * (len(self.cuts) - 1))
        counts = np.array([np.bincount(places, minlength=len(keys)) for places in found])
        starts = np.cumsum(counts.T.ravel()).reshape(counts.T.shape).T - counts
        for low, places, own, start, count in zip(self.cuts, found, drawn, starts, counts):
            order: Any = np.argsort(places, kind="stable")
            order = order if own is None else own[order]
            for piece, at in zip(np.split(order, np.cumsum(count)[:-1]), start):
                rows[at : at + len(piece)] = piece + low
