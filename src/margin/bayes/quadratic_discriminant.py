r"""Quadratic discriminant analysis: normal classes, each with a covariance of its own.

.. math:: \Sigma_c = V \Lambda V^\top \;\to\; V\bigl((1 - r)\Lambda + r I\bigr)V^\top
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from margin.bayes.class_scatter import ClassScatter
from margin.bayes.discriminants import Discriminant
from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Choice, Either, Flag, Learner, Number, Optional
from margin.core.domains import Sequence as SequenceOf
from margin.core.invariants import ArrayOf
from margin.core.number_range import finite_values
from margin.core.parameters import attribute, parameter
from margin.core.refusals import Unsupported
from margin.foundations.linalg import eigh, svd

__all__ = ["QuadraticDiscriminantAnalysis", "normal_log_density"]

MOST_COLUMNS = 10_000  # beyond which the covariance of one class takes a gigabyte, and its axes half an hour


def normal_log_density(X: np.ndarray, mean: np.ndarray, rotation: np.ndarray, variances: np.ndarray) -> np.ndarray:
    r"""Log-density of the rows of ``X`` (n, d) under N(mean, rotation diag(variances) rotation'), (n,).

    >>> normal_log_density(np.zeros((1, 2)), np.zeros(2), np.eye(2), np.ones(2)).round(4)
    array([-1.8379])
    """
    z = (X - mean) @ (rotation / np.sqrt(variances))
    return -0.5 * (np.einsum("ij,ij->i", z, z) + np.log(2 * np.pi * variances).sum())


class QuadraticDiscriminantAnalysis(Discriminant):
    """Classifies by normal classes that differ in mean and covariance.

    Covariances have divisor n. Without ``reg_param`` or shrinkage a class needs more rows than columns and no dependent
    columns. The cost is n p^2.

    Examples
    --------
    >>> model = QuadraticDiscriminantAnalysis().fit([[-3.0], [3.0], [-0.1], [0.1]], [0, 0, 1, 1])
    >>> model.predict([[-2.0], [0.0], [2.0]])
    array([0, 1, 0])
    """

    _: KW_ONLY
    solver: str = parameter(
        "svd",
        Choice("svd", "eigen", search=False),
        '"svd" works on the factor of the centered rows, which keeps all digits; "eigen" on covariances, as shrinkage '
        "and covariance_estimator need.",
    )
    shrinkage: Any = parameter(
        None,
        Optional(Either(Choice("auto"), Number(low=0, high=1))),
        'How far covariances are moved towards a sphere, or "auto" by Ledoit and Wolf; for solver "eigen".',
    )
    priors: Any = parameter(
        None, Optional(SequenceOf(Number(low=0, high=1))), "Probabilities of the classes; None learns them."
    )
    reg_param: float = parameter(
        0.0, Number(low=0, high=1, search=(0, 1)), "How far every covariance is moved towards the identity."
    )
    store_covariance: bool = parameter(
        False,
        Flag(),
        "Permission to keep covariance_, which is never needed: it follows from rotations_ and scalings_.",
    )
    tol: float = parameter(
        1e-7,
        Number(low=0),
        "A covariance is taken for singular when a standard deviation along its axes is at most this times the "
        "largest, whatever the units.",
    )
    covariance_estimator: Any = parameter(
        None,
        Optional(Learner("fit")),
        'An object whose fit learns covariance_, used for every class instead of shrinkage; for solver "eigen".',
    )

    priors_: np.ndarray = attribute(ArrayOf("n_classes", low=0), "Probabilities of the classes.")
    means_: np.ndarray = attribute(ArrayOf("n_classes", "n_features"), "Means of the classes, (classes, p).")
    rotations_: np.ndarray = attribute(
        ArrayOf("n_classes", "n_features", "n_axes"), "Principal axes of every class in columns, (classes, p, p)."
    )
    scalings_: np.ndarray = attribute(ArrayOf("n_classes", "n_axes"), "Variances along these axes, (classes, p).")

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> QuadraticDiscriminantAnalysis:
        """Learn mean and covariance of every class; a row of weight two counts as two rows."""
        rows = self._training_rows(X, y, sample_weight)
        self._forget()
        return self._learn(rows)

    def _learn(self, rows: ClassScatter) -> QuadraticDiscriminantAnalysis:
        for name in ("shrinkage", "covariance_estimator"):
            if self.solver == "svd" and getattr(self, name) is not None:
                raise Unsupported(f"{self._name}: {name} needs solver 'eigen'; got solver 'svd'.")
        if self.shrinkage is not None and self.covariance_estimator is not None:
            raise ValueError(f"{self._name}: give shrinkage or covariance_estimator, not both.")
        priors, means = self._class_priors(rows), rows.class_means()
        self._check_width(*means.shape)
        axes = [self._axes(rows, c, means[c]) for c in range(len(means))]
        self.classes_, self.priors_, self.means_ = rows.labels, priors, means
        self.rotations_ = np.stack([rotation for rotation, _ in axes])
        self.scalings_ = np.stack([variances for _, variances in axes])
        return self

    @property
    def covariance_(self) -> np.ndarray:
        """Covariance of every class as it is used, (classes, d, d)."""
        return np.einsum("cij,cj,ckj->cik", self.rotations_, self.scalings_, self.rotations_)

    def _check_width(self, n_classes: int, d: int) -> None:
        """Refuse what would ask for gigabytes; without ``reg_param`` so few rows are refused for their rank."""
        if d > MOST_COLUMNS and (self.reg_param > 0 or self.solver == "eigen"):
            raise ValueError(
                f"{self._name}: X must have at most {MOST_COLUMNS:,} columns, since each of its {n_classes} classes "
                f"has a covariance of them; got {d:,}; LinearDiscriminantAnalysis takes more."
            )

    def _axes(self, rows: ClassScatter, c: int, mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Principal axes of class ``c`` in columns, and its variances along them."""
        n, total, label, d = int(rows.n_rows[c]), float(rows.counts[c]), rows.labels[c], len(mean)
        if n < 2 and total <= 1:
            raise ValueError(f"{self._name}: class {label} has 1 sample; a covariance needs at least two.")
        axes, spread = (
            self._axes_by_svd(rows.factor(c, mean), total, whole=self.reg_param > 0)
            if self.solver == "svd"
            else self._axes_by_eigenvalues(rows.covariance(self._name, c, self.shrinkage, self.covariance_estimator))
        )
        rank = int((spread > self.tol * spread[0]).sum())
        if rank < d and self.reg_param == 0:
            raise np.linalg.LinAlgError(  # a ValueError too
                f"{self._name}: the covariance of class {label} is singular, rank {rank} of {d} columns with {n} "
                "rows; set reg_param above 0, drop dependent columns or add rows."
            )
        variances = finite_values(self._name, "X", spread, lambda: (1 - self.reg_param) * spread**2 + self.reg_param)
        return axes, variances

    @staticmethod
    def _axes_by_svd(factor: np.ndarray, total: float, whole: bool) -> tuple[np.ndarray, np.ndarray]:
        """Axes in columns and standard deviations along them, falling; ``whole``: those without any spread too."""
        d = factor.shape[1]
        if whole and len(factor) < d:
            factor = np.vstack([factor, np.zeros((d - len(factor), d))])
        _, singular, V = svd(factor)
        return V, singular / np.sqrt(total)

    @staticmethod
    def _axes_by_eigenvalues(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = eigh(covariance)
        return vectors[:, ::-1], np.sqrt(np.maximum(values[::-1], 0.0))

    def _joint_log_probability(self, X: Any) -> np.ndarray:
        X = self._rows(X)
        with np.errstate(divide="ignore"):
            joint = np.tile(np.log(self.priors_), (len(X), 1))
        for c in range(len(self.classes_)):
            joint[:, c] += self._log_density(X, c)
        return joint

    def _log_density(self, X: np.ndarray, c: int) -> np.ndarray:
        law = self.means_[c], self.rotations_[c], self.scalings_[c]
        return finite_values(self._name, "X", X, lambda: normal_log_density(X, *law))
