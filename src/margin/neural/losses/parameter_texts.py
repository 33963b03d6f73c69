"""What loss functions take alike, said once."""

from __future__ import annotations

from margin.core.docstrings import parameter_texts

__all__ = ["LOSS"]

LOSS = parameter_texts(
    """
    input : Tensor
        Predictions.
    target : Tensor of the shape of ``input``
        Targets.
    weight : Tensor of shape (C,), optional
        Weights of the classes.
    reduction : {"mean", "sum", "none"}
        How the values of the entries are put together.
    pos_weight : Tensor, optional
        Weights of positive targets.
    X : Tensor of shape (n, d)
        Rows.
    ignore_index : int
        Targets with this value are left out.
    label_smoothing : float in [0, 1]
        Fraction of a target that is spread over all classes.
    delta : float
        Size of an error from which on it counts linearly, above 0.
    """
)
