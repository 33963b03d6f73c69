r"""Quadratic discriminant analysis: normal classes, each with a covariance of its own.

.. math:: \Sigma_c = V \Lambda V^\top \;\to\; V\bigl((1 - r)\Lambda + r I\bigr)V^\top
"""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.bayes.discriminants import Discriminant
from margin.bayes.factors import centered_factor
from margin.core.domains import Number, Optional
from margin.core.domains import Sequence as SequenceOf

__all__ = ["QuadraticDiscriminantAnalysis", "normal_log_density"]


def normal_log_density(X: np.ndarray, mean: np.ndarray, rotation: np.ndarray, variances: np.ndarray) -> np.ndarray:
    r"""Log-density of the rows of ``X`` (n, d) under N(mean, rotation diag(variances) rotation'), (n,).

    >>> normal_log_density(np.zeros((1, 2)), np.zeros(2), np.eye(2), np.ones(2)).round(4)
    array([-1.8379])
    """
    z = (X - mean) @ (rotation / np.sqrt(variances))
    return -0.5 * (np.einsum("ij,ij->i", z, z) + np.log(2 * np.pi * variances).sum())


class QuadraticDiscriminantAnalysis(Discriminant):
    """Classifies by normal classes that differ in mean and covariance.

    ``reg_param`` r between 0 and 1 moves every covariance towards the identity; without it a class needs more rows
    than columns and no dependent columns: singular values of its centered rows, relative to the largest, must exceed
    ``tol`` (the square root of the variances' ratio). ``priors`` are learned by default.

    Learned: ``classes_``, ``priors_``, ``means_`` (classes, d), ``rotations_`` (classes, d, d) with the principal
    axes of the classes in columns, ``scalings_`` (classes, d), the variances along them (divisor n). Cost: n d^2.

    >>> model = QuadraticDiscriminantAnalysis().fit([[-3.0], [3.0], [-0.1], [0.1]], [0, 0, 1, 1])
    >>> model.predict([[-2.0], [0.0], [2.0]])
    array([0, 1, 0])
    """

    domains = {
        "priors": Optional(SequenceOf(Number(low=0, high=1))),
        "reg_param": Number(low=0, high=1, search=(0, 1)),
        "tol": Number(above=0),
    }

    def __init__(self, priors: Any = None, reg_param: float = 0.0, tol: float = 1e-7):
        self.priors = priors
        self.reg_param = reg_param
        self.tol = tol

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> QuadraticDiscriminantAnalysis:
        """Learn mean and covariance of every class; a row of weight two counts as two rows."""
        rows = self._training_rows(X, y, sample_weight)
        priors, means = self._class_priors(rows), rows.class_means()
        axes = [self._axes(*rows.of_class(c), means[c], label) for c, label in enumerate(rows.labels)]
        self.classes_, self.priors_, self.means_ = rows.labels, priors, means
        self.rotations_ = np.stack([rotation for rotation, _ in axes])
        self.scalings_ = np.stack([variances for _, variances in axes])
        return self

    @property
    def covariance_(self) -> np.ndarray:
        """Covariance of every class as it is used, (classes, d, d)."""
        return np.einsum("cij,cj,ckj->cik", self.rotations_, self.scalings_, self.rotations_)

    def _axes(
        self, rows: np.ndarray, weights: np.ndarray | None, mean: np.ndarray, label: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Principal axes of one class in columns, and its variances along them."""
        n, d = rows.shape
        total = float(n if weights is None else weights.sum())
        if n < 2 and total <= 1:
            raise ValueError(f"{self._name}: class {label} has 1 sample; a covariance needs at least two.")
        factor = centered_factor(rows, np.zeros(n, dtype=np.intp), mean[None], weights)
        padded = np.zeros((d, d))
        padded[: len(factor)] = factor
        _, singular, Vt = np.linalg.svd(padded)
        rank = int((singular > self.tol * singular[0]).sum())
        if rank < d and self.reg_param == 0:
            raise ValueError(
                f"{self._name}: the covariance of class {label} is singular, rank {rank} of {d} columns with {n} "
                "rows; set reg_param above 0, drop dependent columns or add rows."
            )
        return Vt.T, (1 - self.reg_param) * singular**2 / total + self.reg_param

    def _joint_log_probability(self, X: Any) -> np.ndarray:
        X = self._rows(X)
        with np.errstate(divide="ignore"):
            joint = np.tile(np.log(self.priors_), (len(X), 1))
        for c in range(len(self.classes_)):
            joint[:, c] += normal_log_density(X, self.means_[c], self.rotations_[c], self.scalings_[c])
        return joint
