"""Update rules of descent against their recursions written out, at settings that are not the usual ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.oracles import oracle

from margin.core.verdict import Verdict, every, near
from margin.optimize import rules
from margin.optimize.finite_sum import FiniteSum, sgd

PATH = "margin.optimize.rules"
RATE = 0.07


def gradients(seed: int) -> np.ndarray:
    return np.random.default_rng([seed, 13]).normal(size=(6, 3)) * [1.0, 30.0, 0.02]


def steps_of(rule: Any, seed: int) -> np.ndarray:
    """The steps of a rule that is handed the gradients one after the other, from x = (1, -2, 0.5)."""
    x = np.array([1.0, -2.0, 0.5])
    state = rule.start(x)
    steps: list[np.ndarray] = []
    for gradient in gradients(seed):
        state, step = rule.update(state, gradient, x, RATE)
        x = x + step
        steps.append(step)
    return np.array(steps)


@oracle(f"{PATH}.Momentum", f"{PATH}.Nesterov")
def momentum(seed: int) -> Verdict:
    velocities = [np.zeros(3)]
    for g in gradients(seed):
        velocities.append(0.8 * velocities[-1] + g)
    sums = np.array(velocities[1:])
    shifted = rules.Nesterov(0.8, shifted=True)
    looking = rules.Nesterov(0.8)
    x = np.array([1.0, -2.0, 0.5])
    state, _ = looking.update(looking.start(x), gradients(seed)[0], x, RATE)
    return every(
        sum=near(steps_of(rules.Momentum(0.8), seed), -RATE * sums, tolerance=1e-12),
        unscaled=near(steps_of(rules.Momentum(0.8, "unscaled"), seed), -RATE * sums, tolerance=1e-12),
        average=near(steps_of(rules.Momentum(0.8, "average"), seed), -RATE * 0.2 * sums, tolerance=1e-12),
        nesterov=near(steps_of(looking, seed), -RATE * sums, tolerance=1e-12),
        nesterov_shifted=near(steps_of(shifted, seed), -RATE * (gradients(seed) + 0.8 * sums), tolerance=1e-12),
        looks_ahead=near(looking.point(state, x), x - 0.8 * RATE * gradients(seed)[0], tolerance=1e-12),
    )


@oracle(
    f"{PATH}.AdaGrad",
    f"{PATH}.RMSProp",
    f"{PATH}.AdaDelta",
)
def running_squares(seed: int) -> Verdict:
    g = gradients(seed)
    total, average, of_steps = np.zeros(3), np.zeros(3), np.zeros(3)
    adagrad, without_root, rmsprop, adadelta = [], [], [], []
    mean = np.zeros(3)
    for gradient in g:
        total = total + gradient**2
        average = 0.7 * average + 0.3 * gradient**2
        adagrad.append(-RATE * gradient / (np.sqrt(total) + 0.02))
        without_root.append(-RATE * gradient / (total + 0.02))
        rmsprop.append(-RATE * gradient / (np.sqrt(average) + 0.02))
        mean = 0.6 * mean + 0.4 * gradient**2
        move = -np.sqrt(of_steps + 0.02) / np.sqrt(mean + 0.02) * gradient
        of_steps = 0.6 * of_steps + 0.4 * move**2
        adadelta.append(RATE * move)
    return every(
        adagrad=near(steps_of(rules.AdaGrad(0.02), seed), adagrad, tolerance=1e-12),
        adagrad_without_root=near(steps_of(rules.AdaGrad(0.02, root=False), seed), without_root, tolerance=1e-12),
        rmsprop=near(steps_of(rules.RMSProp(0.7, 0.02), seed), rmsprop, tolerance=1e-12),
        adadelta=near(steps_of(rules.AdaDelta(0.6, 0.02), seed), adadelta, tolerance=1e-12),
    )


@oracle("margin.optimize.rules.Rule", "margin.optimize.rules.AdamW", f"{PATH}.Adam")
def adam(seed: int) -> Verdict:
    x, m, v = np.array([1.0, -2.0, 0.5]), np.zeros(3), np.zeros(3)
    decayed, plain = [], []
    for t, gradient in enumerate(gradients(seed), start=1):
        m, v = 0.6 * m + 0.4 * gradient, 0.9 * v + 0.1 * gradient**2
        step = -RATE * (m / (1 - 0.6**t)) / (np.sqrt(v / (1 - 0.9**t)) + 0.02)
        plain.append(step)
        decayed.append(step - RATE * 0.3 * x)
        x = x + decayed[-1]
    return every(
        plain=near(steps_of(rules.Adam(0.6, 0.9, 0.02), seed), plain, tolerance=1e-12),
        decayed=near(steps_of(rules.AdamW(0.6, 0.9, 0.02, weight_decay=0.3), seed), decayed, tolerance=1e-12),
    )


@oracle("margin.optimize.finite_sum.sgd")
def descent_by_batches(seed: int) -> Verdict:
    """Least squares by pairs of rows, two epochs, the updates written out."""
    rng = np.random.default_rng(seed)
    A, b, start = rng.normal(size=(7, 3)), rng.normal(size=7), np.array([1.0, -2.0, 0.5])
    problem = FiniteSum(
        7,
        lambda x, rows: 0.5 * (A[rows] @ x - b[rows]) ** 2,
        lambda x, rows: A[rows] * (A[rows] @ x - b[rows])[:, None],
    )
    records = list(sgd(problem, start, learning_rate=RATE, batch_size=2, epochs=2))
    x, points = start, [start]
    for _ in range(2):
        for first in (0, 2, 4, 6):
            rows = slice(first, first + 2)
            x = x - RATE * A[rows].T @ (A[rows] @ x - b[rows]) / len(b[rows])
            points.append(x)
    joined = list(sgd(problem, start, learning_rate=RATE, batch_size=2, epochs=1, accumulate=2, max_norm=0.3))
    slowing, slower = list(sgd(problem, start, learning_rate=lambda t: RATE / (1 + t), batch_size=7, epochs=3)), [start]
    for t in range(3):
        slower.append(slower[-1] - RATE / (1 + t) * A.T @ (A @ slower[-1] - b) / 7)
    gradient = A[:4].T @ (A[:4] @ start - b[:4]) / 4
    move = RATE * gradient * min(1.0, 0.3 / np.linalg.norm(gradient))
    return every(
        points=near([record.x for record in records], points, tolerance=1e-10),
        loss=near(records[1]["value"], 0.5 * np.mean((A[:2] @ start - b[:2]) ** 2), tolerance=1e-10),
        slope=near(records[0]["gradient_norm"], np.linalg.norm(A.T @ (A @ start - b) / 7), tolerance=1e-10),
        moved=near(records[3]["step_size"], np.linalg.norm(points[3] - points[2]), tolerance=1e-10),
        counted=near([record["evaluations"] for record in records], [0, 2, 4, 6, 7, 9, 11, 13, 14], tolerance=0),
        epochs=near([record["epoch"] for record in records], [0, 1, 1, 1, 1, 2, 2, 2, 2], tolerance=0),
        joined=near(joined[1].x, start - move, tolerance=1e-10),
        slowing=near([record.x for record in slowing], slower, tolerance=1e-10),
        end=near([records[0].total, joined[0].total], [8, 2], tolerance=0),
    )
