"""Networks, fields and chains of few states: sums and maxima over all of them, written out."""

from __future__ import annotations

from itertools import combinations, pairwise, product

import numpy as np
from scipy import stats
from scipy.special import gammaln, logsumexp
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.graphical import chains, crf, fields, hidden_markov, independence, scores, structure
from margin.graphical.network import DiscreteNetwork

PATH = "margin.graphical"


@oracle(
    "margin.graphical.junction_tree.calibrate",
    f"{PATH}.network.DiscreteNetwork",
    f"{PATH}.network.DiscreteNetwork.joint",
)
def networks_state_by_state(seed: int) -> Verdict:
    """Four variables of different sizes, one with two parents: every state's probability is a product of entries."""
    rng = np.random.default_rng(seed)
    parents = {"c": ("a", "b"), "a": (), "d": ("c",), "b": ()}
    sizes = {"a": 2, "b": 3, "c": 2, "d": 4}
    tables = {v: rng.dirichlet(np.ones(sizes[v]), size=[sizes[u] for u in above]) for v, above in parents.items()}
    net = DiscreteNetwork(parents, tables)
    states = np.array(list(product(*(range(sizes[v]) for v in parents))))  # columns c, a, d, b
    products = [tables["a"][a] * tables["b"][b] * tables["c"][a, b, c] * tables["d"][c, d] for c, a, d, b in states]
    masses = np.array(products)
    seen = states[:, 2] == 1  # d = 1
    posterior = [masses[seen & (states[:, 1] == a)].sum() / masses[seen].sum() for a in range(2)]
    best = states[seen][masses[seen].argmax()]
    drawn = net.sample(20_000, seed)
    counted = np.bincount(np.ravel_multi_index(drawn.T, (2, 2, 4, 3)), minlength=48)
    return every(
        log_prob=near(net.log_prob(states), np.log(masses), tolerance=1e-10),
        joint=near(net.joint().ravel(), masses, tolerance=1e-12),
        query=near(net.query(["a"], {"d": 1}).values, posterior, tolerance=1e-10),
        posteriors=near(net.posteriors({"d": 1})["a"], posterior, tolerance=1e-10),
        evidence=near(net.log_evidence({"d": 1}), np.log(masses[seen].sum()), tolerance=1e-10),
        most_probable=equal([net.most_probable({"d": 1})[v] for v in parents], best.tolist()),
        parameters=equal(net.n_parameters, 1 + 2 + 6 * 1 + 2 * 3),
        sizes=equal(net.sizes, sizes),
        drawn=near(counted / 20_000, masses, tolerance=6 * float(np.sqrt(masses * (1 - masses) / 20_000).max())),
    )


