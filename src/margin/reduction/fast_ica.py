r"""Independent component analysis: sources that were mixed, found again from the mixtures alone.

.. math:: x = A s + \mu, \qquad \hat s = W K (x - \mu)

with K whitening the rows and W a rotation that makes the sources as far from normal as possible.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.core.domains import Array, Choice, Either, Function, Integer, Number, Optional, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.invariants import ArrayOf, Count, sometimes
from margin.core.notices import warn_user
from margin.core.number_range import finite_values, power_of_two
from margin.core.parameters import attribute, parameter
from margin.core.randomness import RandomLike, as_generator
from margin.core.records import Record
from margin.reduction.distances import METRIC_PARAMS
from margin.reduction.independent import CONTRASTS, contrast_of, deflation_step, fast_ica_step, orthonormal_rows
from margin.reduction.principal import principal_components
from margin.reduction.scatter import centered_product

__all__ = ["FastICA"]

# A direction with less than this fraction of the largest variance is rounding: whitening would blow it up to a source.
SMALLEST_FRACTION = 1e-12
COUNTS = ("iteration", "tried", "done", "most", "unsettled")


class FastICA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, IterativeEstimator):
    r"""Independent components by FastICA.

    Order and signs of the sources are not determined by the data. Records carry ``turn``, the largest 1 - |cosine|
    between old and new directions.

    >>> rng = np.random.default_rng(0)
    >>> S = rng.uniform(-1, 1, size=(1000, 2))
    >>> found = FastICA(random_state=0).fit_transform(S @ [[1.0, 0.5], [0.3, 1.0]])
    >>> bool((np.abs(np.corrcoef(S.T, found.T)[:2, 2:]).max(axis=1) > 0.99).all())
    True
    """

    n_components: int | None = parameter(
        None,
        Optional(Integer(low=1, search=(2, 20))),
        "Number of sources; None is the rank of the centered rows. Not used with whiten=False.",
    )
    _: KW_ONLY
    algorithm: str = parameter(
        "parallel", Choice("parallel", "deflation"), "All sources at once, or one after the other."
    )
    whiten: Any = parameter(
        "unit-variance",
        Either(Choice("unit-variance", "arbitrary-variance"), Choice(False)),
        "Sources of variance one, of variance 1 / n, or False for rows that are white already.",
    )
    fun: Any = parameter(
        "logcosh",
        Either(Choice(*CONTRASTS), Function("the projections")),
        "Derivative of the contrast: 'logcosh', 'exp' (robust, for heavy tails), 'cube' (kurtosis), or a function that "
        "gives its values and slopes.",
    )
    fun_args: dict[str, Any] | None = parameter(
        None, Optional(METRIC_PARAMS), "Further arguments of ``fun``: {'alpha': 1.0} of 'logcosh'."
    )
    max_iter: int = parameter(200, Integer(low=1), "Most iterations (of each source in turn by 'deflation').")
    tol: float = parameter(1e-4, Number(low=0), "Largest turn, in 1 - |cosine|, at which a fit ends.")
    w_init: Any = parameter(None, Optional(Array(ndim=2)), "Start of the rotation, (k, k); None is random.")
    whiten_solver: str = parameter(
        "svd", Choice("svd", "eigh"), "Whitening by the rows themselves, or faster by their covariance."
    )
    random_state: RandomLike = parameter(None, Seed(), "Draws a random start.")

    components_: np.ndarray = attribute(ArrayOf("n_components", "n_features"), "The unmixing matrix, (k, p).")
    mixing_: np.ndarray = attribute(ArrayOf("n_features", "n_components"), "Its pseudo-inverse, (p, k).")
    mean_: np.ndarray = attribute(sometimes(ArrayOf("n_features")), "Mean of the rows, if they were whitened.")
    whitening_: np.ndarray = attribute(
        sometimes(ArrayOf("n_components", "n_features")), "The whitening matrix, (k, p), if there was one."
    )
    n_iter_: int = attribute(Count(), "Iterations, the most of any source by 'deflation'.")

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn, yielding a record per step of the rotation; ``y`` is ignored."""
        self._check_parameters()
        X = validate_data(self, X, dtype=np.float64, order="C", ensure_min_samples=2)
        unit = power_of_two(np.abs(X).max()) if self.whiten else 1.0  # whitened rows do not depend on it
        X = X if unit == 1 else X / unit
        mean, K = self._whitening(X)
        self._loop = loop = _Rotation(self, len(K))
        if state is not None:
            loop.restore(state)
        Z = np.ascontiguousarray(centered_product(X, mean, K.T).T)  # (k, n)
        mean, K = mean * unit, K / unit
        self._learn(loop, mean, K, len(X))
        while not loop.over:
            turn = loop.step(Z)
            self._learn(loop, mean, K, len(X))
            yield Record(loop.iteration, {"turn": turn}, total=self.max_iter)
        if loop.unsettled:
            warn_user(
                f"FastICA: the rotation still turned by more than tol={self.tol:g} after max_iter={self.max_iter} "
                "iterations.",
                ConvergenceWarning,
            )

    def transform(self, X: Any) -> np.ndarray:
        """The sources of new rows, (n, n_components)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64, order="C")
        return finite_values("FastICA", "X", X, lambda: centered_product(X, self._offset(), self.components_.T))

    def inverse_transform(self, S: Any) -> np.ndarray:
        """The mixtures of these sources."""
        check_is_fitted(self)
        S = np.asarray(S, dtype=np.float64)
        if S.ndim != 2 or S.shape[1] != len(self.components_):
            raise ValueError(f"FastICA: S must have {len(self.components_)} columns; got shape {S.shape}.")
        return S @ self.mixing_.T + self._offset()

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _offset(self) -> np.ndarray:
        return self.mean_ if self.whiten else np.zeros(self.components_.shape[1])

    def _whitening(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The mean and K (k, p), whose rows make the leading principal coordinates have variance one."""
        if not self.whiten:
            if self.n_components not in (None, X.shape[1]):
                warn_user(
                    f"FastICA: whiten=False leaves all {X.shape[1]} columns; got n_components={self.n_components}.",
                    UserWarning,
                )
            return np.zeros(X.shape[1]), np.eye(X.shape[1])
        principal = principal_components(X, solver="full" if self.whiten_solver == "svd" else "covariance_eigh")
        rank = int((principal.variances > SMALLEST_FRACTION * principal.variances[0]).sum())
        k = rank if self.n_components is None else self.n_components
        # Centered rows span at most n - 1 dimensions: only a rank below both numbers says something about the columns.
        if self.n_components is None and rank < min(len(X) - 1, X.shape[1]):
            warn_user(
                f"FastICA: some singular values of the centered rows are zero up to rounding; the other {rank} give as "
                "many sources.",
                UserWarning,
            )
        if not 1 <= k <= rank:
            raise ValueError(f"FastICA: the centered rows of X have rank {rank}; got n_components={self.n_components}.")
        return principal.mean, principal.components[:k] / np.sqrt(principal.variances[:k, None])

    def _learn(self, loop: _Rotation, mean: np.ndarray, K: np.ndarray, n: int) -> None:
        self.components_ = loop.W @ K
        if self.whiten == "arbitrary-variance":
            self.components_ = self.components_ / np.sqrt(n)
        if self.whiten:
            self.mean_, self.whitening_ = mean, K / np.sqrt(n)
        self.mixing_ = np.linalg.pinv(self.components_)
        self.n_iter_ = loop.most


