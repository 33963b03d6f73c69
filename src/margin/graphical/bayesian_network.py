r"""Bayesian network learned from a table.

.. math:: p(x) = \prod_j p(x_j \mid x_{pa(j)})

Columns are read as states (categories, or intervals of numbers with a density inside), a graph is searched, and its
tables are the posterior means under a Dirichlet prior.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from itertools import islice, pairwise
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from margin.core.arguments import real, shown
from margin.core.domains import Array, Choice, Integer, Number, Optional
from margin.core.invariants import ArrayOf, Count, ListOf
from margin.core.notices import warn_user
from margin.core.parameters import attribute, parameter
from margin.core.randomness import RandomLike
from margin.graphical.approximate import APPROXIMATIONS, approximate_marginal
from margin.graphical.factors import Factor
from margin.graphical.graphs import Name, checked_graph
from margin.graphical.network import DiscreteNetwork
from margin.graphical.parameters import em_steps, fitted_network
from margin.graphical.scores import SCORES, FamilyScores
from margin.graphical.stored import tables_fit_the_graph
from margin.graphical.structure import Constraints, exact_search, greedy_search
from margin.neighbors.density.base import StateDensity
from margin.neighbors.density.stored import columns_are_states

__all__ = ["BayesianNetwork"]

MOST_SEARCHED = 2_000  # columns, all pairs of which a search of the structure rates: a minute or two


class BayesianNetwork(StateDensity):
    r"""A directed graph of the columns and a table for each, found by the score of the graph.

    Columns of strings and categorical ones are states as they are; so are columns of at most ``max_categories``
    different numbers, and others are cut into intervals (with a warning where they are integers). Missing entries (NaN)
    are allowed: the graph is searched on the rows in which a column and its parents are known, and the tables are then
    fitted by EM. Columns are asked for by number or by name.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a = rng.integers(2, size=500)
    >>> X = np.column_stack([a, np.where(rng.random(500) < 0.9, a, 1 - a), rng.integers(2, size=500)])
    >>> model = BayesianNetwork().fit(X)
    >>> sorted(model.edges_.ravel().tolist())
    [0, 1]
    >>> model.query([0], {1: 1}).values.argmax()
    np.int64(1)
    """

    structure: str = parameter(
        "greedy",
        Choice("greedy", "exact", "given"),
        "How the graph is found: step by step, as the best of all (at most 16 columns), or as required_edges say.",
    )
    _: KW_ONLY
    criterion: str = parameter(
        "bic", Choice(*SCORES), "Score of a graph; 'loglik' has no penalty and joins everything."
    )
    max_parents: int | None = parameter(3, Optional(Integer(low=0, search=(1, 5))), "Most parents of a column.")
    required_edges: Any = parameter(None, Optional(Array(ndim=2)), "Edges (parent, child), (m, 2), that the graph has.")
    forbidden_edges: Any = parameter(None, Optional(Array(ndim=2)), "Edges (parent, child), (m, 2), it must not have.")
    alpha: float = parameter(
        0.5, Number(low=0, search=(1e-2, 10.0), log=True), "Rows added to every entry of a table by the prior."
    )
    equivalent_sample_size: float = parameter(10.0, Number(above=0), "Rows that the prior of 'bdeu' is worth.")
    max_iter: int = parameter(50, Integer(low=1), "Most EM steps, where entries are missing.")
    tol: float = parameter(1e-4, Number(low=0), "EM ends when the mean log-likelihood rises by less.")

    parents_: list[np.ndarray] = attribute(
        ListOf(ArrayOf(None, kind="int64", low=0), "n_features"), "The parents of every column."
    )
    tables_: list[np.ndarray] = attribute(
        ListOf(ArrayOf(..., low=0, high=1), "n_features"),
        "For every column one axis per parent and a last one for its own states.",
    )
    n_iter_: int = attribute(Count(), "EM steps; 0 if nothing was missing.")

    _stored_rules = (
        columns_are_states,
        tables_fit_the_graph,
    )

    @property
    def edges_(self) -> np.ndarray:
        """The edges (parent, child) of the graph, (m, 2)."""
        pairs = [(int(p), child) for child, above in enumerate(self.parents_) for p in above]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)

    @property
    def network_(self) -> DiscreteNetwork:
        """The network of states, with columns as variables 0, 1, ..."""
        graph = {j: [int(p) for p in above] for j, above in enumerate(self.parents_)}
        return DiscreteNetwork(graph, dict(enumerate(self.tables_)))

    def fit(self, X: Any, y: Any = None) -> BayesianNetwork:
        """Search the graph and fill its tables; ``y`` is ignored."""
        before = dict(vars(self))
        try:
            return self._learn(X)
        except ValueError:  # a table too large shows only when columns and graph are known
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _learn(self, X: Any) -> BayesianNetwork:
        codes = self._learn_columns(X)
        self._tell_of_cut_integers(self._read(X))
        sizes = self._sizes()
        graph = self._graph(codes, sizes)
        network = fitted_network(graph, codes, sizes, self.alpha)
        self.n_iter_ = 0
        if (codes < 0).any():
            before = -np.inf
            for step in islice(em_steps(graph, codes, sizes, self.alpha, start=network), self.max_iter):
                network = step.network
                self.n_iter_ += 1
                if step.log_likelihood - before < self.tol * len(codes):
                    break
                before = step.log_likelihood
        self.parents_ = [np.array(graph[j], dtype=np.int64) for j in range(len(sizes))]
        self.tables_ = [network.tables[j] for j in range(len(sizes))]
        return self

    def query(
        self,
        columns: Sequence[int | str] | int | str,
        evidence: Mapping[Any, Any] | None = None,
        *,
        method: str = "exact",
        n_samples: int = 10_000,
        random_state: RandomLike = None,
    ) -> Factor:
        """The distribution of the states of ``columns`` given entries of other columns, in their own units.

        Columns are numbers or the names of the table of the fit; the factor has them as they were given, and
        :meth:`states` says what the entries of its axes stand for. ``method`` "exact" sums all other columns out;
        "likelihood_weighting" and "gibbs" estimate from ``n_samples`` drawn rows, and "mean_field" takes the nearest
        product of distributions, where exact tables would be too large.
        """
        if method not in ("exact", *APPROXIMATIONS):
            raise ValueError(
                f"BayesianNetwork.query: method must be one of exact, {', '.join(APPROXIMATIONS)}; got {method!r}."
            )
        if not Integer(low=1).accepts(n_samples):
            raise ValueError(f"BayesianNetwork.query: n_samples must be an integer at least 1; got {n_samples!r}.")
        check_is_fitted(self)
        asked = [columns] if isinstance(columns, str | int | np.integer) else list(columns)
        given = {self._column(name): self._state(self._column(name), value) for name, value in (evidence or {}).items()}
        numbers = [self._column(name) for name in asked]
        if method == "exact":
            answer = self.network_.query(numbers, given)
        else:
            answer = approximate_marginal(self.network_, numbers, given, method, n_samples, random_state)
        names = {self._column(name): name for name in asked}
        return Factor.of_checked(tuple(names[int(j)] for j in answer.variables), answer.values)

    def states(self, column: int | str) -> list[Any]:
        """What the states of a column are: its labels, its values, or the (lower, upper) ends of its intervals."""
        check_is_fitted(self)
        j = self._column(column)
        if self.labels_[j]:
            return [self.labels_[j][int(code)] for code in self.values_[j]]
        if len(self.values_[j]):
            return self.values_[j].tolist()
        return list(pairwise([-np.inf, *self.cuts_[j].tolist(), np.inf]))

    def _column(self, name: Any) -> int:
        """The number of a column, which may be called by its name."""
        names = list(getattr(self, "feature_names_in_", []))
        if isinstance(name, str) and name in names:
            return names.index(name)
        if isinstance(name, int | np.integer) and not isinstance(name, bool) and 0 <= name < self.n_features_in_:
            return int(name)
        known = f"; there are {shown(names)}" if names else f"; there are {self.n_features_in_}"
        raise ValueError(f"BayesianNetwork.query: there is no column {name!r}{known}.")

    def _state(self, j: int, value: Any) -> int:
        """The state of column ``j`` that ``value`` lies in."""
        column, labels = self._columns()[j], self.labels_[j]
        if labels:
            number = float(labels.index(str(value))) if str(value) in labels else np.nan
        else:
            number = real("BayesianNetwork.query", f"the value of column {j}", value)
        state = int(column.codes(np.array([number]))[0])
        if not 0 <= state < column.size:
            raise ValueError(f"BayesianNetwork.query: column {j} never had the value {value!r}.")
        return state

    def _tell_of_cut_integers(self, X: np.ndarray) -> None:
        cut = [j for j, values in enumerate(self.values_) if not len(values)]
        kept = [j for j in cut if not (X[:, j][~np.isnan(X[:, j])] % 1).any()]
        if kept:
            names = getattr(self, "feature_names_in_", None)
            counts = [len(np.unique(X[:, j][~np.isnan(X[:, j])])) for j in kept]
            warn_user(
                f"BayesianNetwork: column {kept[0] if names is None else repr(str(names[kept[0]]))} has {counts[0]} "
                f"different integers and is cut into {self._columns()[kept[0]].size} intervals"
                f"{'' if len(kept) == 1 else f', as are {len(kept) - 1} more'}; max_categories={max(counts)} keeps "
                "integers as states."
            )

    def impute(self, X: Any) -> Any:
        """``X`` with every missing entry replaced: by the most probable category, or the middle of an interval."""
        check_is_fitted(self)
        X = self._read(X).copy()
        network, columns = self.network_, self._columns()
        for row in X:
            missing = np.flatnonzero(np.isnan(row))
            if len(missing) == 0:
                continue
            known = {j: int(columns[j].codes(row[j : j + 1])[0]) for j in range(len(row)) if j not in set(missing)}
            known = {j: code for j, code in known.items() if code < columns[j].size}
            for j in missing:
                row[j] = _typical(columns[j], int(network.query([int(j)], known).values.argmax()))
        return self._name_columns(X)

    def _graph(self, codes: np.ndarray, sizes: list[int]) -> dict[int, tuple[int, ...]]:
        n = len(sizes)
        required, forbidden = (self._edges(name, n) for name in ("required_edges", "forbidden_edges"))
        if self.structure == "given":
            graph = {j: tuple(sorted(p for p, child in required if child == j)) for j in range(n)}
            checked_graph(graph)
            return graph
        if n > MOST_SEARCHED:
            raise ValueError(
                f"BayesianNetwork: a search of the structure compares all pairs of at most {MOST_SEARCHED:,} columns; "
                f"got {n:,}; take fewer, or give the edges (structure='given')."
            )
        local = FamilyScores(codes, sizes, self.criterion, self.equivalent_sample_size)
        rules = Constraints(required, forbidden, self.max_parents)
        search = exact_search if self.structure == "exact" else greedy_search
        return search(n, local, rules)

    def _edges(self, name: str, n: int) -> list[tuple[int, int]]:
        given = getattr(self, name)
        if given is None:
            return []
        pairs = np.asarray(given)
        fits = pairs.ndim == 2 and pairs.shape[1] == 2 and np.all(pairs == pairs.astype(np.int64))
        if not fits or pairs.min(initial=0) < 0 or pairs.max(initial=0) >= n or (pairs[:, 0] == pairs[:, 1]).any():
            raise ValueError(f"BayesianNetwork: {name} must be pairs of different columns below {n}, shape (m, 2).")
        return [(int(a), int(b)) for a, b in pairs]

    def _log_prob(self, codes: np.ndarray) -> np.ndarray:
        network = self.network_
        result = np.empty(len(codes))
        known = (codes >= 0).all(axis=1)
        result[known] = network.log_prob(codes[known])
        if not known.all():
            patterns, which = np.unique(codes[~known], axis=0, return_inverse=True)
            result[~known] = np.array([network.log_evidence(_known_states(row)) for row in patterns])[which.ravel()]
        return result

    def _draw_states(self, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        return self.network_.sample(n_samples, rng)


def _known_states(row: np.ndarray) -> dict[Name, int]:
    return {j: int(code) for j, code in enumerate(row) if code >= 0}


def _typical(column: Any, state: int) -> float:
    """A value that stands for a state: the category, the middle of an interval, or the mean of a tail."""
    if column.is_category:
        return float(column.values[state])
    if state == 0:
        return float(column.cuts[0] - column.scales[0])
    if state == column.size - 1:
        return float(column.cuts[-1] + column.scales[1])
    return float(column.cuts[state - 1 : state + 1].mean())
