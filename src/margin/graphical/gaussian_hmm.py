r"""Hidden Markov model without labels: sequences of numbers, each row emitted by a hidden state that moves in time.

.. math:: p(x) = \sum_z \pi_{z_1} \prod_{t>1} A_{z_{t-1} z_t} \prod_t \mathcal{N}(x_t \mid \mu_{z_t}, \Sigma_{z_t})
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from margin.core.domains import Array, Choice, Either, Flag, Integer, Number, Optional, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.invariants import ArrayOf, Count, OneOf, Real, TrueOrFalse
from margin.core.notices import warn_user
from margin.core.number_range import validate_squarable
from margin.core.parameters import VERBOSE, attribute, parameter
from margin.core.randomness import RandomLike, as_generator
from margin.core.records import Record
from margin.foundations.statistics.criteria import aic, bic
from margin.graphical.chains import chain_posteriors
from margin.graphical.gaussian_chain import ChainParameters, ChainRestarts, best_states, log_predictive, named_refusals
from margin.graphical.hidden_markov import draw_path
from margin.graphical.stored import rows_are_distributions
from margin.mixture.covariances import SHAPES

__all__ = ["GaussianHMM"]

SUM_TOLERANCE = 1e-6


class GaussianHMM(DensityMixin, IterativeEstimator):
    r"""A Markov chain of hidden states with normal emissions by maximum likelihood (Baum-Welch, which is EM).

    The rows of X are steps in time. Several sequences stand one after another, and ``lengths`` says how many rows each
    has; without it X is one sequence. The log-likelihood never decreases with ``reg_covar=0``; it has many maxima, of
    which the best of ``n_init`` runs is kept. A step that ``transmat_init`` gives the probability 0 stays impossible.
    Records carry ``log_likelihood`` (of a row, in the mean), ``change`` and ``run``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> states = np.repeat([0, 1, 0, 1], 25)
    >>> X = (np.where(states == 0, -2.0, 3.0) + rng.normal(size=100))[:, None]
    >>> model = GaussianHMM(2, random_state=0).fit(X)
    >>> low = int(model.means_.argmin())
    >>> float(np.mean((model.predict(X) == low) == (states == 0))), bool(model.transmat_.diagonal().min() > 0.9)
    (1.0, True)
    """

    n_components: int = parameter(1, Integer(low=1, search=(1, 10)), "Number of hidden states.")
    _: KW_ONLY
    covariance_type: str = parameter(
        "diag",
        Choice("full", "tied", "diag", "spherical"),
        'Shape of the covariances: any, one for all ("tied"), diagonal, or a multiple of the identity.',
    )
    tol: float = parameter(1e-4, Number(low=0), "A run ends when the mean log-likelihood of a row changes by less.")
    reg_covar: float = parameter(1e-6, Number(low=0), "Added to the diagonal of covariances.")
    max_iter: int = parameter(100, Integer(low=0), "Most iterations of a run; 0 stays at its start.")
    n_init: int = parameter(1, Integer(low=1), "Number of runs, of which the best is kept.")
    init_params: str = parameter(
        "kmeans",
        Choice("kmeans", "k-means++", "random", "random_from_data"),
        'Where the first responsibilities come from: clusters, drawn rows, or "random" numbers.',
    )
    startprob_init: Any = parameter(
        None, Optional(Array(ndim=1)), "First probabilities of the state in which a sequence starts; None: equal."
    )
    transmat_init: Any = parameter(
        None,
        Optional(Array(ndim=2)),
        "First probabilities of the next state (column) after each state (row); None: counted.",
    )
    means_init: Any = parameter(
        None, Optional(Array(ndim=2)), "First means, (n_components, p): every row begins with the nearest of them."
    )
    random_state: RandomLike = parameter(None, Seed(), "Draws the first responsibilities.")
    verbose: int = parameter(0, Either(Flag(), Integer(low=0)), VERBOSE)

    startprob_: np.ndarray = attribute(
        ArrayOf("n_components", low=0), "Probabilities of the state in which a sequence starts, (n_components,)."
    )
    transmat_: np.ndarray = attribute(
        ArrayOf("n_components", "n_components", low=0),
        "Probabilities of the next state (column) after each state (row).",
    )
    means_: np.ndarray = attribute(ArrayOf("n_components", "n_features"), "Means of the states, (n_components, p).")
    covariances_: np.ndarray = attribute(
        OneOf(
            ArrayOf("n_components", "n_features", "n_features"),
            ArrayOf("n_features", "n_features"),
            ArrayOf("n_components", "n_features"),
            ArrayOf("n_components"),
        ),
        "Covariances in the shape of covariance_type.",
    )
    log_likelihood_: float = attribute(Real(), "Mean log-likelihood of a training row under exactly these parameters.")
    lower_bounds_: np.ndarray = attribute(
        ArrayOf("n_iterations"), "The same after each iteration of the best run, (n_iter_,)."
    )
    converged_: bool = attribute(TrueOrFalse(), "Whether the best run ended before max_iter.")
    n_iter_: int = attribute(Count(), "Iterations of the best run.")

    _stored_rules = (rows_are_distributions,)
    _may_be_empty = ("n_iterations",)

    log_density_kind = "exact"

    def fit(self, X: Any, y: Any = None, lengths: Any = None) -> GaussianHMM:
        """Learn from the sequences in ``X``, of ``lengths`` rows each; ``y`` is ignored."""
        return self._consume(self.iterate(X, y, lengths), X, y)

    def iterate(
        self, X: Any, y: Any = None, lengths: Any = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn from the sequences in ``X``, yielding a record per EM step of every run; ``y`` is ignored."""
        self._check_parameters()
        X = validate_squarable(self, X, dtype=[np.float64, np.float32], order="C", ensure_min_samples=2)
        self._check_start(X.shape[1])
        if len(X) < self.n_components:
            raise ValueError(f"GaussianHMM: n_components={self.n_components} needs as many rows; got {len(X)}.")
        self._loop = loop = ChainRestarts(self, X, _ends(lengths, len(X)))
        if state is not None:
            loop.restore(state)
        for record in loop.iterations():
            self._learn(loop)
            yield record
        self._learn(loop)
        if not self.converged_ and self.max_iter > 0:
            warn_user(
                f"GaussianHMM: EM has not converged after max_iter={self.max_iter} iterations.", ConvergenceWarning
            )

    def fit_predict(self, X: Any, y: Any = None, lengths: Any = None) -> np.ndarray:
        """Fit, and the most probable path of states."""
        return self.fit(X, y, lengths).predict(X, lengths)

    def predict(self, X: Any, lengths: Any = None) -> np.ndarray:
        """The most probable path of states through every sequence, by Viterbi's algorithm."""
        potentials, ends = self._read(X, lengths)
        return best_states(*potentials, ends)

    def predict_proba(self, X: Any, lengths: Any = None) -> np.ndarray:
        """The probability of every state at each row given its whole sequence, (n, n_components)."""
        (emissions, transition, start), ends = self._read(X, lengths)
        return chain_posteriors(emissions, ends, transition, start)[1]

    def score_samples(self, X: Any, lengths: Any = None) -> np.ndarray:
        """The exact log-density of every row given the rows of its sequence before it, in nats.

        Their sum over a sequence is its log-likelihood.
        """
        potentials, ends = self._read(X, lengths)
        return log_predictive(*potentials, ends)

    def score(self, X: Any, y: Any = None, lengths: Any = None) -> float:
        """The mean log-density of a row: the log-likelihood of the sequences over their rows."""
        return float(self.score_samples(X, lengths).mean())

    def sample(self, n_samples: int = 1, random_state: RandomLike = None, *, return_states: bool = False) -> Any:
        """One new sequence of ``n_samples`` rows; with ``return_states`` also the states behind them."""
        check_is_fitted(self)
        if not Integer(low=1).accepts(n_samples):
            raise ValueError(f"GaussianHMM.sample: n_samples must be an integer at least 1; got {n_samples!r}.")
        rng, components = as_generator(random_state), self._chain().components
        states = draw_path(self.startprob_, self.transmat_, int(n_samples), rng)
        rows = rng.standard_normal((int(n_samples), self.means_.shape[1]))
        for k, mean in enumerate(self.means_):
            rows[states == k] = rows[states == k] @ components.root(k).T + mean
        return (rows, states) if return_states else rows

    def aic(self, X: Any, lengths: Any = None) -> float:
        r"""Akaike information criterion :math:`-2 \log p(X) + 2 m` with m free parameters; lower is better."""
        return aic(float(self.score_samples(X, lengths).sum()), self._n_parameters())

    def bic(self, X: Any, lengths: Any = None) -> float:
        r"""Bayesian information criterion :math:`-2 \log p(X) + m \log n`; lower is better."""
        scores = self.score_samples(X, lengths)
        return bic(float(scores.sum()), self._n_parameters(), len(scores))

    def _n_parameters(self) -> int:
        k, d = self.means_.shape
        return SHAPES[self.covariance_type].n_parameters(k, d) + k * d + (k - 1) * (k + 1)

    def _chain(self) -> ChainParameters:
        offset = self.means_.mean(axis=0)
        with named_refusals():
            components = SHAPES[self.covariance_type](self.means_ - offset, self.covariances_)
        return ChainParameters(self.startprob_, self.transmat_, components, offset)

    def _read(self, X: Any, lengths: Any) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
        check_is_fitted(self)
        X = validate_squarable(self, X, reset=False, dtype=[np.float64, np.float32], order="C")
        return self._chain().log_potentials(X), _ends(lengths, len(X))

    def _learn(self, loop: ChainRestarts) -> None:
        shown = loop.shown()
        chain: Any = shown.mixture
        self.startprob_, self.transmat_ = chain.start.copy(), chain.transition.copy()
        self.means_ = chain.components.means + chain.offset
        self.covariances_ = np.array(chain.components.covariances)
        self.log_likelihood_ = shown.log_likelihood
        self.lower_bounds_ = np.array(shown.bounds)
        self.converged_, self.n_iter_ = shown.converged, shown.iteration

    def _check_start(self, d: int) -> None:
        k = self.n_components
        for name, shape in (("startprob_init", (k,)), ("transmat_init", (k, k)), ("means_init", (k, d))):
            value = getattr(self, name)
            if value is None:
                continue
            given = np.asarray(value, dtype=float)
            if given.shape != shape:
                raise ValueError(f"GaussianHMM: {name} must be finite numbers of shape {shape}; got {given.shape}.")
            if not np.isfinite(given).all():
                raise ValueError(f"GaussianHMM: {name} must be finite numbers; got {given.tolist()}.")
            if name != "means_init" and (given.min() < 0 or np.abs(given.sum(axis=-1) - 1).max() > SUM_TOLERANCE):
                raise ValueError(f"GaussianHMM: {name} must be probabilities that sum to 1 on the last axis.")


def _ends(lengths: Any, n: int) -> np.ndarray:
    """Where the sequences stop."""
    if lengths is None:
        return np.array([n])
    each = np.asarray(lengths)
    counts = each.ndim == 1 and each.dtype.kind in "iu" and each.size and each.min() >= 1
    if not counts or each.max() > n or each.sum() != n:  # a sum of larger ones could wrap around
        raise ValueError(
            f"GaussianHMM: lengths must be integers from 1 that add up to the {n} rows of X; got {lengths!r}."
        )
    return np.cumsum(each, dtype=np.int64)
