"""Flows: densities through invertible maps against closed forms, Jacobians and integrals."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.notes.claims import claim


@claim("change-of-variables-log-density")
def the_density_changes_with_the_volume(seed: int) -> Verdict:
    import torch
    from scipy.stats import multivariate_normal

    from margin.generative.flows import LAYERS, FlowNetwork
    from margin.generative.flows.equations import change_of_variables
    from margin.neural.weights import build

    rng = np.random.default_rng(seed)
    lower, mean = np.array([[1.3, 0.0], [-0.4, 0.7]]), np.array([0.5, -1.0])
    inverse, center = (torch.from_numpy(array) for array in (np.linalg.inv(lower), mean))
    x = rng.normal(size=(20, 2))
    linear = change_of_variables(lambda row: inverse @ (row - center), torch.from_numpy(x)).numpy()
    parts = {"linear_map": near(linear, multivariate_normal(mean, lower @ lower.T).logpdf(x), tolerance=1e-10)}
    for kind in LAYERS:
        net = build(partial(FlowNetwork, 2, [kind] * 2, [8]), seed=seed, dtype=torch.float64)
        with torch.no_grad():
            for weight in net.parameters():
                weight.add_(torch.from_numpy(np.asarray(0.15 * rng.normal(size=tuple(weight.shape)))))
            rows = torch.from_numpy(x)
            jacobian = [torch.func.jacrev(lambda row, net=net: net.to_noise(row[None])[0][0])(row) for row in rows]
            expected = torch.linalg.slogdet(torch.stack(jacobian))[1]
            # Nodes sinh(t): a scale of a layer sends some of the mass far away, where an even grid would miss it. A
            # spline moves nothing beyond 4, and needs its nodes inside, more of them, for its narrow peaks.
            reach, count = (2.5, 451) if kind == "spline-coupling" else (5.0, 221)
            t = torch.linspace(-reach, reach, count, dtype=torch.float64)
            nodes, weights = torch.sinh(t), torch.cosh(t) * (t[1] - t[0])
            density = torch.exp(net(torch.cartesian_prod(nodes, nodes))).reshape(count, count)
            total = float(weights @ density @ weights)
            # The solver of a continuous flow follows its equation up to the error of its steps.
            gap = 1e-4 if kind == "continuous" else 1e-9
            name = kind.replace("-", "_")
            parts[f"{name}_jacobian"] = near(net.to_noise(rows)[1].numpy(), expected.numpy(), tolerance=gap)
            parts[f"{name}_integral"] = near(total, 1.0, tolerance=2e-3)
    return every(**parts)


@claim("normalising-flow")
def a_flow_learns_two_moons(seed: int) -> Verdict:
    from scipy.stats import multivariate_normal
    from sklearn.datasets import make_moons

    from margin.generative import NormalizingFlow

    X = make_moons(1200, noise=0.1, random_state=seed)[0].astype(np.float64)
    train, test = X[:800], X[800:]  # with half of them some starts overfit before they have bent enough
    model = NormalizingFlow(
        ["affine-coupling", "spline-coupling"], n_blocks=2, hidden_layer_sizes=(24,), learning_rate_init=1e-2
    )
    model.set_params(max_iter=20, random_state=seed).fit(train)
    normal = multivariate_normal(train.mean(axis=0), np.cov(train.T)).logpdf(test).mean()
    x, y = np.linspace(-3, 4, 141), np.linspace(-2.5, 3, 111)
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    total = float(np.exp(model.score_samples(grid)).sum()) * (x[1] - x[0]) * (y[1] - y[0])
    sample = model.sample(2000, random_state=seed)
    return every(
        inverse=near(model.inverse_transform(model.transform(test)), test, tolerance=1e-6),
        integral=near(total, 1.0, tolerance=0.02),
        above_one_normal=above(model.score(test), float(normal) + 0.15),
        samples_have_the_mean=near(sample.mean(axis=0), train.mean(axis=0), tolerance=0.15),
        exact=equal(model.log_density_kind, "exact"),
        noise_is_standard=below(abs(float(model.transform(train).std()) - 1), 0.15),
    )


@claim("claim-generative-goal-mle")
def real_rows_score_above_noise_under_every_model(seed: int) -> Verdict:
    from sklearn.datasets import make_moons

    from margin.generative import VAE, NormalizingFlow
    from margin.mixture import GaussianMixture

    X = make_moons(500, noise=0.1, random_state=seed)[0]
    train, test = X[:350], X[350:]
    rng = np.random.default_rng(seed)
    noise = rng.uniform(X.min(axis=0) - 1, X.max(axis=0) + 1, size=(150, 2))
    models = {
        "one_normal": GaussianMixture(1, random_state=seed),
        "mixture": GaussianMixture(8, random_state=seed),
        "vae": VAE(2, (24,), max_iter=15, learning_rate_init=1e-2, bound_samples=8, random_state=seed),
        "flow": NormalizingFlow("affine-coupling", n_blocks=3, hidden_layer_sizes=(24,), max_iter=15).set_params(
            learning_rate_init=1e-2, random_state=seed
        ),
    }
    scores = {name: float(np.mean(model.fit(train).score_samples(test))) for name, model in models.items()}
    margins = {name: scores[name] - float(np.mean(model.score_samples(noise))) for name, model in models.items()}
    truth = every(
        **{f"{name}_above_noise": above(margin, 0.5) for name, margin in margins.items()},
        likelier_models_are_richer=equal(min(scores["mixture"], scores["flow"]) > scores["one_normal"], True),
        kinds=equal((models["flow"].log_density_kind, models["vae"].log_density_kind), ("exact", "bound")),
        uniform_is_worse=above(scores["mixture"], -math.log(float(np.prod(np.ptp(X, axis=0) + 2)))),
        mostly_noise_loses_at_most_log_100=below(_lost_nats(200, rng), math.log(100) + 1e-9),
    )
    return corrected(truth, likely_rows_make_reliable_samples=above(_real_samples(200, rng), 0.9))


def _lost_nats(columns: int, rng: np.random.Generator) -> float:
    """Nats per row that q = 0.01 p + 0.99 noise gives away on rows of p, a normal law; the noise is 30 times wider."""
    X = rng.normal(size=(500, columns))
    p, noise = _normal_log_densities(X, 1.0), _normal_log_densities(X, 30.0)
    return float(np.mean(p - np.logaddexp(math.log(0.01) + p, math.log(0.99) + noise)))


def _real_samples(columns: int, rng: np.random.Generator) -> float:
    """The fraction of samples of q that are as likely under p as 99 of 100 rows of p are."""
    real = rng.normal(size=(2000, columns))
    samples = rng.normal(size=(2000, columns)) * np.where(rng.random((2000, 1)) < 0.01, 1.0, 30.0)
    threshold = np.quantile(_normal_log_densities(real, 1.0), 0.01)
    return float(np.mean(_normal_log_densities(samples, 1.0) >= threshold))


def _normal_log_densities(X: np.ndarray, width: float) -> np.ndarray:
    return np.sum(-0.5 * (X / width) ** 2 - math.log(width) - 0.5 * math.log(2 * math.pi), axis=1)