@oracle(f"{PATH}.fields.MarkovRandomField", f"{PATH}.fields.ising_grid")
def spins_state_by_state(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    coupling, field = rng.uniform(0.2, 0.6, size=2)
    grid = fields.ising_grid(2, 3, coupling, field)
    states = np.array(list(product((0, 1), repeat=6)))
    spins = 2.0 * states.reshape(-1, 2, 3) - 1
    pairs = (spins[:, 1:] * spins[:, :-1]).sum(axis=(1, 2)) + (spins[:, :, 1:] * spins[:, :, :-1]).sum(axis=(1, 2))
    heights = coupling * pairs + field * spins.sum(axis=(1, 2))
    masses = np.exp(heights - logsumexp(heights))
    both = [[masses[(states[:, 0] == a) & (states[:, 4] == b)].sum() for b in (0, 1)] for a in (0, 1)]
    rows = states[:, [3 * i + j for i, j in grid.variables]]
    return every(
        heights=near(grid.log_potential(rows), heights, tolerance=1e-10),
        partition=near(grid.log_partition(), float(logsumexp(heights)), tolerance=1e-10),
        marginal=near(grid.marginal([(0, 0), (1, 1)]).values, both, tolerance=1e-10),
        best=equal(set(grid.most_probable().values()), {1}),
    )


def _paths(emissions: np.ndarray, transition: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All paths of states and their log-potentials."""
    paths = np.array(list(product(range(len(start)), repeat=len(emissions))))
    heights = [
        start[path[0]]
        + sum(emissions[t, k] for t, k in enumerate(path))
        + sum(transition[a, b] for a, b in pairwise(path))
        for path in paths
    ]
    return paths, np.array(heights)


@oracle(
    f"{PATH}.chains.viterbi", f"{PATH}.crf.LinearChainCRF", f"{PATH}.hidden_markov.HiddenMarkovModel",
    f"{PATH}.hidden_markov.baum_welch",
)  # fmt: skip
def chains_path_by_path(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    emissions, transition, start = rng.normal(size=(5, 3)), rng.normal(size=(3, 3)), rng.normal(size=3)
    paths, heights = _paths(emissions, transition, start)
    path, height = chains.viterbi(emissions, transition, start)
    weights, x = rng.normal(size=(3, 2)), rng.normal(size=(5, 2))
    field = crf.LinearChainCRF(weights, transition, start)
    of_field = _paths(x @ weights.T, transition, start)[1]
    chances = np.exp(of_field - logsumexp(of_field))
    by_time = [[chances[paths[:, t] == k].sum() for k in range(3)] for t in range(5)]
    law = [rng.dirichlet(np.ones(n), size=m) for n, m in ((3, 1), (3, 3), (4, 3))]
    model = hidden_markov.HiddenMarkovModel(law[0][0], law[1], law[2])
    sequences = [rng.integers(4, size=5), rng.integers(4, size=5)]
    return every(
        best=equal(path.tolist(), paths[heights.argmax()].tolist()),
        height=near(height, heights.max(), tolerance=1e-10),
        field_log_prob=near(field.log_prob(x, paths[17]), of_field[17] - logsumexp(of_field), tolerance=1e-9),
        field_best=equal(field.predict(x).tolist(), paths[of_field.argmax()].tolist()),
        field_chances=near(field.predict_proba(x), by_time, tolerance=1e-9),
        **_learned_field(rng),
        **_hidden_states(model, sequences, paths),
    )


def _learned_field(rng: np.random.Generator) -> dict[str, Verdict]:
    """No move away from a fitted field gives a better penalized likelihood."""
    X, y = [rng.normal(size=(4, 2)) for _ in range(6)], [rng.integers(2, size=4) for _ in range(6)]
    fitted = crf.LinearChainCRF.fit(X, y, alpha=0.7, max_iter=500)

    def objective(parts: list[np.ndarray]) -> float:
        model = crf.LinearChainCRF(*parts)
        return sum(model.log_prob(a, b) for a, b in zip(X, y)) - 0.35 * sum(float((p**2).sum()) for p in parts)

    parts = [fitted.weights, fitted.transition, fitted.start]
    slopes = []
    for k, part in enumerate(parts):
        for cell in np.ndindex(part.shape):
            ends = []
            for step in (1e-5, -1e-5):
                moved = [p.copy() for p in parts]
                moved[k][cell] += step
                ends.append(objective(moved))
            slopes.append((ends[0] - ends[1]) / 2e-5)
    return {"field_learned": near(slopes, np.zeros(len(slopes)), tolerance=2e-3)}


def _hidden_states(
    model: hidden_markov.HiddenMarkovModel, sequences: list[np.ndarray], paths: np.ndarray
) -> dict[str, Verdict]:
    """Expected counts over all paths, and what one step of EM makes of them."""
    first, moves, emitted = np.zeros(3), np.zeros((3, 3)), np.zeros((3, 4))
    total, states, best = 0.0, [], []
    for symbols in sequences:
        heights = _paths(np.log(model.emission.T[symbols]), np.log(model.transition), np.log(model.start))[1]
        total += float(logsumexp(heights))
        chances = np.exp(heights - logsumexp(heights))
        states.append([[chances[paths[:, t] == k].sum() for k in range(3)] for t in range(5)])
        best.append(paths[heights.argmax()].tolist())
        for path, chance in zip(paths, chances):
            first[path[0]] += chance
            np.add.at(moves, (path[:-1], path[1:]), chance)
            np.add.at(emitted, (path, symbols), chance)
    step = next(iter(hidden_markov.baum_welch(sequences, model, alpha=0.3)))
    expected = [(part + 0.3) / (part + 0.3).sum(axis=-1, keepdims=True) for part in (first, moves, emitted)]
    return {
        "hidden_log_prob": near(sum(model.log_prob(s) for s in sequences), total, tolerance=1e-9),
        "hidden_states": near(model.state_probabilities(sequences[1]), states[1], tolerance=1e-9),
        "hidden_best": equal(model.decode(sequences[0]).tolist(), best[0]),
        "learned_likelihood": near(step.log_likelihood, total, tolerance=1e-9),
        "learned_start": near(step.model.start, expected[0], tolerance=1e-9),
        "learned_moves": near(step.model.transition, expected[1], tolerance=1e-9),
        "learned_symbols": near(step.model.emission, expected[2], tolerance=1e-9),
    }


@oracle(f"{PATH}.scores.FamilyScores", f"{PATH}.scores.structure_score")
def scores_from_counts(seed: int) -> Verdict:
    """Rows are counted one by one, for the Python way and the compiled one."""
    rng = np.random.default_rng(seed)
    sizes = (2, 3, 4)
    rows = np.stack([rng.choice(n, size=50, p=rng.dirichlet(np.full(n, 5.0))) for n in sizes], axis=1)
    expected = {"loglik": 0.0, "bdeu": 0.0}
    for combination in product(range(2), range(4)):  # column 1 with the parents 0 and 2
        inside = rows[(rows[:, 0] == combination[0]) & (rows[:, 2] == combination[1])]
        counts = [int((inside[:, 1] == k).sum()) for k in range(3)]
        expected["loglik"] += sum(n * np.log(n / sum(counts)) for n in counts if n)
        expected["bdeu"] += gammaln(6.0 / 8) - gammaln(6.0 / 8 + sum(counts))
        expected["bdeu"] += sum(gammaln(6.0 / 24 + n) - gammaln(6.0 / 24) for n in counts)
    expected["aic"] = expected["loglik"] - 8 * 2
    expected["bic"] = expected["loglik"] - 8 * 2 * np.log(50) / 2
    local = {
        name: scores.FamilyScores(rows, sizes, name, 6.0)(1, frozenset({0, 2})) for name in ("loglik", "bdeu", "aic")
    } | {"bic": scores.FamilyScores(rows, sizes)(1, frozenset({0, 2}))}
    alone = scores.FamilyScores(rows, sizes, "aic")
    long = scores.FamilyScores(np.tile(rows, (5000, 1)), sizes, "loglik")
    more = long.with_one_more(1, frozenset({0}), [2])
    return every(
        local=near([local[name] for name in expected], list(expected.values()), tolerance=1e-8),
        compiled=near(more / 5000, [expected["loglik"]], tolerance=1e-6),
        whole=near(
            scores.structure_score({0: [], 1: [0, 2], 2: []}, rows, sizes, "aic"),
            alone(0, frozenset()) + expected["aic"] + alone(2, frozenset()),
            tolerance=1e-8,
        ),
    )


@oracle(f"{PATH}.independence.ci_test")
def independence_by_tables(seed: int) -> Verdict:
    """SciPy's likelihood ratio in every stratum of the condition, added up; a stratum lacks a state of one column."""
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.integers(3, size=300), rng.integers(4, size=300), rng.integers(2, size=300)], axis=1)
    rows[(rows[:, 2] == 1) & (rows[:, 0] == 2), 0] = 0
    parts = [
        stats.chi2_contingency(stats.contingency.crosstab(*rows[rows[:, 2] == c, :2].T).count, correction=False,
                               lambda_="log-likelihood")
        for c in (0, 1)
    ]  # fmt: skip
    statistic, freedom = sum(p.statistic for p in parts), sum(p.dof for p in parts)
    test = independence.ci_test(rows, 0, 1, [2])
    return every(
        statistic=near(test.statistic, statistic, tolerance=1e-8),
        freedom=equal(test.degrees_of_freedom, freedom),
        p_value=near(test.p_value, stats.chi2(freedom).sf(statistic), tolerance=1e-10),
    )


