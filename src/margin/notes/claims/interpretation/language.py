"""Claims on what is inside a language model, and on the theorem that is asked of one."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every, near, raises
from margin.generative import SparseAutoencoder
from margin.interpretation.language_parts import ablations, activations
from margin.notes import atlas
from margin.notes.claims import claim
from margin.notes.experiments.sparse_features import PEOPLE, who_met_whom
from margin.optimize import bisect


@claim("claim-mlp-stores-facts")
def surnames_are_lost_with_an_mlp(seed: int) -> Verdict:
    model, _ = who_met_whom(seed)
    by_person = [ablations(model, first, f" {last}") for first, last in (name.split() for name in PEOPLE)]
    before = np.array([people[0].before for people in by_person])
    drops = {
        part: [
            float(np.mean([people[i].drop for people in by_person])) for i in range(4) if by_person[0][i].part == part
        ]
        for part in ("attention", "mlp")
    }
    return every(
        memorized=above(float(before.min()), 0.8),
        lost_without_an_mlp=above(max(drops["mlp"]), 0.5),
        most_of_it_is_in_mlps=above(sum(drops["mlp"]), 3 * sum(drops["attention"])),
        michael=above(max(a.drop for a in by_person[0] if a.part == "mlp"), 0.3),
    )


@claim("sparse-autoencoder-interpretability")
def planted_directions_are_found(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    planted = rng.normal(size=(48, 32))
    planted /= np.linalg.norm(planted, axis=1, keepdims=True)
    codes = (rng.random((3000, 48)) < 0.05) * (0.5 + rng.random((3000, 48)))
    options: dict[str, Any] = {"learning_rate_init": 0.03, "batch_size": 128, "random_state": seed}
    model = SparseAutoencoder(3.0, l1=2.0, max_iter=30, **options).fit((codes @ planted).astype(np.float32))
    cosines = (planted @ model.directions_.T).max(axis=1)
    # Principal axes are at most 32 and dense: none of the directions is found by them.
    axes = np.linalg.svd(codes @ planted - (codes @ planted).mean(axis=0), full_matrices=False)[2]
    language, texts = who_met_whom(seed)
    inside = activations(language, texts[:150], block=0)
    few = SparseAutoencoder(2.0, l1=0.5, max_iter=40, **options).fit(inside)
    return every(
        found=above(float(np.mean(cosines > 0.9)), 0.95),
        not_by_principal_axes=below(float(np.median(np.abs(planted @ axes.T).max(axis=1))), 0.8),
        sparse=below(float(np.mean(model.transform(codes @ planted) > 0)), 0.1),
        activations_of_a_language_model=above(few.score(inside), 0.8),
        by_few_directions=below(float(np.mean(few.transform(inside) > 0)), 0.35),
    )


@claim("llm-reasoning-ivt")
def a_change_of_sign_has_a_root_between(seed: int) -> Verdict:
    from numpy.polynomial import Polynomial
    from scipy.optimize import brentq

    from margin.report.terms import glossary

    rng = np.random.default_rng(seed)
    roots, expected = [], []
    for _ in range(20):
        a, b = -1.0, 1.0 + rng.random()
        while True:
            f = Polynomial(rng.normal(size=6))
            if f(a) * f(b) < 0 and np.sum((abs(f.roots().imag) < 1e-9) & (abs(f.roots().real) <= b)) == 1:
                break  # one root, so that any method must find the same
        roots.append(bisect(f, a, b))
        expected.append(brentq(f, a, b, xtol=1e-14))
    row = atlas.row("llm-reasoning-ivt")
    return every(
        root=near(roots, expected, tolerance=1e-11),
        needs_the_change_of_sign=raises(ValueError, lambda: bisect(lambda x: x * x + 1, -1, 1)),
        # Without continuity the theorem is false: the sign changes at 0, where 1/x has no root.
        needs_continuity=above(abs(1 / bisect(lambda x: 1 / x if x else 1.0, -1, 2)), 1e9),
        glossary=equal(f"term-{row.id}" in str(glossary([row])), True),
    )
