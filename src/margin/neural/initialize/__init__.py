"""Starting points of networks: weights drawn from an explicit generator, and the moments they lead to."""

from margin.neural.initialize.initializers import (
    INITIALIZERS,
    HeInitializer,
    Initializer,
    LeCunInitializer,
    NormalInitializer,
    OrthogonalInitializer,
    XavierInitializer,
    ZerosInitializer,
    draw_weights_,
)
from margin.neural.initialize.moments import he_variance, lecun_variance, propagate_variance, xavier_variance
from margin.neural.initialize.schemes import (
    SCHEMES,
    fans,
    he_,
    initialize_,
    lecun_,
    normal_,
    orthogonal_,
    xavier_,
    zeros_,
)
from margin.neural.initialize.signal import Signal, signal_through_depth

__all__ = [
    "INITIALIZERS",
    "SCHEMES",
    "HeInitializer",
    "Initializer",
    "LeCunInitializer",
    "NormalInitializer",
    "OrthogonalInitializer",
    "Signal",
    "XavierInitializer",
    "ZerosInitializer",
    "draw_weights_",
    "fans",
    "he_",
    "he_variance",
    "initialize_",
    "lecun_",
    "lecun_variance",
    "normal_",
    "orthogonal_",
    "propagate_variance",
    "signal_through_depth",
    "xavier_",
    "xavier_variance",
    "zeros_",
]
