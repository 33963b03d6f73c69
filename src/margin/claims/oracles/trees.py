"""Pruning of trees against scikit-learn's, on rows without ties."""

from __future__ import annotations

import numpy as np
from sklearn import tree as theirs

from margin import trees as ours
from margin.claims.oracles import oracle
from margin.core.verdict import Verdict, every, near
from margin.trees.cart import pruning
from margin.trees.cart.structure import n_leaves


@oracle(*(f"margin.trees.cart.pruning.{name}" for name in ("cost_complexity_path", "prune_by_cost")))
def weakest_links(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3))
    y = X[:, 0] ** 2 - X[:, 1] + 0.5 * rng.normal(size=80)
    model = ours.DecisionTreeRegressor(min_samples_leaf=3).fit(X, y)
    path = theirs.DecisionTreeRegressor(min_samples_leaf=3, random_state=0).cost_complexity_pruning_path(X, y)
    found = pruning.cost_complexity_path(model._tree)
    between = (path.ccp_alphas[1:] + path.ccp_alphas[:-1]) / 2
    leaves = [
        theirs.DecisionTreeRegressor(min_samples_leaf=3, random_state=0, ccp_alpha=alpha).fit(X, y).get_n_leaves()
        for alpha in between[::3]
    ]
    cut = [n_leaves(pruning.prune_by_cost(model._tree, alpha)) for alpha in between[::3]]
    return every(
        alphas=near(found["ccp_alphas"], path.ccp_alphas, tolerance=1e-8),
        impurities=near(found["impurities"], path.impurities, tolerance=1e-8),
        leaves=near(cut, leaves, tolerance=0),
    )
