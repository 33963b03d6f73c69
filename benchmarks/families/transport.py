"""Optimal transport against POT: exact on a line, exact in space, entropic. The quality is the objective reached."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measuring.harness import Case, Peer
from margin.foundations.transport import cost_matrix, sinkhorn, solve, wasserstein_1d

__all__ = ["cases"]

Data = dict[str, Any]


def cases(quick: bool) -> list[Case]:
    lines = (10_000,) if quick else (10_000, 100_000, 1_000_000)
    plans = (200,) if quick else (200, 1000, 2000)
    return [
        *(_on_a_line(n, weighted) for n in lines for weighted in (False, True)),
        *(_exact(n, d, weighted) for n in plans for d in (2, 10) for weighted in (False, True)),
        *(_entropic(n) for n in plans),
    ]


def _case(
    name: str, size: str, data: Callable[[], Data], ours: Callable[[Data], float], peer: Callable[[Data], float]
) -> Case:
    return Case(
        name, size, data, ours, (Peer("POT", "ot", peer),), lambda _, objective: objective, "objective", rounds=5
    )


def _on_a_line(n: int, weighted: bool) -> Case:
    def data() -> Data:
        rng = np.random.default_rng(0)
        weights = [rng.dirichlet(np.ones(n)) for _ in range(2)] if weighted else []
        return {"points": (rng.normal(size=n), rng.normal(1.0, 2.0, size=n)), "weights": weights}

    def peer(d: Data) -> float:
        import ot

        return float(ot.wasserstein_1d(*d["points"], *d["weights"], p=2))

    name = "1-D weighted, p=2" if weighted else "1-D, p=2"
    return _case(name, str(n), data, lambda d: wasserstein_1d(*d["points"], 2, *d["weights"]) ** 2, peer)


def _exact(n: int, d: int, weighted: bool) -> Case:
    def data() -> Data:
        rng = np.random.default_rng(0)
        M = cost_matrix(rng.normal(size=(n, d)), rng.normal(size=(n, d)) + 1.0)
        even = np.full(n, 1.0 / n)
        masses = [rng.dirichlet(np.ones(n)) for _ in range(2)] if weighted else [even, even]
        return {"a": masses[0], "b": masses[1], "M": M}

    def peer(d: Data) -> float:
        import ot

        return float(np.vdot(ot.emd(d["a"], d["b"], d["M"], numItermax=10**8), d["M"]))

    name = "exact weighted" if weighted else "assignment"
    return _case(name, f"{n} in {d}-D", data, lambda d: solve(d["a"], d["b"], d["M"], "network").cost, peer)


def _entropic(n: int, reg: float = 0.5, tol: float = 1e-7) -> Case:
    """POT stops by the Euclidean norm of the marginal's error, ours by its sum: equal for an error spread evenly."""

    def data() -> Data:
        rng = np.random.default_rng(0)
        M = cost_matrix(rng.normal(size=(n, 2)), rng.normal(size=(n, 2)) + 1.0)
        return {"a": np.full(n, 1.0 / n), "M": M}

    def peer(d: Data) -> float:
        import ot

        stop = tol / np.sqrt(n)
        plan = ot.sinkhorn(d["a"], d["a"], d["M"], reg, method="sinkhorn", stopThr=stop, numItermax=10_000)
        return float(np.vdot(plan, d["M"]))

    return _case(
        f"Sinkhorn, reg {reg:g}", str(n), data, lambda d: sinkhorn(d["a"], d["a"], d["M"], reg, tol=tol).cost, peer
    )
