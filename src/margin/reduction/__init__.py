"""Reduction: few columns in place of many.

Directions (PCA, FastICA), tables of counts (CorrespondenceAnalysis) and points with given distances (MDS); the
equations are pure functions beside their estimators.
"""

from margin.reduction.correspondence import Correspondence, CorrespondenceAnalysis, correspondence_analysis
from margin.reduction.dimension import (
    coverage,
    distance_contrast,
    grid_neighbors,
    intrinsic_dimensions,
    occupied_cells,
)
from margin.reduction.fast_ica import FastICA
from margin.reduction.mds import MDS
from margin.reduction.pca import PCA
from margin.reduction.principal import PrincipalComponents, principal_components, projected_variance
from margin.reduction.scaling import classical_coordinates, double_centered, guttman_transform, stress

__all__ = [
    "MDS",
    "PCA",
    "Correspondence",
    "CorrespondenceAnalysis",
    "FastICA",
    "PrincipalComponents",
    "classical_coordinates",
    "correspondence_analysis",
    "coverage",
    "distance_contrast",
    "double_centered",
    "grid_neighbors",
    "guttman_transform",
    "intrinsic_dimensions",
    "occupied_cells",
    "principal_components",
    "projected_variance",
    "stress",
]
