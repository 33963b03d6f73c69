"""Reduction: few columns in place of many.

Directions (PCA, FastICA), tables of counts (CorrespondenceAnalysis), points with given distances (MDS) and with
those along a curved set (Isomap), and maps of neighbors (TSNE, UMAP); the equations are pure functions beside
their estimators.
"""

from typing import TYPE_CHECKING

from margin.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from margin.reduction.affinities import (
        bandwidths,
        conditional_affinities,
        joint_affinities,
        kl_divergence,
        kl_gradient,
        student_similarities,
    )
    from margin.reduction.correspondence import Correspondence, CorrespondenceAnalysis, correspondence_analysis
    from margin.reduction.dimension import (
        coverage,
        distance_contrast,
        grid_neighbors,
        intrinsic_dimensions,
        occupied_cells,
    )
    from margin.reduction.fast_ica import FastICA
    from margin.reduction.fuzzy import curve_parameters, fuzzy_cross_entropy, fuzzy_graph
    from margin.reduction.graphs import components, epsilon_graph, knn_graph, shortest_paths
    from margin.reduction.isomap import Isomap
    from margin.reduction.mds import MDS
    from margin.reduction.pca import PCA
    from margin.reduction.principal import PrincipalComponents, principal_components, projected_variance
    from margin.reduction.scaling import classical_coordinates, double_centered, guttman_transform, stress
    from margin.reduction.topology import Betti, betti, straight_homotopy
    from margin.reduction.tsne import TSNE
    from margin.reduction.umap import UMAP
else:
    __getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "MDS",
    "PCA",
    "TSNE",
    "UMAP",
    "Betti",
    "Correspondence",
    "CorrespondenceAnalysis",
    "FastICA",
    "Isomap",
    "PrincipalComponents",
    "bandwidths",
    "betti",
    "classical_coordinates",
    "components",
    "conditional_affinities",
    "correspondence_analysis",
    "coverage",
    "curve_parameters",
    "distance_contrast",
    "double_centered",
    "epsilon_graph",
    "fuzzy_cross_entropy",
    "fuzzy_graph",
    "grid_neighbors",
    "guttman_transform",
    "intrinsic_dimensions",
    "joint_affinities",
    "kl_divergence",
    "kl_gradient",
    "knn_graph",
    "occupied_cells",
    "principal_components",
    "projected_variance",
    "shortest_paths",
    "straight_homotopy",
    "stress",
    "student_similarities",
]
