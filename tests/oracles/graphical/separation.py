"""Independence in graphs along every path, a chain of draws against exact sums."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.graphical.factors import Factor
from margin.graphical.graphs import d_separated, markov_equivalent
from margin.graphical.sampling import gibbs_samples

PATH = "margin.graphical"
NAMES = "abcde"
Parents = dict[str, list[str]]


def random_graph(rng: np.random.Generator, n: int) -> Parents:
    order = rng.permutation(list(NAMES[:n])).tolist()
    return {v: [u for u in order[:k] if rng.random() < 0.45] for k, v in enumerate(order)}


def descendants(parents: Parents, v: str) -> set[str]:
    found = {v}
    for _ in parents:
        found |= {child for child, above in parents.items() if found & set(above)}
    return found


def paths(parents: Parents, start: str, end: str, seen: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    seen = (*seen, start)
    if start == end:
        yield seen
        return
    for v in parents:
        if v not in seen and (start in parents[v] or v in parents[start]):
            yield from paths(parents, v, end, seen)


def is_open(parents: Parents, path: tuple[str, ...], given: set[str]) -> bool:
    """Colliders are open with themselves or a descendant known, all others unless they are known."""
    for before, v, after in zip(path, path[1:], path[2:]):
        if before in parents[v] and after in parents[v]:
            if not descendants(parents, v) & given:
                return False
        elif v in given:
            return False
    return True


def separated(parents: Parents, a: str, b: str, given: set[str]) -> bool:
    return not any(is_open(parents, path, given) for path in paths(parents, a, b))


def independencies(parents: Parents) -> list[bool]:
    names = sorted(parents)
    found = []
    for a, b in itertools.combinations(names, 2):
        rest = [v for v in names if v not in (a, b)]
        found += [
            separated(parents, a, b, set(z)) for k in range(len(rest) + 1) for z in itertools.combinations(rest, k)
        ]
    return found


@oracle(f"{PATH}.graphs.d_separated", f"{PATH}.graphs.markov_equivalent")
def every_path(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    graph, ours, expected = random_graph(rng, 5), [], []
    for a, b in itertools.combinations(NAMES, 2):
        rest = [v for v in NAMES if v not in (a, b)]
        for size in range(4):
            for given in itertools.combinations(rest, size):
                ours.append(d_separated(graph, [a], [b], given))
                expected.append(separated(graph, a, b, set(given)))
    graphs = [random_graph(rng, 3) for _ in range(6)]
    pairs = list(itertools.product(graphs, graphs))
    return every(
        separated=equal(ours, expected),
        equivalent=equal(
            [markov_equivalent(*pair) for pair in pairs],
            [independencies(first) == independencies(second) for first, second in pairs],
        ),
    )


@oracle(f"{PATH}.sampling.gibbs_samples")
def a_long_chain(seed: int) -> Verdict:
    """Variables of 2, 3 and 2 states, one of them known: frequencies of states against the product of the tables."""
    rng = np.random.default_rng(seed)
    first, second = rng.uniform(0.5, 2.0, size=(2, 3)), rng.uniform(0.5, 2.0, size=(3, 2, 2))
    factors = [Factor(["a", "b"], first), Factor(["b", "c", "d"], second)]
    exact = np.einsum("ab,bc->abc", first, second[:, :, 1])
    names, rows = gibbs_samples(factors, 40_000, seed, evidence={"d": 1}, burn_in=50, thin=2)
    columns = [list(names).index(name) for name in "abc"]
    counted = np.zeros((2, 3, 2))
    np.add.at(counted, tuple(rows[:, columns].T), 1 / len(rows))
    return every(
        names=equal(sorted(names), ["a", "b", "c"]),
        frequencies=near(counted, exact / exact.sum(), tolerance=0.02),  # standard errors are at most 0.003
    )
