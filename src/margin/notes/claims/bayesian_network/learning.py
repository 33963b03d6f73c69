"""Scores and searches, and models on chains and grids."""

from __future__ import annotations

import warnings
from itertools import islice, product
from typing import Any

import numpy as np
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.foundations.statistics import bic
from margin.graphical import GaussianHMM
from margin.graphical.crf import LinearChainCRF
from margin.graphical.fields import MarkovRandomField, ising_grid
from margin.graphical.graphs import is_acyclic, skeleton
from margin.graphical.hidden_markov import HiddenMarkovModel, baum_welch
from margin.graphical.network import DiscreteNetwork
from margin.graphical.parameters import fitted_network
from margin.graphical.scores import FamilyScores, structure_score
from margin.graphical.structure import greedy_search, greedy_steps
from margin.notes.claims import claim
from margin.text.chain import TagChain, decode_chain
from margin.text.taggers import CRFTagger, HMMTagger

EXAMPLE = DiscreteNetwork(
    {0: [], 1: [0], 2: [0]}, {0: [0.4, 0.6], 1: [[0.8, 0.2], [0.3, 0.7]], 2: [[0.1, 0.9], [0.6, 0.4]]}
)
TWO = (2, 2, 2)


@claim("bn-structure-score")
def scores_are_sums_and_only_grow_without_a_penalty(seed: int) -> Verdict:
    n = 500
    rows = EXAMPLE.sample(n, seed)
    fitted = fitted_network(EXAMPLE.parents, rows, TWO, alpha=0.0)
    likelihood = float(fitted.log_prob(rows).sum())
    local, bare = FamilyScores(rows, TWO, "bic"), FamilyScores(rows, TWO, "loglik")
    total = structure_score(EXAMPLE.parents, rows, TWO, "bic")
    gains = [
        bare(i, frozenset(p | {j})) - bare(i, frozenset(p)) for i, j, p in ((1, 2, {0}), (2, 1, set()), (0, 1, {2}))
    ]
    by_edges = likelihood - np.log(n) / 2 * 2
    return corrected(
        every(
            likelihood=near(structure_score(EXAMPLE.parents, rows, TWO, "loglik"), likelihood, tolerance=1e-8),
            sum_of_local=near(total, sum(local(i, frozenset(p)) for i, p in EXAMPLE.parents.items()), tolerance=1e-9),
            penalty_counts_parameters=near(total, likelihood - np.log(n) / 2 * fitted.n_parameters, tolerance=1e-8),
            an_edge_never_lowers_it=above(min(gains), -1e-9),
        ),
        penalty_counts_edges=near(total, by_edges, tolerance=1e-3),
    )


