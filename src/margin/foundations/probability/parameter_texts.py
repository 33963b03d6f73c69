"""What the covariance functions take alike, said once."""

from __future__ import annotations

from margin.core.docstrings import parameter_texts

__all__ = ["COVARIANCE"]

COVARIANCE = parameter_texts(
    r"""
    X : array-like of shape (n, d)
        Rows.
    Z : array-like of shape (m, d), optional
        Other rows; ``X`` itself by default.
    length_scale : float
        Length scale, :math:`\ell`.
    """
)
