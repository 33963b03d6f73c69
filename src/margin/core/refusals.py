"""Errors of the kinds that scikit-learn's users catch, all of them ValueErrors as everywhere here."""

from __future__ import annotations

__all__ = ["MissingMethod", "SparseTarget", "Unsupported"]


class Unsupported(ValueError, NotImplementedError):
    """Two arguments that do not go together; scikit-learn raises NotImplementedError."""


class SparseTarget(ValueError, TypeError):
    """A sparse y where targets must be dense; scikit-learn's single trees say TypeError, its forests ValueError."""


class MissingMethod(ValueError, AttributeError):
    """A nested model lacks a method that is needed; scikit-learn lets the AttributeError through."""
