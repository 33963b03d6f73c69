r"""Independent component analysis: sources that were mixed, found again from the mixtures alone.

.. math:: x = A s + \mu, \qquad \hat s = W K (x - \mu)

with K whitening the rows and W a rotation that makes the sources as far from normal as possible.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.core.domains import Choice, Integer, Number, Optional, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.notices import warn_user
from margin.core.randomness import as_generator
from margin.core.records import Record
from margin.reduction.independent import CONTRASTS, fast_ica_step, orthonormal_rows
from margin.reduction.principal import principal_components
from margin.reduction.scatter import centered_product

__all__ = ["FastICA"]

# A direction with less than this share of the largest variance is rounding: whitening would blow it up to a source.
SMALLEST_SHARE = 1e-12


class FastICA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, IterativeEstimator):
    r"""FastICA with symmetric orthogonalization: all sources at once.

    ``n_components`` is the number of sources (None: as many as the rank of the centered rows), ``fun`` the contrast
    :math:`G`: "logcosh", "exp" (robust, for heavy tails) or "cube" (kurtosis). A fit ends when no row of the rotation
    turns by more than ``tol`` (in 1 - |cosine|), or after ``max_iter`` iterations. Sources have mean zero and
    variance one; their order and signs are not determined by the data.

    Learned: ``components_`` (k, p), the unmixing matrix WK; ``mixing_`` (p, k), its pseudo-inverse; ``mean_``,
    ``whitening_`` K, ``n_iter_``. Records carry ``turn``, the largest 1 - |cosine|.

    >>> rng = np.random.default_rng(0)
    >>> S = rng.uniform(-1, 1, size=(1000, 2))
    >>> found = FastICA(random_state=0).fit_transform(S @ [[1.0, 0.5], [0.3, 1.0]])
    >>> bool((np.abs(np.corrcoef(S.T, found.T)[:2, 2:]).max(axis=1) > 0.99).all())
    True
    """

    domains = {
        "n_components": Optional(Integer(low=1, search=(2, 20))),
        "fun": Choice(*CONTRASTS),
        "max_iter": Integer(low=1),
        "tol": Number(low=0),
        "random_state": Seed(),
    }

    def __init__(
        self,
        n_components: int | None = None,
        fun: str = "logcosh",
        max_iter: int = 200,
        tol: float = 1e-6,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.fun = fun
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn, yielding a record per step of the rotation; ``y`` is ignored."""
        self._check_parameters()
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        mean, K = self._whitening(X)
        self._loop = loop = _Rotation(self, len(K))
        if state is not None:
            loop.restore(state)
        Z = np.ascontiguousarray(centered_product(X, mean, K.T).T)  # (k, n)
        self._learn(loop, mean, K)
        while not loop.settled and loop.iteration < self.max_iter:
            turn = loop.step(Z)
            self._learn(loop, mean, K)
            yield Record(loop.iteration, {"turn": turn}, total=self.max_iter)
        if not loop.settled:
            warn_user(
                f"FastICA: the rotation still turned by more than tol={self.tol:g} after max_iter={self.max_iter} "
                "iterations.",
                ConvergenceWarning,
            )

    def transform(self, X: Any) -> np.ndarray:
        """The sources of new rows, (n, n_components)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return centered_product(X, self.mean_, self.components_.T)

    def inverse_transform(self, S: Any) -> np.ndarray:
        """The mixtures of these sources."""
        check_is_fitted(self)
        S = np.asarray(S, dtype=np.float64)
        if S.ndim != 2 or S.shape[1] != len(self.components_):
            raise ValueError(f"FastICA: S must have {len(self.components_)} columns; got shape {S.shape}.")
        return S @ self.mixing_.T + self.mean_

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _whitening(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The mean and K (k, p), whose rows make the leading principal coordinates have variance one."""
        found = principal_components(X)
        rank = int((found.variances > SMALLEST_SHARE * found.variances[0]).sum())
        k = rank if self.n_components is None else self.n_components
        if not 1 <= k <= rank:
            raise ValueError(f"FastICA: the centered rows of X have rank {rank}; got n_components={self.n_components}.")
        return found.mean, found.components[:k] / np.sqrt(found.variances[:k, None])

    def _learn(self, loop: _Rotation, mean: np.ndarray, K: np.ndarray) -> None:
        self.mean_, self.whitening_ = mean, K
        self.components_ = loop.W @ K
        self.mixing_ = np.linalg.pinv(self.components_)
        self.n_iter_ = loop.iteration


class _Rotation:
    """The running fit: where the rotation stands."""

    def __init__(self, model: FastICA, k: int):
        self.model = model
        self.W = orthonormal_rows(as_generator(model.random_state).normal(size=(k, k)))
        self.iteration, self.settled = 0, False

    def step(self, Z: np.ndarray) -> float:
        W = fast_ica_step(self.W, Z, self.model.fun)
        # Rows may come back with the opposite sign: that is the same source.
        turn = float(np.max(np.abs(1 - np.abs(np.einsum("ij,ij->i", W, self.W)))))
        self.W, self.iteration, self.settled = W, self.iteration + 1, turn <= self.model.tol
        return turn

    def state(self) -> dict[str, Any]:
        return {"W": self.W.copy(), "iteration": self.iteration, "settled": self.settled}

    def restore(self, state: dict[str, Any]) -> None:
        if state["W"].shape != self.W.shape:
            raise ValueError(f"FastICA: state belongs to {len(state['W'])} sources; got {len(self.W)}.")
        self.W, self.iteration, self.settled = state["W"].copy(), int(state["iteration"]), bool(state["settled"])
