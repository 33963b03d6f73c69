"""What a fitted model has learned, asked through its predictions alone: importance of columns, partial dependence."""

from margin.interpretation.partial_dependence import individual_curves, partial_dependence
from margin.interpretation.permutation import permutation_importance

__all__ = ["individual_curves", "partial_dependence", "permutation_importance"]