@claim("bic")
def bic_finds_the_true_degree(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    n = 2000
    x = rng.uniform(-1, 1, n)
    y = 1 - 2 * x + 3 * x**3 + rng.normal(scale=0.5, size=n)
    values = []
    for degree in range(8):
        residual = y - np.polynomial.Polynomial.fit(x, y, degree)(x)
        variance = float(np.mean(residual**2))
        values.append(bic(-0.5 * n * (np.log(2 * np.pi * variance) + 1), degree + 2, n))
    rows = EXAMPLE.sample(5000, seed)
    graph = greedy_search(3, FamilyScores(rows, TWO, "bic"))
    return every(
        formula=near(bic(-10.0, 3, 50), 3 * np.log(50) + 20, tolerance=1e-12),
        degree=equal(int(np.argmin(values)), 3),
        network=equal(skeleton(graph) == skeleton(EXAMPLE.parents), True),
    )


@claim("bn-greedy-search")
def greedy_search_recovers_the_skeleton(seed: int) -> Verdict:
    rows = EXAMPLE.sample(5000, seed)
    moves = list(greedy_steps(3, FamilyScores(rows, TWO, "bic")))
    return every(
        skeleton=equal(skeleton(moves[-1].parents) == skeleton(EXAMPLE.parents), True),
        climbs=above(float(np.diff([move.score for move in moves]).min()), 0.0),
        starts_empty=equal(sum(map(len, moves[0].parents.values())), 0),
        acyclic=equal(all(is_acyclic(move.parents) for move in moves), True),
    )


@claim("claim-no-penalty-full-graph")
def without_a_penalty_everything_is_joined(seed: int) -> Verdict:
    rows = np.random.default_rng(seed).integers(2, size=(300, 5))
    bare = greedy_search(5, FamilyScores(rows, (2,) * 5, "loglik"))
    penalized = greedy_search(5, FamilyScores(rows, (2,) * 5, "bic"))
    return every(
        complete=equal(sum(map(len, bare.values())), 10),
        acyclic=equal(is_acyclic(bare), True),
        fewer_with_a_penalty=below(sum(map(len, penalized.values())), 4),
    )


@claim("markov-random-field")
def gibbs_matches_exact_marginals(seed: int) -> Verdict:
    field = ising_grid(3, 3, 0.3, 0.15)
    states = np.array(list(product([0, 1], repeat=9)))
    weights = np.exp(field.log_potential(states) - field.log_partition())
    exact = weights @ states
    eliminated = [field.marginal([v]).values[1] for v in field.variables]
    rows = MarkovRandomField(field.potentials).sample(6000, seed)
    return every(
        normalized=near(weights.sum(), 1.0, tolerance=1e-12),
        elimination=near(eliminated, exact, tolerance=1e-12),
        gibbs=near(rows.mean(axis=0), exact, tolerance=0.035),
    )


def _paths(potentials: tuple[np.ndarray, np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """All paths of states and the sum of their log-potentials."""
    emissions, transition, start = potentials
    length, k = emissions.shape
    paths = np.array(list(product(range(k), repeat=length)))
    scores = start[paths[:, 0]] + emissions[np.arange(length), paths].sum(axis=1)
    return paths, scores + transition[paths[:, :-1], paths[:, 1:]].sum(axis=1)


def _decode(potentials: tuple[np.ndarray, np.ndarray, np.ndarray]) -> list[int]:
    """The best path by the compiled form that taggers run."""
    emissions, transition, start = potentials
    chain = TagChain(start, transition, np.zeros(len(start)))
    return decode_chain(emissions, np.array([len(emissions)]), chain)[0].tolist()


@claim("hidden-markov-model")
def sums_over_paths_and_baum_welch(seed: int) -> Verdict:
    model = HiddenMarkovModel.random(3, 4, seed)
    symbols, _ = model.sample(6, seed)
    paths, scores = _paths(model.log_potentials(symbols))

    def score_of(path: Any) -> float:  # paths with the same steps in another order tie
        return float(scores[(paths == np.asarray(path)).all(axis=1)].item())

    sequences = [model.sample(60, 10 * seed + i)[0] for i in range(4)]
    steps = list(islice(baum_welch(sequences, HiddenMarkovModel.random(3, 4, seed + 99)), 15))
    climb = np.diff([step.log_likelihood for step in steps])
    drawn = [model.sample(12, 10 * seed + i) for i in range(30)]
    tagger = HMMTagger().fit(*([[f"w{s}" for s in part[k]] for part in drawn] for k in (0, 1)))
    return every(
        likelihood=near(model.log_prob(symbols), np.logaddexp.reduce(scores), tolerance=1e-10),
        as_run=near(score_of(_decode(model.log_potentials(symbols))), scores.max(), tolerance=1e-10),
        counted=near(np.exp(tagger.between_).sum(axis=1) + np.exp(tagger.last_), np.ones(3), tolerance=1e-12),
        viterbi=near(score_of(model.decode(symbols)), scores.max(), tolerance=1e-10),
        em_never_falls=above(float(climb.min()), -1e-8),
        em_rises=above(float(climb.sum()), 0.1),
        **_normal_emissions(seed),
    )


def _normal_emissions(seed: int) -> dict[str, Verdict]:
    """The same for states that emit numbers, against all paths and SciPy's law."""
    rng = np.random.default_rng([seed, 7])
    X = rng.normal(size=(60, 2)) + np.where(np.arange(60) % 20 < 9, -2.0, 1.5)[:, None] * [1.0, 0.4]
    model = GaussianHMM(2, reg_covar=0, covariance_type="full", tol=0, max_iter=12, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        climb = np.diff([record["log_likelihood"] for record in model.iterate(X, lengths=[35, 25])])
    emissions = np.column_stack(
        [multivariate_normal.logpdf(X[:7], *law) for law in zip(model.means_, model.covariances_)]
    )
    with np.errstate(divide="ignore"):
        paths, scores = _paths((emissions, np.log(model.transmat_), np.log(model.startprob_)))
    return {
        "normal_likelihood": near(model.score_samples(X[:7]).sum(), np.logaddexp.reduce(scores), tolerance=1e-9),
        "normal_path": near(float(np.mean(model.predict(X[:7]) == paths[scores.argmax()])), 1.0, tolerance=0),
        "normal_em_never_falls": above(float(climb.min()), -1e-10),
    }


@claim("conditional-random-field")
def fields_given_inputs(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    labels = [np.repeat(rng.integers(0, 3, 4), 3) for _ in range(10)]
    sequences = [np.eye(3)[y] + rng.normal(scale=0.8, size=(len(y), 3)) for y in labels]
    model = LinearChainCRF.fit(sequences, labels, max_iter=60)
    x, y = sequences[0][:5], labels[0][:5]
    paths, scores = _paths(model.log_potentials(x))
    at = int(np.flatnonzero((paths == y).all(axis=1))[0])
    words = [[f"w{np.argmax(row)}" for row in sequence] for sequence in sequences]
    tagger = CRFTagger(max_iter=500).fit(words, [[str(label) for label in y] for y in labels])
    tagged = np.mean([np.mean(np.array(a, dtype=int) == b) for a, b in zip(tagger.predict(words), labels)])
    before = LinearChainCRF(np.zeros((3, 3)), np.zeros((3, 3)), np.zeros(3))
    fitted, flat = (sum(m.log_prob(a, b) for a, b in zip(sequences, labels)) for m in (model, before))
    return every(
        likelihood=near(model.log_prob(x, y), scores[at] - np.logaddexp.reduce(scores), tolerance=1e-10),
        as_run=equal(_decode(model.log_potentials(x)), model.predict(x).tolist()),
        tagger_learns=above(float(tagged), 0.6),
        viterbi=equal(model.predict(x).tolist(), paths[scores.argmax()].tolist()),
        training_helps=above(fitted - flat, 20.0),
    )
