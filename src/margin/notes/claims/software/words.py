"""What words mean: machine learning as fitting by likelihood, artificial intelligence, and the machine in SVM."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every, near, raises
from margin.notes import atlas
from margin.notes.claims import claim


def in_the_glossary(id: str, word: str) -> Verdict:
    """The entry is found by its word, and the glossary of a report shows it with what it says."""
    from margin.report.terms import glossary

    row = atlas.row(id)
    page = str(glossary([row]))
    return equal((id in [match.id for match in atlas.find(word)], f"term-{id}" in page), (True, True))


@claim("machine-learning-definition")
def many_models_are_fitted_by_maximum_likelihood(seed: int) -> Verdict:
    from margin.bayes import CategoricalNB
    from margin.generative import VAE
    from margin.linear import LinearRegression, LogisticRegression
    from margin.neural.estimators import MLPClassifier

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    y = X @ [1.0, -2.0] + 0.5 + rng.normal(size=60)
    labels = (y + rng.normal(size=60) > 0).astype(int)
    line = LinearRegression().fit(X, y)
    logistic = LogisticRegression(C=1e8, tol=1e-10, max_iter=1000).fit(X, labels)
    errors = labels - logistic.predict_proba(X)[:, 1]
    net = MLPClassifier((8,), max_iter=30, alpha=0.0, learning_rate="cosine", random_state=seed).fit(X, labels)
    log_p = np.log(net.predict_proba(X)[np.arange(60), labels])
    counts = rng.integers(0, 2, (60, 1))
    table = CategoricalNB(alpha=1e-9).fit(counts, labels)  # the Bayesian network class -> column
    frequency = np.mean(counts[labels == 1] == 1)
    vae = VAE(2, (8,), max_iter=5, random_state=seed).fit(X)
    elbo, tighter = vae.score(X), vae.set_params(bound="iwae", bound_samples=64).score(X)
    return every(
        # The slope of the log-likelihood vanishes where the likelihood is largest.
        linear=below(float(np.abs(np.c_[X, np.ones(60)].T @ (y - line.predict(X))).max()), 1e-8),
        logistic=below(float(np.abs(np.c_[X, np.ones(60)].T @ errors).max()), 1e-3),
        cross_entropy_is_minus_log_likelihood=near(_last_loss(net, X, labels), -log_p.mean(), tolerance=1e-5),
        counts_are_frequencies=near(float(np.exp(table.feature_log_prob_[0][1, 1])), frequency, tolerance=1e-6),
        elbo_is_a_bound=above(float(tighter - elbo), 0.0),
        glossary=in_the_glossary("machine-learning-definition", "machine learning"),
        linked=equal([path.rpartition(".")[2] in _models() for path in _link()], [True] * 5),
    )


def _last_loss(net: Any, X: np.ndarray, labels: np.ndarray) -> float:
    """The cross-entropy of the fitted network over the rows, by our own loss."""
    import torch

    from margin.neural.losses import cross_entropy
    from margin.neural.scaling import Scaling

    scaled = Scaling(net.center_, net.scale_).apply(X)
    with torch.inference_mode():
        scores = net._ready_module()(torch.from_numpy(scaled))
    both = torch.cat([torch.zeros_like(scores), scores], dim=1) if scores.shape[1] == 1 else scores
    return float(cross_entropy(both, torch.from_numpy(labels)))


def _link() -> list[str]:
    return [path for path in atlas.row("machine-learning-definition").code if "report" not in path]


def _models() -> set[str]:
    """Names of the models that the entry has to link, each fitted by likelihood or by a bound of it."""
    return {"LinearRegression", "LogisticRegression", "MLPClassifier", "CategoricalNB", "VAE"}


@claim("definition-of-ai")
def artificial_intelligence_is_in_the_glossary() -> Verdict:
    row = atlas.row("definition-of-ai")
    return every(
        entry=in_the_glossary("definition-of-ai", "intelligence"),
        years=equal([str(year) in row.statement for year in row.values["years"]], [True, True]),
    )


@claim("terminology-machine")
def kernels_are_named_and_the_plain_machine_is_linear(seed: int) -> Verdict:
    from margin.core.parameters import InvalidParameter, parameters_of
    from margin.kernels import SVC, HardMarginSVC, LinearSVC

    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], 20)
    X = rng.normal(size=(40, 2)) + 6.0 * y[:, None]
    w = LinearSVC().fit(X, y).coef_[0]
    named = SVC(kernel="linear").fit(X, y).coef_[0]
    row = atlas.row("terminology-machine")
    return every(
        entry=in_the_glossary("terminology-machine", "machine"),
        years=equal([str(year) in row.statement for year in row.values["years"]], [True, True]),
        linear_has_no_kernel=equal("kernel" in parameters_of(LinearSVC), False),
        kernel_is_a_parameter=equal("kernel" in parameters_of(SVC), True),
        hard_margin_default=equal(parameters_of(HardMarginSVC)["kernel"].default, "linear"),
        same_direction=above(float(w @ named / (np.linalg.norm(w) * np.linalg.norm(named))), 0.95),
        unknown_kernel=raises(InvalidParameter, lambda: SVC(kernel="magic").fit(X, y), match="kernel must be"),
    )
