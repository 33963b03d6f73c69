"""Looking into networks: dead and saturated units, signals and gradients per layer, curvature, linear pieces."""

from margin.neural.diagnostics.curvature import error_surface, smallest_curvature
from margin.neural.diagnostics.descent import descend
from margin.neural.diagnostics.flow import gradient_norms, layer_moments
from margin.neural.diagnostics.influence import parameter_influence
from margin.neural.diagnostics.paths import path_outputs, residual_paths
from margin.neural.diagnostics.pieces import boundary_segments, joints, linear_regions
from margin.neural.diagnostics.shattering import autocorrelation, gradient_curve, roughness, sign_changes
from margin.neural.diagnostics.units import activations_of, dead_units, saturated_fraction

__all__ = [
    "activations_of",
    "autocorrelation",
    "boundary_segments",
    "dead_units",
    "descend",
    "error_surface",
    "gradient_curve",
    "gradient_norms",
    "joints",
    "layer_moments",
    "linear_regions",
    "parameter_influence",
    "path_outputs",
    "residual_paths",
    "roughness",
    "saturated_fraction",
    "sign_changes",
    "smallest_curvature",
]
