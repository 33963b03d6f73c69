"""Line searches, derivatives, flows and searches against their conditions, SciPy's solvers and steps written out."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import linalg, optimize
from tests.oracles import oracle

from margin.core.verdict import Verdict, below, equal, every, near
from margin.optimize import bisect, conjugate, derivatives, evolution, flow, interior_point, line_searches, problems
from margin.optimize.rate_search import RateSweep, rate_range_test
from margin.optimize.second_order import escape_direction

PATH = "margin.optimize"


@oracle(f"{PATH}.problems.least_squares")
def sums_of_losses(seed: int) -> Verdict:
    """Values written out, slopes and curvature by SciPy's differences, all rows or some."""
    rng = np.random.default_rng(seed)
    X, y, theta, rows = rng.normal(size=(7, 3)), rng.normal(size=7), rng.normal(size=3), np.array([5, 0, 2])
    problem, signs = problems.least_squares(X, y), np.sign(y)
    logistic = problems.LogisticProblem(X, signs, 0.3)
    squares = lambda t: np.mean((X[rows] @ t - y[rows]) ** 2)  # noqa: E731
    loss = lambda t: np.mean(np.log(1 + np.exp(-signs * (X @ t)))) + 0.15 * t @ t  # noqa: E731
    value, slope = logistic.value_and_gradient(theta)
    slopes = problem.gradients(theta, rows)
    curvature = np.array([(logistic.value_and_gradient(theta + h)[1] - logistic.value_and_gradient(theta - h)[1]) / 2e-5
                          for h in 1e-5 * np.eye(3)])  # fmt: skip
    return every(
        losses=near(problem.losses(theta, rows), [(X[i] @ theta - y[i]) ** 2 for i in rows], tolerance=1e-10),
        slopes=near(slopes, [2 * (X[i] @ theta - y[i]) * X[i] for i in rows], tolerance=1e-10),
        slope=near(slopes.mean(axis=0), optimize.approx_fprime(theta, squares, 1e-7), tolerance=1e-4),
        mean=near(problem.gradient(theta), 2 * X.T @ (X @ theta - y) / 7, tolerance=1e-10),
        value=near(problem.value(theta), np.mean((X @ theta - y) ** 2), tolerance=1e-10),
        logistic=near(value, loss(theta), tolerance=1e-10),
        logistic_slope=near(slope, optimize.approx_fprime(theta, loss, 1e-7), tolerance=1e-5),
        curvature=near(logistic.hessian(theta), curvature, tolerance=1e-7),
        product=near(logistic.hessian_product(theta, y[:3]), curvature @ y[:3], tolerance=1e-7),
    )


@oracle(f"{PATH}.derivatives.numerical_gradient", f"{PATH}.derivatives.numerical_hessian")
def differences(seed: int) -> Verdict:
    """At numbers near 1e8, where a step that does not grow with them would round to nothing, and at small ones."""
    u = np.random.default_rng(seed).normal(size=3)
    parts: dict[str, Verdict] = {}
    for size in (1.0, 1e8):
        x = size * (u + 3)
        f = lambda v, s=size: float(np.prod(v / s) + (v[0] / s) ** 3)  # noqa: E731
        a, b, c = x / size
        slope = np.array([b * c + 3 * a * a, a * c, a * b])
        curvature = np.array([[6 * a, c, b], [c, 0, a], [b, a, 0]])

        def grad(v: np.ndarray, s: float = size) -> np.ndarray:
            a, b, c = v / s
            return np.array([b * c + 3 * a * a, a * c, a * b]) / s

        parts |= {
            f"slope_{size:g}": near(size * derivatives.numerical_gradient(f, x), slope, tolerance=1e-6),
            f"curvature_{size:g}": near(size**2 * derivatives.numerical_hessian(f, x), curvature, tolerance=1e-4),
            f"of_slopes_{size:g}": near(
                size**2 * derivatives.numerical_hessian(f, x, grad=grad), curvature, tolerance=1e-6
            ),
        }
    return every(**parts)


