"""Optimal transport: couplings (``coupling``), the exact problem in any dimension (``exact``) and by sorting on a line
(``one_dimension``), its entropic form (``sinkhorn``), averages (``barycenter``), paths (``geodesic``), and the
Hausdorff distance between sets (``hausdorff``).

Masses need not be normalized, but both sides must have the same total. ``wasserstein`` takes the p-th root.
"""

from typing import TYPE_CHECKING

from margin.core.lazy_names import lazy_names
from margin.foundations.transport.barycenter import Barycenter, barycenter, barycenter_1d, normal_barycenter
from margin.foundations.transport.geodesic import geodesic, mixture_path
from margin.foundations.transport.hausdorff import directed_hausdorff, hausdorff
from margin.foundations.transport.sinkhorn import EntropicTransport, Sinkhorn, round_to_coupling, sinkhorn

if TYPE_CHECKING:
    from margin.foundations.transport.arguments import cost_matrix
    from margin.foundations.transport.coupling import is_coupling, is_cyclically_monotone, plan_cost, product_coupling
    from margin.foundations.transport.exact import Transport, solve, wasserstein
    from margin.foundations.transport.one_dimension import (
        SparsePlan,
        cdf_difference_norm,
        monotone_plan,
        wasserstein_1d,
        wasserstein_1d_cdf,
    )
else:
    __getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "Barycenter",
    "EntropicTransport",
    "Sinkhorn",
    "SparsePlan",
    "Transport",
    "barycenter",
    "barycenter_1d",
    "cdf_difference_norm",
    "cost_matrix",
    "directed_hausdorff",
    "geodesic",
    "hausdorff",
    "is_coupling",
    "is_cyclically_monotone",
    "mixture_path",
    "monotone_plan",
    "normal_barycenter",
    "plan_cost",
    "product_coupling",
    "round_to_coupling",
    "sinkhorn",
    "solve",
    "wasserstein",
    "wasserstein_1d",
    "wasserstein_1d_cdf",
]
