"""What the metrics of a family take alike, said once."""

from __future__ import annotations

from margin.core.docstrings import parameter_texts

__all__ = ["LABELS", "PARTITIONS", "POINTS", "PROBABILITIES", "RESPONSES", "SAMPLES", "SCORES"]

WEIGHTS = parameter_texts(
    """
    sample_weight : array-like of shape (n,), optional
        Weights of the rows; 1 each by default.
    """
)
TRUTH = parameter_texts(
    """
    y_true : array-like of shape (n,)
        True labels.
    pos_label : label, optional
        The class that counts as positive; by default 1 among {0, 1} and {-1, 1}, else the larger of two labels.
    labels : array-like of shape (n_classes,), optional
        Classes of the columns, in their order; by default the sorted labels of ``y_true``.
    """
)
RESPONSES = WEIGHTS | parameter_texts(
    """
    y_true : array-like of shape (n,) or (n, n_outputs)
        True responses.
    y_pred : array-like of shape (n,) or (n, n_outputs)
        Predicted responses.
    """
)
LABELS = (
    WEIGHTS
    | TRUTH
    | parameter_texts(
        """
    y_pred : array-like of shape (n,)
        Predicted labels.
    """
    )
)
SCORES = (
    WEIGHTS
    | TRUTH
    | parameter_texts(
        """
    score : array-like of shape (n,)
        Scores; higher for the positive class.
    average : {"macro", "weighted"}
        How the values of the classes are averaged when there are more than two columns.
    cost_false_positive : float
        Cost of a negative row that is called positive.
    cost_false_negative : float
        Cost of a positive row that is called negative.
    """
    )
)
PROBABILITIES = (
    WEIGHTS
    | TRUTH
    | parameter_texts(
        """
    proba : array-like of shape (n,) or (n, n_classes)
        Probabilities of the positive class, or one column per class.
    n_bins : int
        Number of bins.
    strategy : {"uniform", "quantile"}
        Bins of equal width, or with equally many rows.
    """
    )
)
POINTS = parameter_texts(
    """
    X : array-like of shape (n, n_features)
        Points.
    labels : array-like of shape (n,)
        The cluster of every point.
    """
)
PARTITIONS = parameter_texts(
    """
    labels_true : array-like of shape (n,)
        True classes.
    labels_pred : array-like of shape (n,)
        Clusters; their names do not matter.
    """
)
SAMPLES = parameter_texts(
    """
    real : array-like of shape (n, n_features)
        Rows of the data.
    generated : array-like of shape (m, n_features)
        Rows drawn from the model.
    """
)
