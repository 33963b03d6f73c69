"""The running fit of a forest: the trees so far and, if asked for, what the rows they left out say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from margin.core.parallel import map_in_order, worker_count
from margin.core.records import Record
from margin.core.streaming import SharesData
from margin.trees.cart import structure, walking
from margin.trees.cart.growing import GrownTrees, grow_trees, weighted_rules
from margin.trees.cart.growth_limits import growth_rules
from margin.trees.cart.pruning import prune_by_cost
from margin.trees.cart.several_targets import balancing_factors
from margin.trees.cart.training_data import TrainingData
from margin.trees.forest.bootstrap import sample_counts, tree_keys
from margin.trees.forest.out_of_bag import OutOfBag, bootstrap_counts
from margin.trees.restored_trees import check_forest_trees

if TYPE_CHECKING:
    from margin.trees.cart.kernel_types import ColumnCodes, GrowthRules

__all__ = ["FOREST_EXACT_ROWS", "ForestGrowth", "Sampling", "drawn_rows", "sample_count"]

# What the samples of a forest are drawn from: "rows" of positive weight, "drawn" of them (0: each tree has all),
# "weightless", the rows beside them, and "stream", how: by hashing, or, as files of older versions say by leaving it
# out, by a generator per tree.
Sampling = dict[str, Any]
HASHED, GENERATORS = 1, 0

# Up to so many rows a forest looks at every threshold: beyond, bins halve the time and an average hides them.
FOREST_EXACT_ROWS = 1_000

# Rows times columns looked at, of all trees that are grown in one call: well below a second of work, and enough that
# what a call costs beside growing does not show.
BATCH_CELLS = 1 << 18

WORK_PER_CELL = 200.0  # basic operations per row and column looked at, over all levels of a tree


class Ground(NamedTuple):
    """What every tree of a forest grows from."""

    codes: ColumnCodes
    target: np.ndarray
    weight: np.ndarray
    rules: GrowthRules
    sampling: Sampling
    seed: int
    balances_samples: bool


class Span(NamedTuple):
    """The trees ``first`` to ``last - 1``."""

    first: int
    last: int

    @property
    def name(self) -> str:
        return f"tree {self.first}"


def grow_span(ground: Ground, span: Span) -> tuple[GrownTrees, np.ndarray]:
    """The trees of a span, and how often each of them drew every row."""
    counts = _counts(ground.sampling, ground.seed, *span)
    weights = counts * ground.weight
    if ground.balances_samples:
        weights *= balancing_factors(ground.target, weights)
    states = tree_keys(ground.seed, *span) | np.uint64(1)
    return grow_trees(ground.codes, ground.target, weights, ground.rules, states), counts


def grow_alone(ground: Ground, span: Span) -> GrownTrees:
    """The trees of a span without what is as long as the table."""
    grown, _ = grow_span(ground, span)
    return grown._replace(rows=grown.rows[:0])


class ForestGrowth:
    """Grows the trees of ``model`` on ``data``; tree k draws from a stream of its own, made of ``seed`` and k."""

    def __init__(self, model: Any, data: TrainingData, seed: int):
        self.model, self.data, self.seed = model, data, seed
        self.trees: list[Mapping[str, np.ndarray]] = []
        self.judged = OutOfBag(data.target, 0 if data.classes is None else data.n_values, data.weight, data.classes)
        n = len(data.X)
        drawn = sample_count(model.max_samples, n) if model.bootstrap else 0
        self.own: Sampling = {
            "rows": n,
            "drawn": drawn,
            "weightless": np.flatnonzero(~data.kept),
            "stream": HASHED,
        }
        self.sampling: Sampling | None = self.own  # None: the trees' samples are not all of this kind

    def iterations(self) -> Iterator[Record]:
        model, data = self.model, self.data
        if len(self.trees) >= model.n_estimators:
            return
        codes = data.codes(model.max_bins, self.seed, FOREST_EXACT_ROWS)
        rules = growth_rules(model, data, random=model.random_splits)
        if not model.balances_samples:  # or weights are no counts
            rules = weighted_rules(rules, data.weight, self.own["drawn"])
        numbers, cells = range(len(self.trees), model.n_estimators), len(data.X) * rules.max_features
        ground = Ground(codes, data.target, data.weight, rules, self.own, self.seed, model.balances_samples)
        if isinstance(data.runner, SharesData):  # the workers of a cluster, which grow a tree each at a time
            for grown in data.runner.map_shared(grow_alone, ground, [Span(k, k + 1) for k in numbers]):
                yield from self._take(grown, [None])
            return
        threads = worker_count(model.n_jobs, WORK_PER_CELL * cells)
        batch = max(1, min(BATCH_CELLS // cells, -(-len(numbers) // threads)))

        def make(place: int) -> tuple[GrownTrees, np.ndarray]:
            first = numbers[place * batch]
            return grow_span(ground, Span(first, min(first + batch, numbers.stop)))

        for grown, counts in map_in_order(make, 0, -(-len(numbers) // batch), threads):
            yield from self._take(grown, counts)

    def _take(self, grown: GrownTrees, counts: Iterable[Any]) -> Iterator[Record]:
        """Take the trees of a batch one by one; ``counts`` say how often each of them drew every row."""
        model = self.model
        for grown_tree, depth, leaves, drawn in zip(grown.trees, grown.depths(), grown.leaves(), counts):
            tree: Mapping[str, np.ndarray] = grown_tree
            if model.ccp_alpha > 0:
                tree = prune_by_cost(tree, model.ccp_alpha)
                depth, leaves = structure.depth(tree), structure.n_leaves(tree)
            self.trees.append(tree)
            values: dict[str, float] = {"depth": depth, "leaves": leaves}
            if model.oob_score:
                self._judge(tree, drawn)
                values["oob_error"] = self.judged.error()
            yield Record(len(self.trees), values, total=model.n_estimators)

    def _judge(self, tree: Mapping[str, np.ndarray], counts: np.ndarray) -> None:
        left_out = np.flatnonzero(counts == 0)
        self.judged.add(left_out, walking.predict(tree, self.data.X[left_out]))

    def go_on(self, trees: list[Mapping[str, np.ndarray]], sampling: Sampling | None) -> None:
        """Start from ``trees`` of an earlier fit; their samples are drawn again to see which rows they left out."""
        self.trees = trees
        self.own["stream"] = _stream(sampling or self.own)
        if not _are_alike(sampling, self.own):
            self.sampling = None
        if self.model.oob_score:
            for number, tree in enumerate(trees):
                self._judge(tree, _counts(self.own, self.seed, number, number + 1)[0])

    def state(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "stream": self.own["stream"],
            "trees": [{name: array.copy() for name, array in tree.items()} for tree in self.trees],
            "out_of_bag": self.judged.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        check_forest_trees(state["trees"], self.data.X.shape[1], self.data.n_values, self.data.categorical)
        self.trees = [{name: np.array(array) for name, array in tree.items()} for tree in state["trees"]]
        self.own["stream"] = _stream(state)
        self.judged.restore(state["out_of_bag"])


def _counts(sampling: Sampling, seed: int, first: int, last: int) -> np.ndarray:
    """How often the trees ``first`` to ``last - 1`` draw every row, (trees, rows)."""
    rows, drawn = sampling["rows"], sampling["drawn"]
    if not drawn:
        return np.ones((last - first, rows))
    if _stream(sampling) == HASHED:
        return sample_counts(tree_keys(seed, first, last), rows, drawn)
    streams = (np.random.default_rng([seed, number + 1]) for number in range(first, last))
    return np.array([bootstrap_counts(rows, drawn, rng) for rng in streams])


def drawn_rows(sampling: Sampling, seed: int, trees: int) -> list[np.ndarray]:
    """The rows of every tree's sample, each as often as it was drawn.

    >>> drawn_rows({"rows": 3, "drawn": 0, "weightless": np.array([1]), "stream": HASHED}, seed=0, trees=1)
    [array([0, 2, 3], dtype=int32)]
    """
    rows, weightless = sampling["rows"], sampling["weightless"]
    of_table = np.setdiff1d(np.arange(rows + len(weightless)), weightless)
    counts = (_counts(sampling, seed, number, number + 1)[0] for number in range(trees))
    return [np.repeat(of_table.astype(np.int32), count.astype(np.int64)) for count in counts]


def _stream(stored: Mapping[str, Any]) -> int:
    return int(stored.get("stream", GENERATORS))


def _are_alike(one: Sampling | None, other: Sampling) -> bool:
    return one is not None and all(np.array_equal(one[name], other[name]) for name in ("rows", "drawn", "weightless"))


def sample_count(max_samples: Any, n: int) -> int:
    """Rows that a bootstrap sample draws from ``n``; with replacement that may be more than there are."""
    if max_samples is None:
        return n
    if isinstance(max_samples, float | np.floating):
        return max(1, round(max_samples * n))
    return int(max_samples)
