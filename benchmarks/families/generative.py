"""Generative models: densities against scikit-learn's, a VAE and flows against a plain training loop.

The loops have the same network, optimizer, batch size and number of epochs: what is compared is the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measuring.harness import Case, Peer
from margin.data import load
from margin.generative import VAE, NormalizingFlow
from margin.mixture import GaussianMixture
from margin.neighbors.density import KernelDensity

__all__ = ["cases"]

BATCH = 128


def cases(quick: bool) -> list[Case]:
    small = 10 if quick else 1
    epochs = 2 if quick else 20
    return [
        _kernel_density(20_000 // small, 2_000 // small, 3),
        _kernel_density(20_000 // small, 2_000 // small, 3, kernel="tophat"),
        _kernel_density(20_000 // small, 2_000 // small, 3, kernel="epanechnikov", bandwidth=1.5),
        _kernel_density(20_000 // small, 2_000 // small, 3, rtol=1e-3),
        _mixture(50_000 // small, 8, 10),
        _vae(epochs),
        *(_flow(kind, 5_000 // small, epochs) for kind in ("affine-coupling", "autoregressive", "spline-coupling")),
    ]


def _blobs(n: int, p: int, k: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return 4 * rng.normal(size=(k, p))[rng.integers(k, size=n)] + rng.normal(size=(n, p))


def _kernel_density(n: int, m: int, p: int, **settings: Any) -> Case:
    options = {"kernel": "gaussian", "bandwidth": 0.3, **settings}

    def theirs(d: dict[str, np.ndarray]) -> np.ndarray:
        from sklearn.neighbors import KernelDensity as Reference

        return Reference(**options).fit(d["train"]).score_samples(d["test"])

    error = ", error 0.1 % allowed" if "rtol" in options else ""
    return Case(
        f"kernel density, {str(options['kernel']).capitalize()}, bandwidth {options['bandwidth']}{error}",
        f"{n} + {m} x {p}",
        lambda: dict(zip(("train", "test"), np.split(_blobs(n + m, p, 10), [n]))),
        lambda d: KernelDensity(**options).fit(d["train"]).score_samples(d["test"]),
        (Peer("scikit-learn", "sklearn", theirs),),
        lambda _, scores: float(scores[np.isfinite(scores)].mean()),  # a kernel that ends leaves some rows at zero
        "held-out log-density",
    )


def _mixture(n: int, p: int, k: int) -> Case:
    options: dict[str, Any] = {"n_components": k, "max_iter": 50, "tol": 1e-6, "random_state": 0}

    def theirs(X: np.ndarray) -> Any:
        from sklearn.mixture import GaussianMixture as Reference

        return Reference(**options).fit(X)

    return Case(
        f"Gaussian mixture, {k} components",
        f"{n} x {p}",
        lambda: _blobs(n, p, k),
        lambda X: GaussianMixture(**options).fit(X),
        (Peer("scikit-learn", "sklearn", theirs),),
        lambda X, model: float(model.score(X)),
        "log-density",
    )


def _plain_loop(net: Any, loss_of: Callable[[Any], Any], X: np.ndarray, epochs: int) -> Any:
    """What a user of PyTorch writes: DataLoader, Adam with a cosine, one loss per batch."""
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    loader = DataLoader(TensorDataset(torch.from_numpy(X)), batch_size=BATCH, shuffle=True)
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * len(loader))
    for _ in range(epochs):
        for (batch,) in loader:
            optimizer.zero_grad()
            loss_of(batch).backward()
            optimizer.step()
            schedule.step()
    return net


def _vae(epochs: int) -> Case:
    def data() -> np.ndarray:
        return (np.asarray(load("digits").X) >= 8).astype(np.float32)

    def ours(X: np.ndarray) -> float:
        model = VAE(8, (128,), likelihood="bernoulli", standardize=False, batch_size=BATCH, max_iter=epochs)
        return model.set_params(random_state=0).fit(X[:1400]).score(X[1400:])

    def theirs(X: np.ndarray) -> float:
        import torch
        from torch import nn
        from torch.nn import functional

        torch.manual_seed(0)
        encoder = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 16))
        decoder = nn.Sequential(nn.Linear(8, 128), nn.ReLU(), nn.Linear(128, 64))

        def negative_elbo(x: Any) -> Any:
            mean, log_variance = encoder(x).chunk(2, dim=1)
            z = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
            reconstruction = functional.binary_cross_entropy_with_logits(decoder(z), x, reduction="sum")
            kl = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum()
            return (reconstruction + kl) / len(x)

        _plain_loop(nn.ModuleList([encoder, decoder]), negative_elbo, X[:1400], epochs)
        with torch.no_grad():
            return -float(np.mean([float(negative_elbo(torch.from_numpy(X[1400:]))) for _ in range(16)]))

    return Case(
        f"VAE 64-128-8, {epochs} epochs, digits",
        "1400 x 64",
        data,
        ours,
        (Peer("plain PyTorch loop", "torch", theirs),),
        lambda _, score: score,
        "held-out bound",
        memory=False,
    )


def _flow(kind: str, n: int, epochs: int) -> Case:
    blocks, hidden = 4, [64, 64]

    def data() -> np.ndarray:
        X = np.asarray(load("moons", n_samples=n + 1000, noise=0.1, seed=0).X, dtype=np.float32)
        return X

    def ours(X: np.ndarray) -> float:
        model = NormalizingFlow(kind, n_blocks=blocks, hidden_layer_sizes=hidden, batch_size=BATCH, max_iter=epochs)
        model.set_params(clip_norm=None, random_state=0)  # none of the others bounds the gradient
        return model.fit(X[:-1000]).score(X[-1000:])

    def plain(X: np.ndarray) -> float:
        """The same layers of ours in a plain loop."""
        import torch

        from margin.generative.flows import FlowNetwork

        torch.manual_seed(0)
        net = FlowNetwork(2, [kind] * blocks, hidden)
        center, scale = X[:-1000].mean(axis=0), X[:-1000].std(axis=0)
        _plain_loop(net, lambda x: -net(x).mean(), (X[:-1000] - center) / scale, epochs)
        with torch.no_grad():
            return float(net(torch.from_numpy((X[-1000:] - center) / scale)).mean()) - float(np.log(scale).sum())

    def of_library(make: Callable[[], tuple[Any, Callable[[Any], Any]]]) -> Callable[[np.ndarray], float]:
        """A library's flow and its log-density in the same loop."""

        def call(X: np.ndarray) -> float:
            import torch

            torch.manual_seed(0)
            net, log_density = make()
            center, scale = X[:-1000].mean(axis=0), X[:-1000].std(axis=0)
            _plain_loop(net, lambda x: -log_density(x).mean(), (X[:-1000] - center) / scale, epochs)
            with torch.no_grad():
                rows = torch.from_numpy((X[-1000:] - center) / scale)
                return float(log_density(rows).mean()) - float(np.log(scale).sum())

        return call

    return Case(
        f"flow, 4 layers {kind}, {epochs} epochs, moons",
        f"{n} x 2",
        data,
        ours,
        (
            Peer("plain PyTorch loop", "torch", plain),
            Peer("zuko", "zuko", of_library(lambda: _zuko(kind, blocks, hidden))),
            Peer("normflows", "normflows", of_library(lambda: _normflows(kind, blocks, hidden))),
        ),
        lambda _, score: score,
        "held-out log-density",
        rounds=2,
        memory=False,
    )