@oracle(*(f"{PATH}.line_searches.{name}" for name in ("strong_wolfe", "backtracking", "bracket", "golden_section")))
def steps_along_a_line(seed: int) -> Verdict:
    """The conditions themselves, with constants so strict that a step which breaks them is near."""
    rng = np.random.default_rng(seed)
    parts: dict[str, Verdict] = {}
    for k in range(12):
        bend, wave, first = float(rng.uniform(0.3, 3)), float(rng.uniform(0, 0.8)), float(rng.choice([0.01, 1.0, 30.0]))
        phi = lambda t, b=bend, w=wave: b * t * t - t + w * np.sin(2 * t) ** 2  # noqa: E731
        slope = lambda t, b=bend, w=wave: 2 * b * t - 1 + 2 * w * np.sin(4 * t)  # noqa: E731
        probe = lambda t: line_searches.Probe(t, phi(t), slope(t), np.zeros(1))  # noqa: E731,B023
        accepted = line_searches.strong_wolfe(probe, probe(0.0), first=first, c1=0.35, c2=0.4)
        a, b, c = line_searches.bracket(phi, first)
        low = line_searches.golden_section(phi, a, c)
        assert accepted is not None
        parts[f"decrease_{k}"] = below(phi(accepted.alpha) + 0.35 * accepted.alpha, 1e-12)
        parts[f"flat_{k}"] = below(abs(slope(accepted.alpha)), 0.4 + 1e-12)
        parts[f"bracket_{k}"] = equal(bool(a < b < c and phi(b) <= phi(a) and phi(b) <= phi(c)), True)
        parts[f"lowest_{k}"] = below(abs(slope(low)), 1e-4)
    # (t - 1)^2 - 1 falls by 0.1 of the slope's promise up to t = 1.8; at 4, 2, then 1 it must end at 1.
    square = lambda t: line_searches.Probe(t, (t - 1) ** 2, 2 * (t - 1), np.zeros(1))  # noqa: E731
    stopped = line_searches.strong_wolfe(square, square(0.0), first=1.35, c1=0.4, c2=0.45)  # flat, but not low enough
    high = lambda t: line_searches.Probe(t, 50 * (t - 1) ** 2, 100 * (t - 1), np.zeros(1))  # noqa: E731
    taken = line_searches.strong_wolfe(high, high(0.0), first=1.3, c1=0.1, c2=0.45)  # good enough as it is
    tripled = line_searches.bracket(lambda t: (t - 10) ** 2, 1.0)
    golden = (1 + 5**0.5) / 2
    halved = line_searches.backtracking(lambda t: (t - 1) ** 2 - 1, 0.0, -2.0, first=4.0)
    # Just below the start but far above the line: refused, and the half of it taken.
    shallow = line_searches.backtracking(lambda t: -5e-5 * t if t > 0.7 else -t, 0.0, -1.0, first=1.0)
    steep = line_searches.backtracking(lambda t: -5e-4 * t if t > 0.1 else -t, 0.0, -4.0, first=0.25)
    assert None not in (halved, shallow, steep)
    return every(
        **parts,
        halved=near(halved, (1.0, -1.0), tolerance=1e-12),
        shallow=near(shallow, (0.5, -0.5), tolerance=1e-12),
        low_enough=below(stopped.alpha if stopped else np.inf, 1.2),
        taken=near(taken.alpha if taken else np.inf, 1.3, tolerance=1e-12),
        tripled=near(tripled, (2 + 2 * golden, 3 + 4 * golden, 5 + 7 * golden), tolerance=1e-9),
        steep=near(steep, (0.25, -1.25e-4), tolerance=1e-12),
    )


