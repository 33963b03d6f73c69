"""The running fit of a forest: the trees so far and, if asked for, what the rows they left out say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from margin.core.parallel import map_in_order, worker_count
from margin.core.records import Record
from margin.trees.cart import structure
from margin.trees.cart.growing import grow_tree
from margin.trees.cart.growth_limits import growth_rules
from margin.trees.cart.pruning import prune_by_cost
from margin.trees.cart.training_data import TrainingData
from margin.trees.forest.out_of_bag import OutOfBag, bootstrap_counts

__all__ = ["ForestGrowth", "sample_count"]

# Up to so many rows a forest looks at every threshold: beyond, bins halve the time and an average hides them.
FOREST_EXACT_ROWS = 1_000

WORK_PER_CELL = 200.0  # basic operations per row and column looked at, over all levels of a tree


class ForestGrowth:
    """Grows the trees of ``model`` on ``data``; tree k draws from a stream of its own, made of ``seed`` and k."""

    def __init__(self, model: Any, data: TrainingData, seed: int):
        self.model, self.data, self.seed = model, data, seed
        self.trees: list[Mapping[str, np.ndarray]] = []
        self.judged = OutOfBag(data.target, 0 if data.classes is None else data.n_values, data.weight, data.classes)

    def iterations(self) -> Iterator[Record]:
        model, data = self.model, self.data
        if len(self.trees) >= model.n_estimators:
            return
        codes = data.codes(model.max_bins, self.seed, FOREST_EXACT_ROWS)
        rules = growth_rules(model, data, random=model.random_splits)

        def make(number: int) -> tuple[Mapping[str, np.ndarray], np.ndarray]:
            rng, counts = self._draw(number)
            tree = grow_tree(codes, data.target, counts * data.weight, rules, int(rng.integers(2**62)))
            return (prune_by_cost(tree, model.ccp_alpha) if model.ccp_alpha > 0 else tree), counts

        threads = worker_count(model.n_jobs, WORK_PER_CELL * len(data.X) * rules.max_features)
        for tree, counts in map_in_order(make, len(self.trees), model.n_estimators, threads):
            self.trees.append(tree)
            values: dict[str, float] = {"depth": structure.depth(tree), "leaves": structure.n_leaves(tree)}
            if model.oob_score:
                self._judge(tree, counts)
                values["oob_error"] = self.judged.error()
            yield Record(len(self.trees), values, total=model.n_estimators)

    def _draw(self, number: int) -> tuple[np.random.Generator, np.ndarray]:
        """The stream of a tree, and how often it draws every row."""
        n, model = len(self.data.X), self.model
        rng = np.random.default_rng([self.seed, number + 1])
        if not model.bootstrap:
            return rng, np.ones(n)
        return rng, bootstrap_counts(n, sample_count(type(model).__name__, model.max_samples, n), rng)

    def _judge(self, tree: Mapping[str, np.ndarray], counts: np.ndarray) -> None:
        left_out = np.flatnonzero(counts == 0)
        self.judged.add(left_out, structure.predict(tree, self.data.X[left_out]))

    def go_on(self, trees: list[Mapping[str, np.ndarray]]) -> None:
        """Start from ``trees`` of an earlier fit; their samples are drawn again to see which rows they left out."""
        self.trees = trees
        if self.model.oob_score:
            for number, tree in enumerate(trees):
                self._judge(tree, self._draw(number)[1])

    def state(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "trees": [{name: array.copy() for name, array in tree.items()} for tree in self.trees],
            "out_of_bag": self.judged.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.trees = [{name: np.array(array) for name, array in tree.items()} for tree in state["trees"]]
        self.judged.restore(state["out_of_bag"])


def sample_count(owner: str, max_samples: Any, n: int) -> int:
    """Rows that a bootstrap sample draws from ``n``."""
    if max_samples is None:
        return n
    if isinstance(max_samples, float | np.floating):
        return max(1, round(max_samples * n))
    if max_samples > n:
        raise ValueError(f"{owner}: max_samples={max_samples} exceeds the {n} rows there are.")
    return int(max_samples)