def _zuko(kind: str, blocks: int, hidden: list[int]) -> tuple[Any, Callable[[Any], Any]]:
    import zuko

    make = {
        "affine-coupling": zuko.flows.RealNVP,
        "autoregressive": zuko.flows.MAF,
        "spline-coupling": zuko.flows.NSF,
    }
    flow = make[kind](2, 0, transforms=blocks, hidden_features=hidden)
    return flow, lambda x: flow().log_prob(x)


def _normflows(kind: str, blocks: int, hidden: list[int]) -> tuple[Any, Callable[[Any], Any]]:
    import normflows as nf

    layers: list[Any] = []
    for k in range(blocks):
        if kind == "affine-coupling":
            layers.append(nf.flows.AffineCouplingBlock(nf.nets.MLP([1, *hidden, 2], init_zeros=True)))
            layers.append(nf.flows.Permute(2, mode="swap"))
        elif kind == "autoregressive":
            layers.append(nf.flows.MaskedAffineAutoregressive(2, hidden[0], num_blocks=len(hidden)))
            layers.append(nf.flows.Permute(2, mode="swap"))
        else:
            layers.append(nf.flows.CoupledRationalQuadraticSpline(2, len(hidden), hidden[0], reverse_mask=bool(k % 2)))
    flow = nf.NormalizingFlow(nf.distributions.DiagGaussian(2, trainable=False), layers)
    return flow, flow.log_prob
