"""Reduction: few columns in place of many, by directions (PCA)."""

from margin.reduction.dimension import (
    coverage,
    distance_contrast,
    grid_neighbors,
    intrinsic_dimensions,
    occupied_cells,
)
from margin.reduction.pca import PCA
from margin.reduction.principal import PrincipalComponents, principal_components, projected_variance

__all__ = [
    "PCA",
    "PrincipalComponents",
    "coverage",
    "distance_contrast",
    "grid_neighbors",
    "intrinsic_dimensions",
    "occupied_cells",
    "principal_components",
    "projected_variance",
]
