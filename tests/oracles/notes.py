"""What experiments compute for their pictures, by other means."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize, stats
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.notes.experiments import (
    cholesterol_regression,
    disc_lift,
    entropy_levels,
    landscape_of_batches,
    translated_templates,
    transport_coupling,
)

PATH = "margin.notes.experiments"


@oracle(f"{PATH}.disc_lift.bump", f"{PATH}.disc_lift.floor_ceil_decision")
def discs_point_by_point(seed: int) -> Verdict:
    x, y = np.random.default_rng(seed).uniform(-2, 2, size=(2, 50))
    inside = [a * a + b * b < 1 for a, b in zip(x, y)]
    heights = [1 - a * a - b * b if within else 0.0 for a, b, within in zip(x, y, inside)]
    return every(
        heights=near(disc_lift.bump(x, y), heights, tolerance=1e-12),
        decisions=equal(disc_lift.floor_ceil_decision(x, y).tolist(), [0.0 if within else 1.0 for within in inside]),
    )


@oracle(f"{PATH}.entropy_levels.run")
def bits_of_the_groups(seed: int) -> Verdict:
    data = entropy_levels.run(seed, fast=True)
    counted = [np.bincount(group) for group in data["items"]]
    return every(
        bits=near(data["bits"], [stats.entropy(counts, base=2) for counts in counted], tolerance=1e-10),
        places=equal([len(places) for places in data["positions"]], [len(group) for group in data["items"]]),
    )


@oracle(f"{PATH}.landscape_of_batches.run")
def losses_of_batches(seed: int) -> Verdict:
    """The whole loss is the mean of the batches' losses; each least point of a batch solves its own equations."""
    data = landscape_of_batches.run(seed, fast=True)
    step = np.array([data["a"][0, 1] - data["a"][0, 0], data["b"][1, 0] - data["b"][0, 0]])
    parts: dict[str, Any] = {}
    for k, (surface, least) in enumerate(zip(data["batch"], data["batch_minima"])):
        i, j = np.unravel_index(surface.argmin(), surface.shape)
        found = np.array([data["a"][i, j], data["b"][i, j]])
        inside = 0 < i < surface.shape[0] - 1 and 0 < j < surface.shape[1] - 1
        parts[f"batch_{k}"] = equal(bool(not inside or np.all(np.abs(found - least) < 2.5 * step)), True)
    path = data["paths"]["full batch"]
    losses = data["losses"]["full batch"]
    ratio = (losses[1:] - losses[-1]) <= (losses[:-1] - losses[-1]) + 1e-12
    return every(
        mean=near(data["full"], data["batch"].mean(axis=0), tolerance=1e-9),
        descends=equal(bool(ratio.all()), True),
        ends_at_the_minimum=near(path[-1], data["minimum"], tolerance=0.05),
        **parts,
    )


@oracle(f"{PATH}.cholesterol_regression.run")
def plane_of_patients(seed: int) -> Verdict:
    data = cholesterol_regression.run(seed, fast=True)
    train, test = data["train"], data["test"]
    rows = np.column_stack([np.ones(len(data["X"])), data["X"]])
    theta = np.linalg.solve(rows[train].T @ rows[train], rows[train].T @ data["y"][train])
    fitted = rows @ theta
    age, bmi, plane = data["plane"]
    return every(
        theta=near(data["theta"], theta, tolerance=1e-6),
        errors=near(
            data["errors"], [np.mean((data["y"][part] - fitted[part]) ** 2) for part in (train, test)], tolerance=1e-6
        ),
        plane=near(plane, theta[0] + theta[1] * age + theta[2] * bmi, tolerance=1e-6),
        parts=equal(sorted([*train, *test]), list(range(len(rows)))),
    )


@oracle(f"{PATH}.transport_coupling.run")
def masses_moved(seed: int) -> Verdict:
    """Marginals of the plan, the distance by SciPy, and the squared cost by a linear program of our own."""
    data = transport_coupling.run(seed, fast=True)
    x, mu, nu, plan = (data[name] for name in ("x", "mu", "nu", "plan"))
    distance = stats.wasserstein_distance(x, x, mu, nu)
    n = len(x)
    sums = np.concatenate([np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))])
    squares = (x[:, None] - x) ** 2
    least = optimize.linprog(squares.ravel(), A_eq=sums[:-1], b_eq=np.concatenate([mu, nu])[:-1]).fun
    product = sum(mu[i] * nu[j] * abs(x[i] - x[j]) for i in range(n) for j in range(n))
    return every(
        rows=near(plan.sum(axis=1), mu, tolerance=1e-8),
        columns=near(plan.sum(axis=0), nu, tolerance=1e-8),
        least=near(float((plan * squares).sum()), least, tolerance=1e-8),
        costs=near(list(data["costs"].values()), [distance] * 3 + [product], tolerance=1e-7),
    )


@oracle(f"{PATH}.translated_templates.signals")
def templates_wherever_they_stand(seed: int) -> Verdict:
    """Without noise every signal is 0 outside of a window, and what stands in it is the class's template, scaled."""
    X, labels = translated_templates.signals(seed, 60, noise=0.0)
    shapes: dict[int, list[np.ndarray]] = {}
    starts = set()
    for row, label in zip(X, labels):
        held = np.flatnonzero(row)
        starts.add(int(held[0]))
        shapes.setdefault(int(label), []).append(row[held[0] : held[-1] + 1])
    gaps = [np.abs(a / np.abs(a).max() - b[0] / np.abs(b[0]).max()).max() for b in shapes.values() for a in b]
    heights = [np.abs(row).max() for row in X]
    return every(
        same_shape=near(gaps, np.zeros(60), tolerance=1e-9),
        widths=equal({len(a) for b in shapes.values() for a in b} <= {12, 11, 10}, True),
        heights=equal(bool(min(heights) >= 0.8 and max(heights) <= 1.2), True),
        classes=equal(sorted(shapes), list(range(10))),
        places=equal(len(starts) > 10, True),
    )
