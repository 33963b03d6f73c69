"""What a fitted model has learned, asked through its predictions alone, on the columns a pipeline takes: importance of
columns, partial dependence, Shapley values. What asks a network by its gradients stands in ``attribution`` (networks of
torch) and ``networks`` (fitted estimators), which import torch."""

from margin.interpretation.columns import TableColumns
from margin.interpretation.partial_dependence import grid_of, individual_curves, partial_dependence
from margin.interpretation.permutation import permutation_importance
from margin.interpretation.shapley import shapley_values

__all__ = [
    "TableColumns",
    "grid_of",
    "individual_curves",
    "partial_dependence",
    "permutation_importance",
    "shapley_values",
]