@oracle(f"{PATH}.conjugate.conjugate_gradient", f"{PATH}.conjugate.steepest_descent")
def quadratics(seed: int) -> Verdict:
    """As far as the first steps go by hand, to SciPy's solution, and ten steps per unknown at most."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(4, 4))
    A, b = root @ root.T + 0.5 * np.eye(4), rng.normal(size=4)
    steps = list(conjugate.conjugate_gradient(A, b, tol=1e-10))
    endless = list(conjugate.conjugate_gradient(linalg.hilbert(9), np.ones(9), tol=1e-300))
    slow = list(conjugate.steepest_descent(A, b, max_iter=2, tol=1e-300))
    first = (b @ b) / (b @ A @ b) * b
    r = b - A @ first
    second = first + (r @ r) / (r @ A @ r) * r
    spanned = linalg.lstsq(A @ np.column_stack([b, A @ b]), b)[0]
    best = np.column_stack([b, A @ b]) @ linalg.solve(
        np.column_stack([b, A @ b]).T @ A @ np.column_stack([b, A @ b]), np.column_stack([b, A @ b]).T @ b
    )
    assert len(spanned) == 2
    return every(
        first=near(steps[1].x, first, tolerance=1e-10),
        second=near(steps[2].x, best, tolerance=1e-8),
        solved=near(steps[-1].x, linalg.solve(A, b), tolerance=1e-7),
        steepest=near(slow[2].x, second, tolerance=1e-10),
        limit=equal(endless[-1].iteration, 90),
    )


@oracle(f"{PATH}.second_order.escape_direction", f"{PATH}.rate_search.rate_range_test")
def saddles_and_rates(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    Q = linalg.qr(rng.normal(size=(3, 3)))[0]
    escapes: list[Any] = [escape_direction(size * (Q * [-0.3, 1.0, 2.0]) @ Q.T) for size in (1e-8, 1.0, 1e8)]
    bowl = [escape_direction(size * (Q * [-1e-14, 1.0, 2.0]) @ Q.T) for size in (1e-8, 1.0, 1e8)]
    start, rates, calls = np.array([1.0, -2.0]), [0.5, 0.05, 1.2], np.array([1.0, 3.0])
    sweep = rate_range_test(lambda x: float(calls @ x**2), lambda x: 2 * calls * x, start, rates, steps=3)
    losses = [float(calls @ (start * (1 - 2 * r * calls) ** 3) ** 2) for r in sorted(rates)]
    slow = RateSweep(np.array([0.1, 0.2, 0.4, 0.8]), np.array([9.0, 3.0, 4.0, 8.5]), 8.0)  # the first step led uphill
    return every(
        limit_is_above_the_best=near([slow.best, slow.limit], [0.2, 0.8], tolerance=1e-12),
        directions=near([abs(v @ Q[:, 0]) for v in escapes], np.ones(3), tolerance=1e-9),
        bowl=equal([v is None for v in bowl], [True] * 3),
        losses=near(sweep.losses, losses, tolerance=1e-6),
        start=near(sweep.start, 13.0, tolerance=1e-12),
        best=near([sweep.best, sweep.suggestion, sweep.limit], [0.05, 0.05 / 3, 0.5], tolerance=1e-12),
    )


@oracle(*(f"{PATH}.flow.{name}" for name in ("gradient_flow", "modified_field", "modified_loss")))
def flows(seed: int) -> Verdict:
    """A quadratic flows by the matrix exponential; the modified field is the slope of the modified loss."""
    rng = np.random.default_rng(seed)
    root, start, rate = rng.normal(size=(3, 3)), rng.normal(size=3), 0.13
    H = root @ root.T
    path = flow.gradient_flow(lambda x: H @ x, start, 0.8, points=3)
    loss = lambda x: flow.modified_loss(0.5 * x @ H @ x, H @ x, rate)  # noqa: E731
    return every(
        flow=near(path, [linalg.expm(-t * H) @ start for t in (0.0, 0.4, 0.8)], tolerance=1e-8),
        loss=near(loss(start), 0.5 * start @ H @ start + rate / 4 * start @ H @ H @ start, tolerance=1e-10),
        field=near(flow.modified_field(H @ start, H, rate), optimize.approx_fprime(start, loss, 1e-7), tolerance=1e-4),
    )


def _generations(seed: int) -> dict[str, Verdict]:
    """The same draws, generation by generation: mutations narrow, the best two stay, steps are those of the best."""
    f, low, high = lambda x: float((x[0] - 1.0) ** 2 + abs(x[1])), np.array([-2.0, 1.0]), np.array([3.0, 5.0])
    records = list(evolution.genetic(f, np.stack([low, high], axis=1), rng=np.random.default_rng(seed), population=9,
                                  generations=4, mutation=0.3))  # fmt: skip
    rng = np.random.default_rng(seed)
    people = low + (high - low) * rng.random((9, 2))
    best = [min(people, key=f)]
    for width in (0.8, 0.6, 0.4, 0.2):
        heights = np.array([f(x) for x in people])
        made = evolution._children(people, heights, 7, 0.3 * width * (high - low), rng)
        people = np.vstack([people[np.argsort(heights, kind="stable")[:2]], np.clip(made, low, high)])
        best.append(min(people, key=f))
    steps = [0.0, *(float(np.linalg.norm(b - a)) for a, b in pairwise(best))]
    return {
        "best": near([record.x for record in records], best, tolerance=1e-12),
        "values": near([record["value"] for record in records], [f(x) for x in best], tolerance=1e-12),
        "steps": near([record["step_size"] for record in records], steps, tolerance=1e-12),
    }


@oracle(f"{PATH}.evolution.genetic", f"{PATH}.interior_point.quadratic_program")
def populations_and_programs(seed: int) -> Verdict:
    """How often the function is asked, that nothing leaves the box, and a program against SciPy's."""
    rng = np.random.default_rng(seed)
    evaluated: list[np.ndarray] = []

    def f(x: np.ndarray) -> float:
        evaluated.append(x.copy())
        return float((x[0] - 1.0) ** 2 + 3 * (x[1] + 0.5) ** 2)

    records = list(evolution.genetic(f, [[-2.0, 3.0], [-1.0, 0.0]], rng=rng, population=30, generations=40, elite=3))
    people = np.array(evaluated)
    first = people[:30]
    root, q, G = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=(4, 3))
    P, h, A, b = root @ root.T + 0.2 * np.eye(3), np.abs(rng.normal(size=4)), rng.normal(size=(1, 3)), [0.0]
    solution = interior_point.quadratic_program(P, q, A, b, G, h)
    rules = [{"type": "ineq", "fun": lambda x: h - G @ x}, {"type": "eq", "fun": lambda x: A @ x}]
    theirs = optimize.minimize(lambda x: 0.5 * x @ P @ x + q @ x, np.zeros(3), constraints=rules, tol=1e-12)
    return every(
        **_generations(seed),
        records=equal([record.iteration for record in records], list(range(41))),
        asked=equal(len(evaluated), 30 + 40 * 27),
        inside=equal(bool((people >= [-2, -1]).all() and (people <= [3, 0]).all()), True),
        start=near(records[0].x, min(first, key=lambda x: (x[0] - 1) ** 2 + 3 * (x[1] + 0.5) ** 2), tolerance=1e-12),
        narrower=below(float(people[-27:].std(axis=0).max()), 0.1),
        ends=near(records[-1].x, [1.0, -0.5], tolerance=0.05),
        never_worse=equal(all(b["value"] <= a["value"] for a, b in pairwise(records)), True),
        program=near(solution.value, theirs.fun, tolerance=1e-6),
        place=near(solution.x, theirs.x, tolerance=1e-4),
        multipliers=near(P @ solution.x + q + A.T @ solution.equality + G.T @ solution.inequality, np.zeros(3),
                         tolerance=1e-6),
    )  # fmt: skip


@oracle(f"{PATH}.bisect")
def halved_intervals(seed: int) -> Verdict:
    """SciPy's root; with a coarse tolerance the middle of the last half."""
    root = float(np.random.default_rng(seed).uniform(0.1, 3.9))
    half = 0.5 + np.floor(root)  # of the unit interval that is left
    return every(
        fine=near(bisect(lambda x: x**3 - root**3, 0.0, 4.0), root, tolerance=1e-10),
        falling=near(bisect(lambda x: root - x, 0.0, 4.0), root, tolerance=1e-10),
        coarse=near(bisect(lambda x: x - root, 0.0, 4.0, tol=1.0), half, tolerance=1e-12),
        at_the_end=equal((bisect(lambda x: x, 0.0, 4.0), bisect(lambda x: x - 4, 0.0, 4.0)), (0.0, 4.0)),
    )
