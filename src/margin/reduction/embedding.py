"""What embeddings of rows share: positions of fitted rows, new rows among them, and where a descent may begin."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from margin.core.array_types import ArrayLike, MatrixLike
from margin.reduction.principal import principal_components
from margin.reduction.scatter import centered_product

__all__ = ["EmbeddingMixin", "principal_positions"]


class EmbeddingMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """A transformer that learns positions ``embedding_`` (n, d) of the rows themselves, kept in ``X_fit_``."""

    embedding_: np.ndarray

    def fit_transform(self, X: MatrixLike, y: ArrayLike | None = None) -> np.ndarray:
        """Learn from ``X`` and give the positions of its rows."""
        return self.fit(X, y).embedding_

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def _keep_fitted(self, placed: np.ndarray, gaps: np.ndarray, index: np.ndarray) -> np.ndarray:
        """``placed``, but rows that were fitted, at distance zero of their nearest, where they are."""
        fitted = gaps[:, 0] == 0
        placed[fitted] = self.embedding_[index[fitted, 0]]
        return placed

    def _among_neighbors(self, weights: np.ndarray, gaps: np.ndarray, index: np.ndarray) -> np.ndarray:
        """New rows at the mean of their neighbors' positions by ``weights`` (m, k), fitted ones where they are."""
        fractions = weights / weights.sum(axis=1, keepdims=True)
        return self._keep_fitted(np.einsum("ij,ijk->ik", fractions, self.embedding_[index]), gaps, index)


def principal_positions(X: np.ndarray, d: int) -> np.ndarray:
    """The rows along their ``d`` principal axes, (n, d); zeros where there are fewer axes."""
    principal = principal_components(X, min(d, *X.shape))
    positions = np.zeros((len(X), d))
    positions[:, : len(principal.components)] = centered_product(X, principal.mean, principal.components.T)
    return positions
