"""Features of kernels against scikit-learn's kernels and products written out."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import pairwise
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.foundations import probability as ours
from margin.foundations.probability import feature_maps, kernels

PATH = "margin.foundations.probability"


@oracle(
    "margin.foundations.probability.radial.Radial",
    *(f"{PATH}.feature_maps.{name}" for name in ("polynomial_features", "product_features", "rbf_taylor_features")),
    *(f"{PATH}.kernels.{name}" for name in ("rbf_kernel", "is_positive_semidefinite")),
    f"{PATH}.is_stationary",
)
def features_of_kernels(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    poly = [feature_maps.polynomial_features(A, 3, 1.7) for A in (X, Z)]
    taylor = [feature_maps.rbf_taylor_features(A, 28, 1.4) for A in (X, Z)]
    gauss = pairwise.rbf_kernel(X, Z, gamma=0.5 / 1.4**2)
    gram = X @ X.T  # of rank 3
    mixed = gram - 1e-3 * np.eye(4)
    skewed = gram + np.triu(0.1 * np.abs(gram).max() * np.ones_like(gram), 1)  # below the diagonal nothing is wrong
    return every(
        polynomial=near(poly[0] @ poly[1].T, (X @ Z.T + 1.7) ** 3, tolerance=1e-8),
        number=equal(poly[0].shape, (4, 20)),
        taylor=near(taylor[0] @ taylor[1].T, gauss, tolerance=1e-6),
        product=near(feature_maps.product_features(X[:, :2])[:, 2], [a * b for a, b in X[:, :2]], tolerance=1e-12),
        gauss=near(kernels.rbf_kernel(X, Z, 1.4), gauss, tolerance=1e-10),
        square=near(kernels.rbf_kernel(X, length_scale=1.4), pairwise.rbf_kernel(X, gamma=0.5 / 1.96), tolerance=1e-10),
        definite=equal(
            [kernels.is_positive_semidefinite(c * M) for c in (1.0, 1e9) for M in (gram, mixed, -gram, skewed)],
            [True, False, False, False] * 2,
        ),
        stationary=equal(
            [
                ours.is_stationary(k, 2, np.random.default_rng(seed))
                for k in (pairwise.rbf_kernel, pairwise.linear_kernel, lambda a, b: pairwise.rbf_kernel(a, -b))
            ],
            [True, False, False],
        ),
    )