class _Rotation:
    """The running fit: where the rotation stands, and by 'deflation' how many rows of it are final."""

    def __init__(self, model: FastICA, k: int):
        self.model, self.contrast = model, contrast_of(model.fun, model.fun_args)
        self.by_rows = model.algorithm == "deflation"
        start = as_generator(model.random_state).normal(size=(k, k)) if model.w_init is None else np.array(model.w_init)
        if start.shape != (k, k):
            raise ValueError(f"FastICA: w_init must have the shape {(k, k)}; got {start.shape}.")
        self.W = start.astype(np.float64) if self.by_rows else orthonormal_rows(start)
        # iteration counts records, tried those of the rows at work, most is the largest such count, unsettled counts
        # rows that had to be left before they settled.
        self.iteration = self.tried = self.done = self.most = self.unsettled = 0
        if self.by_rows:
            self._clean()

    @property
    def over(self) -> bool:
        return self.done == len(self.W)

    def step(self, Z: np.ndarray) -> float:
        rows = slice(self.done, self.done + 1) if self.by_rows else slice(None)
        before = self.W[rows].copy()
        if self.by_rows:
            self.W[self.done] = deflation_step(self.W[self.done], self.W[: self.done], Z, self.contrast)
        else:
            self.W = fast_ica_step(self.W, Z, self.contrast)
        # Rows may come back with the opposite sign: that is the same source.
        turn = float(np.max(np.abs(1 - np.abs(np.einsum("ij,ij->i", self.W[rows], before)))))
        self.iteration, self.tried = self.iteration + 1, self.tried + 1
        self.most = max(self.most, self.tried)
        settled = turn <= self.model.tol
        if settled or self.tried >= self.model.max_iter:
            self.unsettled += not settled
            self.done, self.tried = self.done + 1 if self.by_rows else len(self.W), 0
            if self.by_rows and not self.over:
                self._clean()
        return turn

    def _clean(self) -> None:
        """The row at work without its part along those that are final; the ones after it stay a usable guess."""
        row, others = self.W[self.done], self.W[: self.done]
        row = row - others.T @ (others @ row)
        self.W[self.done] = row / np.linalg.norm(row)

    def state(self) -> dict[str, Any]:
        return {"W": self.W.copy()} | {name: getattr(self, name) for name in COUNTS}

    def restore(self, state: dict[str, Any]) -> None:
        if state["W"].shape != self.W.shape:
            raise ValueError(f"FastICA: state belongs to {len(state['W'])} sources; got {len(self.W)}.")
        self.W = state["W"].copy()
        for name in COUNTS:
            setattr(self, name, int(state[name]))
