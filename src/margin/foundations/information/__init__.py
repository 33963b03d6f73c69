"""Information: surprise and entropy (``entropy``), divergences between distributions (``divergence``) and between
normals (``gaussians``), codes whose length they are (``coding``), and a fit by cross-entropy (``poisson_fit``).

Distributions are arrays whose last axis holds the classes; everything is in nats unless ``base`` says otherwise.
"""

from typing import TYPE_CHECKING

from margin.core.lazy_names import lazy_names
from margin.foundations.information.entropy import (
    SurpriseLaws,
    cross_entropy,
    cross_entropy_sampled,
    entropy,
    entropy_of_weights,
    surprise,
    surprise_laws,
    total_surprise,
)

if TYPE_CHECKING:
    from margin.foundations.information.coding import (
        decode,
        encode,
        huffman_code,
        kraft_sum,
        mean_code_length,
        shannon_code,
    )
    from margin.foundations.information.divergence import (
        DivergenceEstimate,
        js_divergence,
        kl_divergence,
        kl_monte_carlo,
        mutual_information,
    )
    from margin.foundations.information.gaussians import NormalParameters, fit_normal, kl_gaussians, kl_normal
    from margin.foundations.information.poisson_fit import (
        PoissonFit,
        fit_poisson_to_geometric,
        geometric_pmf,
        poisson_pmf,
    )
else:
    __getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "DivergenceEstimate",
    "NormalParameters",
    "PoissonFit",
    "SurpriseLaws",
    "cross_entropy",
    "cross_entropy_sampled",
    "decode",
    "encode",
    "entropy",
    "entropy_of_weights",
    "fit_normal",
    "fit_poisson_to_geometric",
    "geometric_pmf",
    "huffman_code",
    "js_divergence",
    "kl_divergence",
    "kl_gaussians",
    "kl_monte_carlo",
    "kl_normal",
    "kraft_sum",
    "mean_code_length",
    "mutual_information",
    "poisson_pmf",
    "shannon_code",
    "surprise",
    "surprise_laws",
    "total_surprise",
]
