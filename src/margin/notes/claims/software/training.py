"""Frameworks that agree, checkpoints that continue exactly, and gradients that add up over processes."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from margin.core.verdict import Verdict, below, corrected, equal, every, near, raises
from margin.notes import atlas
from margin.notes.claims import claim


@claim("framework-cross-check")
def the_2_1_2_network_agrees_with_torch_and_numpy(seed: int) -> Verdict:
    import torch
    from torch import nn

    from margin.neural.nets.mlp import MLP
    from margin.neural.weights import build, copy_weights, load_weights

    weights = {
        "linears.0.weight": np.array([[0.5, -0.5]]),
        "linears.0.bias": np.array([0.1]),
        "linears.1.weight": np.array([[0.7], [0.3]]),
        "linears.1.bias": np.array([0.2, -0.2]),
    }
    net = build(lambda: MLP([2, 1, 2]), seed, torch.float64)
    load_weights(net, weights)  # into ours
    exported = copy_weights(net)  # and out again
    framework = nn.Sequential(nn.Linear(2, 1), nn.ReLU(), nn.Linear(1, 2), nn.ReLU()).double()
    framework.load_state_dict(
        {name.replace("linears.0", "0").replace("linears.1", "2"): torch.from_numpy(w) for name, w in exported.items()}
    )

    def numpy_forward(x: np.ndarray) -> np.ndarray:
        h = np.maximum(x @ exported["linears.0.weight"].T + exported["linears.0.bias"], 0)
        return np.maximum(h @ exported["linears.1.weight"].T + exported["linears.1.bias"], 0)

    x = np.concatenate([[[5.0, 2.0]], np.random.default_rng(seed).normal(size=(20, 2))])
    with torch.inference_mode():
        ours = net(torch.from_numpy(x)).relu().numpy()
        theirs = framework(torch.from_numpy(x)).numpy()
    return every(
        numbers=near(ours[0], atlas.row("framework-cross-check").values["outputs"], tolerance=1e-12),
        torch=near(theirs, ours, tolerance=1e-12),
        numpy=near(numpy_forward(x), ours, tolerance=1e-12),
        round_trip=equal([bool((exported[name] == w).all()) for name, w in weights.items()], [True] * 4),
    )


@claim("checkpoint")
def a_checkpoint_continues_to_the_same_bits(seed: int) -> Verdict:
    import margin

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=120) > 0).astype(int)

    def make() -> Any:
        return margin.MLPClassifier(
            (6,), max_iter=200, batch_size=20, learning_rate_init=0.03, early_stopping=True, validation_fraction=0.3,
            n_iter_no_change=3, random_state=seed,
        )  # fmt: skip

    uninterrupted = make()
    records = list(uninterrupted.iterate(X, y))
    losses = [record["valid_loss"] for record in records]
    best = make()
    for record in best.iterate(X, y):
        if record.iteration == records[int(np.argmin(losses))].iteration:
            break
    half = make()
    list(islice(half.iterate(X, y), 5))
    resumed = make()
    list(resumed.iterate(X, y, state=half.get_state()))
    with TemporaryDirectory() as name:
        margin.save(uninterrupted, Path(name) / "model.ckpt")
        loaded = margin.load(Path(name) / "model.ckpt")
        killed = _killed_and_continued(make(), X, y, Path(name) / "run")
    return every(
        file=equal(_same(loaded.weights_, uninterrupted.weights_), True),
        resumed=equal(_same(resumed.weights_, uninterrupted.weights_), True),
        killed_run=equal(_same(killed.weights_, uninterrupted.weights_), True),
        lowest_validation_loss=equal(_same(best.weights_, uninterrupted.weights_), True),
        not_the_last=equal(int(np.argmin(losses)) < len(losses) - 1, True),
    )


def _killed_and_continued(model: Any, X: np.ndarray, y: np.ndarray, folder: Path) -> Any:
    """The model after a run that was interrupted at its fourth record and then called again."""
    import margin

    seen: list[Any] = []

    def stop(_model: Any, record: Any) -> None:
        seen.append(record)
        if len(seen) == 4:
            raise KeyboardInterrupt

    try:
        with margin.watch(stop):
            margin.fit(model, X, y, run=folder, checkpoint_seconds=0.0)
    except KeyboardInterrupt:
        pass
    return margin.fit(model, X, y, run=folder)


def _same(ours: dict[str, np.ndarray], others: dict[str, np.ndarray]) -> bool:
    return all(np.array_equal(ours[name], array) for name, array in others.items())


@claim("data-parallel")
def replicas_in_processes_add_up_to_one_gradient(seed: int) -> Verdict:
    import torch
    from torch.nn import functional

    from margin.neural.nets.mlp import MLP
    from margin.neural.training.replicas import data_parallel, replica_gradients
    from margin.neural.weights import build

    rng = np.random.default_rng(seed)
    x, y = torch.from_numpy(rng.normal(size=(5, 3))).float(), torch.from_numpy(rng.integers(0, 2, 5))
    net = build(lambda: MLP([3, 4, 2]), seed)
    single = functional.cross_entropy(net(x), y)
    expected = torch.autograd.grad(single, list(net.parameters()))

    def gap(gradients: Any) -> float:
        return max(float((summed - exact).abs().max()) for summed, exact in zip(gradients, expected))

    value = data_parallel(net, functional.cross_entropy, x, y, n_workers=2)
    pieces = list(zip(x.tensor_split(2), y.tensor_split(2)))  # of 3 and 2 rows
    by_hand = [replica_gradients(net, functional.cross_entropy, *piece, 5)[1] for piece in pieces]
    means = [replica_gradients(net, functional.cross_entropy, *piece, len(piece[0]))[1] for piece in pieces]
    truth = every(
        processes=below(gap([p.grad for p in net.parameters()]), 1e-6),
        loss=near(value, single.item(), tolerance=1e-6),
        weighed_pieces=below(gap([sum(parts) for parts in zip(*by_hand)]), 1e-6),
        too_small_a_batch=raises(
            ValueError, lambda: data_parallel(net, functional.cross_entropy, x[:1], y[:1], 2), match="each worker"
        ),
    )
    return corrected(
        truth,
        plain_average_of_replica_means=below(gap([sum(parts) / 2 for parts in zip(*means)]), 1e-6),
        plain_sum_of_replica_means=below(gap([sum(parts) for parts in zip(*means)]), 1e-6),
    )
