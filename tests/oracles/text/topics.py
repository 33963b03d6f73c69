"""Topics against scikit-learn's with the same topics, and vocabularies by counting."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import decomposition
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.text.lda import LatentDirichletAllocation
from margin.text.vocabulary import VocabularyTokenizer


@oracle("margin.text.lda.LatentDirichletAllocation", "margin.text.vocabulary.VocabularyTokenizer")
def topics_by_scikit_learn(seed: int) -> Verdict:
    """Proportions, bound and perplexity of the same topics; batches one by one; the commonest words come first."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(1.5, size=(17, 8)).astype(float)
    X[:, 0] += 1
    limits: dict[str, Any] = {
        "max_doc_update_iter": 400,
        "mean_change_tol": 1e-9,
        "total_samples": 90.0,
        "random_state": 0,
    }
    priors: dict[str, Any] = {"doc_topic_prior": 0.4, "topic_word_prior": 0.3}
    model: Any
    theirs: Any
    model, theirs = (
        kind(3, batch_size=6, **limits, **priors).partial_fit(X)
        for kind in (LatentDirichletAllocation, decomposition.LatentDirichletAllocation)
    )
    once = LatentDirichletAllocation(3, batch_size=50, **limits, **priors).partial_fit(X)
    theirs.components_ = model.components_
    theirs.exp_dirichlet_component_ = model.exp_dirichlet_component_
    fresh = rng.poisson(1.5, size=(5, 8)) + 1.0
    plain = LatentDirichletAllocation(4, max_iter=1).fit(X)
    words = VocabularyTokenizer.train("a b b c c c d", 4)
    return every(
        proportions=near(model.transform(fresh), theirs.transform(fresh), tolerance=1e-6),
        bound=near(model.score(fresh), theirs.score(fresh), tolerance=1e-4),
        perplexity=near(model.perplexity(fresh), theirs.perplexity(fresh), tolerance=1e-4),
        sampled=near(model.perplexity(fresh, True), theirs.perplexity(fresh, sub_sampling=True), tolerance=1e-4),
        batches=equal((model.n_batch_iter_, once.n_batch_iter_, model.n_iter_), (3, 1, 1)),
        priors=near([plain.doc_topic_prior_, plain.topic_word_prior_], [0.25, 0.25], tolerance=1e-12),
        names=equal(len(model.get_feature_names_out()), 3),
        words=equal(words.tokens[1:], [" ", "c", "b"]),
        ids=equal(words.encode("b d c"), [3, 1, 0, 1, 2]),
        back=equal(words.decode([2, 1, 3]), "c b"),
    )
