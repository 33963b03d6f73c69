r"""Cutting a grown tree back: cost-complexity pruning and reduced-error pruning.

The first minimizes :math:`R_\alpha(T) = R(T) + \alpha\,|\text{leaves}(T)|`, where :math:`R(T)` is the impurity of the
leaves weighted by their fraction of the rows. The subtree below node :math:`t` is worth keeping as long as

.. math:: \alpha < g(t) = \frac{R(t) - R(T_t)}{|\text{leaves}(T_t)| - 1} ,

so cutting the node with the smallest :math:`g`, again and again, gives a nested sequence of trees that contains the
minimizer for every :math:`\alpha`. The second replaces, from the bottom up, every subtree that errs on rows held back
at least as much as its root alone would.
"""

from __future__ import annotations

import heapq

import numpy as np

from margin.trees.cart.structure import TreeArrays, parents, subtree
from margin.trees.cart.walking import apply

__all__ = ["cost_complexity_path", "leaf_counts", "prune_by_cost", "prune_by_error", "summed_below"]

# Two links count as equally weak when they differ by less than rounding in sums of impurities.
TIE = 1e-12


def summed_below(tree: TreeArrays, at_leaves: np.ndarray) -> np.ndarray:
    """For every node the sum of ``at_leaves`` (nodes, ...) over the leaves below it, itself included."""
    total = np.where((tree["feature"] < 0).reshape(-1, *[1] * (at_leaves.ndim - 1)), at_leaves, 0)
    above = parents(tree)
    for node in range(len(above) - 1, 0, -1):  # children have larger numbers
        total[above[node]] += total[node]
    return total


def leaf_counts(tree: TreeArrays) -> np.ndarray:
    """How many leaves lie below every node."""
    return summed_below(tree, np.ones(len(tree["feature"]), dtype=np.int64))


def _risk(tree: TreeArrays) -> np.ndarray:
    return tree["weight"] / tree["weight"][0] * tree["impurity"]


def _weakest_links(tree: TreeArrays) -> tuple[np.ndarray, list[tuple[float, float]]]:
    """The alpha at which every node is cut (infinity for leaves), and (alpha, risk of all leaves) after every cut."""
    risk, above = _risk(tree), parents(tree)
    below, leaves = summed_below(tree, risk), leaf_counts(tree)
    cut_at = np.full(len(risk), np.inf)
    gone = np.zeros(len(risk), dtype=bool)
    inner = np.flatnonzero(tree["feature"] >= 0)
    heap = [((risk[t] - below[t]) / (leaves[t] - 1), int(t), int(leaves[t])) for t in inner]
    heapq.heapify(heap)
    alpha, steps = 0.0, [(0.0, float(below[0]))]
    while heap:
        link, node, count = heapq.heappop(heap)
        if gone[node] or leaves[node] != count:
            continue  # cut with an ancestor, or its subtree has shrunk since
        alpha = max(alpha, link)
        waiting = [node]
        while waiting:
            t = waiting.pop()
            if tree["feature"][t] >= 0 and not gone[t]:
                gone[t] = True
                cut_at[t] = alpha
                waiting += [int(tree["left"][t]), int(tree["right"][t])]
        saved, fewer = risk[node] - below[node], leaves[node] - 1
        t = node
        while t >= 0:
            below[t] += saved
            leaves[t] -= fewer
            if leaves[t] > 1:
                heapq.heappush(heap, ((risk[t] - below[t]) / (leaves[t] - 1), int(t), int(leaves[t])))
            t = above[t]
        steps.append((alpha, float(below[0])))
    return cut_at, steps


def cost_complexity_path(tree: TreeArrays) -> dict[str, np.ndarray]:
    """The alphas at which the optimal subtree changes, ascending, and the impurity of its leaves from each on."""
    _, steps = _weakest_links(tree)
    alphas, impurities = [steps[0][0]], [steps[0][1]]
    for alpha, impurity in steps[1:]:
        if alpha - alphas[-1] <= TIE * max(1.0, alpha):
            impurities[-1] = impurity
        else:
            alphas.append(alpha)
            impurities.append(impurity)
    return {"ccp_alphas": np.array(alphas), "impurities": np.array(impurities)}


def prune_by_cost(tree: TreeArrays, alpha: float) -> TreeArrays:
    r"""The smallest subtree that minimizes :math:`R_\alpha`: every link with :math:`g \le \alpha` is cut."""
    cut_at, _ = _weakest_links(tree)
    return subtree(tree, cut_at <= alpha * (1 + TIE) + TIE * _risk(tree)[0])


def prune_by_error(tree: TreeArrays, X: np.ndarray, y: np.ndarray) -> TreeArrays:
    """Reduced-error pruning on rows held back: ``y`` holds class numbers (several outputs) or responses (one).

    A subtree stays only if it errs less than its root would as a leaf: in misclassified rows, or squared error.
    """
    own = _errors_as_leaf(tree, apply(tree, X), y)
    kept = own.copy()  # the error of the best pruned subtree below every node
    cut = tree["feature"] < 0
    for node in range(len(own) - 1, -1, -1):
        if tree["feature"][node] < 0:
            continue
        below = kept[tree["left"][node]] + kept[tree["right"][node]]
        cut[node] = below >= own[node]
        kept[node] = min(below, own[node])
    return subtree(tree, cut)


def _errors_as_leaf(tree: TreeArrays, leaves: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The error on the rows that pass every node if it were a leaf; ``leaves`` is where they end."""
    nodes, outputs = tree["value"].shape
    if outputs > 1:
        counts = np.zeros((nodes, outputs))
        np.add.at(counts, (leaves, y.astype(np.int64)), 1.0)
        counts = summed_below(tree, counts)
        return counts.sum(axis=1) - counts[np.arange(nodes), tree["value"].argmax(axis=1)]
    center = float(y.mean())
    offset = y - center  # so that the squares below do not cancel
    sums = np.column_stack([np.bincount(leaves, w, minlength=nodes) for w in (np.ones(len(y)), offset, offset**2)])
    count, total, squares = summed_below(tree, sums).T
    value = tree["value"][:, 0] - center
    return np.maximum(squares - 2 * value * total + count * value**2, 0.0)