@oracle(f"{PATH}.structure.greedy_steps")
def moves_of_a_search(seed: int) -> Verdict:
    """Every move is the change from one graph to the next, and the best of all single changes without a cycle."""
    rng = np.random.default_rng(seed)
    table = {(i, frozenset(p)): float(rng.normal()) for i in range(3) for n in range(3)
             for p in combinations([j for j in range(3) if j != i], n)}  # fmt: skip
    moves = list(structure.greedy_steps(3, lambda i, parents: table[i, frozenset(parents)]))
    graphs = [{(p, child) for child, parents in move.parents.items() for p in parents} for move in moves]
    single_moves = []
    for move, (before, after) in zip(moves[1:], pairwise(graphs)):
        changes = {"add": after - before, "remove": before - after}
        edges = changes["remove"] if move.action == "remove" else changes["add"]
        assert move.edge is not None
        ends = {move.edge, move.edge[::-1]} if move.action == "reverse" else {move.edge}
        single_moves.append(len(edges) == 1 and edges <= ends)
    totals = [sum(table[i, frozenset(p for p, c in graph if c == i)] for i in range(3)) for graph in graphs]
    return every(
        edges=equal(single_moves, [True] * len(single_moves)),
        scores=near([move.score for move in moves], totals, tolerance=1e-9),
        rising=equal(all(b > a for a, b in pairwise(totals)), True),
        start=equal((moves[0].action, moves[0].edge, graphs[0]), ("start", None, set())),
    )
