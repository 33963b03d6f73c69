"""Claims about UMAP's graph, its curve and its map."""

from __future__ import annotations

import numpy as np
from scipy.special import rel_entr

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.notes.claims import claim
from margin.reduction import UMAP, betti, curve_parameters, fuzzy_cross_entropy, fuzzy_graph
from margin.reduction.fuzzy import local_scales, memberships
from margin.reduction.graphs import nearest_rows


@claim("umap")
def the_map_has_the_neighborhoods_of_the_rows(seed: int) -> Verdict:
    """The text takes doughnut and cup for homotopic maps; they are spaces of one shape, which a map may not keep."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(60, 5)), rng.normal(size=(60, 5)) + 8])
    gaps, _ = nearest_rows(X, 10)
    weights = memberships(gaps, *local_scales(gaps))
    W = fuzzy_graph(X, 10).toarray()
    model = UMAP(n_neighbors=10, n_epochs=150, random_state=seed)
    pulls = [record["pull"] for record in model.iterate(X)]
    after = model.embedding_
    angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    circle, point = np.column_stack([np.cos(angle), np.sin(angle)]), np.zeros((40, 2))  # images of homotopic maps
    a, b = curve_parameters(0.1, 1.0)
    shuffled = after[rng.permutation(120)]
    square = ((after[:, None] - after) ** 2).sum(axis=2)[np.triu_indices(120, 1)]
    v, w = 1 / (1 + a * square**b), W[np.triu_indices(120, 1)]
    objective = (rel_entr(w, v) + rel_entr(1 - w, 1 - v)).sum()
    return corrected(
        every(
            objective=near(fuzzy_cross_entropy(W, after, a, b) / objective, 1.0, tolerance=1e-6),
            lower_than_shuffled=below(objective / fuzzy_cross_entropy(W, shuffled, a, b), 0.8),
            weight_of_neighbors=near(weights.sum(axis=1), np.full(120, np.log2(10)), tolerance=1e-6),
            nearest_belongs_fully=near(weights[:, 0], np.ones(120), tolerance=0.0),
            symmetric=near(W, W.T, tolerance=1e-12),
            curve=near(curve_parameters(0.1, 1.0), (1.577, 0.895), tolerance=1e-3),
            neighbors_come_nearer=below(pulls[-1] / pulls[0], 0.8),
            same_seed_same_map=equal(after, model.fit_transform(X)),
            groups_apart=above(float(np.linalg.norm(after[:60].mean(axis=0) - after[60:].mean(axis=0))), 3.0),
        ),
        printed=equal(betti(circle, 0.35), betti(point, 0.35)),
    )
