"""Second-order descents against SciPy's minima and updates written as matrices; schedules against torch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import optimize
from sklearn.svm import SVC
from tests.oracles import oracle

from margin.core.verdict import Verdict, below, equal, every, near
from margin.optimize import follow, line_searches, quadratics, quasi_newton, schedules, second_order, trust
from margin.optimize.clipping import clip_norm
from margin.optimize.derivatives import taylor2
from margin.optimize.descent import descend
from margin.optimize.flow import modified_sgd_field, modified_sgd_loss
from margin.optimize.interior_point import hard_margin_primal
from margin.optimize.methods import minimize
from margin.optimize.problems import tanh_network
from margin.optimize.quadratics import classify_critical_point, classify_quadratic, is_singular
from margin.optimize.rules import Adam, Descent
from margin.optimize.second_order import newton_root, newton_step

PATH = "margin.optimize"


@oracle(
    *(f"{PATH}.trust.{name}" for name in ("trust_region", "newton_cg")),
    f"{PATH}.second_order.damped_newton",
    *(f"{PATH}.quasi_newton.{name}" for name in ("bfgs", "lbfgs", "bfgs_inverse_update", "bfgs_hessian_update",
                                                 "stored_numbers")),
)  # fmt: skip
def minima_by_scipy(seed: int) -> Verdict:
    """A strictly convex function that is no quadratic, and one step of each on a quadratic, by matrices."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(4, 4))
    A, b, start = root @ root.T + np.eye(4), rng.normal(size=4), 2 * rng.normal(size=4)
    f = lambda x: float(0.5 * x @ A @ x - b @ x + 0.1 * np.sum(x**4))  # noqa: E731
    grad = lambda x: A @ x - b + 0.4 * x**3  # noqa: E731
    hess = lambda x: A + 1.2 * np.diag(x**2)  # noqa: E731
    expected = optimize.minimize(f, start, jac=grad, hess=hess, method="trust-exact", options={"gtol": 1e-10}).x
    parts: dict[str, Verdict] = {}
    methods: dict[str, Any] = {
        "trust_region": lambda **o: trust.trust_region(f, grad, start, hess=hess, **o),
        "newton_cg": lambda **o: trust.newton_cg(f, grad, start, hess=hess, **o),
        "damped_newton": lambda **o: second_order.damped_newton(f, grad, start, hess=hess, **o),
        "bfgs": lambda **o: quasi_newton.bfgs(f, grad, start, **o),
        "lbfgs": lambda **o: quasi_newton.lbfgs(f, grad, start, memory=3, **o),
    }
    most = {"trust_region": 12, "newton_cg": 12, "damped_newton": 12, "bfgs": 40, "lbfgs": 40}
    for name, method in methods.items():
        optimum = follow(method(tol=1e-7))
        parts[name] = near(optimum.x, expected, tolerance=1e-6)
        # A wrong model still goes down by its line search or radius, but slowly.
        parts[f"{name}_steps"] = below(optimum.iterations, most[name] + 0.5)
    s, y = rng.normal(size=4), rng.normal(size=4)
    y = y if y @ s > 0 else -y
    B, identity = root @ root.T + np.eye(4), np.eye(4)
    rho, H = 1 / (y @ s), np.asarray(np.linalg.inv(B), dtype=np.float64)
    left = identity - rho * np.outer(s, y)
    updated = quasi_newton.bfgs_inverse_update(H, s, y)
    return every(
        **parts,
        inverse=near(updated, left @ H @ left.T + rho * np.outer(s, s), tolerance=1e-9 * np.abs(updated).max()),
        hessian=near(
            quasi_newton.bfgs_hessian_update(B, s, y) @ updated, identity, tolerance=1e-7 * np.abs(updated).max() ** 2
        ),
        numbers=equal([quasi_newton.stored_numbers(m, 7, 3) for m in ("bfgs", "lbfgs")], [49, 42]),
        **_first_steps(A, b, start),
    )


def _first_steps(A: np.ndarray, b: np.ndarray, start: np.ndarray) -> dict[str, Verdict]:
    """On a quadratic the first step lands on the minimum, or at the best point of the ball, found by SciPy."""
    f, grad, hess = lambda x: float(0.5 * x @ A @ x - b @ x), lambda x: A @ x - b, lambda _: A
    best = np.linalg.solve(A, b)
    gap = float(np.linalg.norm(best - start))
    newton = list(second_order.damped_newton(f, grad, start, hess=hess))
    free = list(trust.trust_region(f, grad, start, hess=hess, radius=2 * gap))
    bound = list(trust.trust_region(f, grad, start, hess=hess, radius=0.3 * gap))
    inside = list(trust.newton_cg(f, grad, start, hess=hess, radius=0.3 * gap))
    shift = optimize.brentq(
        lambda k: np.linalg.norm(np.linalg.solve(A + k * np.eye(len(A)), grad(start))) - 0.3 * gap, 0.0, 1e9
    )
    ball = f(start - np.linalg.solve(A + shift * np.eye(len(A)), grad(start)))
    doubled = [record["step_size"] for record in trust.trust_region(f, grad, start, hess=hess, radius=gap / 20)][1:4]
    twice = list(trust.trust_region(f, grad, start, hess=hess, radius=0.45 * gap))
    slope = grad(start)
    along = f(start - 0.3 * gap * slope / np.linalg.norm(slope))
    cauchy = f(start - (slope @ slope) / (slope @ A @ slope) * slope)
    return {
        "newton_lands": near(newton[1]["value"], f(best), tolerance=1e-8 * (1 + abs(f(best)))),
        "trusted_lands": near(free[1]["value"], f(best), tolerance=1e-8 * (1 + abs(f(best)))),
        "best_of_the_ball": near(bound[1]["value"], ball, tolerance=1e-6 * (1 + abs(ball))),
        "radius": near(bound[1]["step_size"], 0.3 * gap, tolerance=1e-6 * gap),
        "no_better_than_the_ball": below(ball, inside[1]["value"] + 1e-9),
        "better_than_the_gradient": below(inside[1]["value"], max(along, cauchy) + 1e-9),
        "doubled_at_once": near(twice[2]["value"], f(best), tolerance=1e-8 * (1 + abs(f(best)))),
        # The model is the function itself, so that nothing speaks against twice the radius.
        "doubled": near(np.array(doubled) / gap, [0.05, 0.1, 0.2], tolerance=1e-6),
        "inside": below(inside[1]["step_size"], 0.3 * gap * (1 + 1e-9)),
    }


@oracle(*(f"{PATH}.schedules.{name}" for name in ("cosine", "one_cycle", "warm_up", "inverse_time", "step_decay",
                                                  "exponential", "on_plateau")))  # fmt: skip
def rates_by_torch(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    rate, floor, factor = rng.uniform(0.1, 2.0), rng.uniform(0.01, 0.05), rng.uniform(0.3, 0.9)
    kinds = torch.optim.lr_scheduler

    def rates_of(make: Any, steps: int, first: float = rate) -> list[float]:
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=first)
        schedule, seen = make(optimizer), []
        for _ in range(steps):
            seen.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            schedule.step()
        return seen

    ours = {
        "cosine": schedules.cosine(rate, steps=12, floor=floor),
        "one_cycle": schedules.one_cycle(rate, steps=14, rise=0.4, start_factor=8.0, end_factor=50.0),
        "step_decay": schedules.step_decay(rate, every=4, factor=factor),
        "exponential": schedules.exponential(rate, factor=factor),
    }
    theirs = {
        "cosine": rates_of(lambda o: kinds.CosineAnnealingLR(o, 12, floor), 12),
        "one_cycle": rates_of(
            lambda o: kinds.OneCycleLR(
                o, rate, total_steps=14, pct_start=0.4, div_factor=8.0, final_div_factor=50.0, cycle_momentum=False
            ),
            14,
        ),
        "step_decay": rates_of(lambda o: kinds.StepLR(o, 4, factor), 12),
        "exponential": rates_of(lambda o: kinds.ExponentialLR(o, factor), 12),
    }
    parts = {
        name: near([ours[name](t) for t in range(len(rates))], rates, tolerance=1e-9) for name, rates in theirs.items()
    }
    warm = schedules.warm_up(ours["exponential"], steps=3)
    losses = rng.uniform(0.5, 1.0, size=30)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=rate)
    plateau = kinds.ReduceLROnPlateau(optimizer, factor=factor, patience=2, threshold=0.0)
    for loss in losses:
        plateau.step(float(loss))
    return every(
        **parts,
        after=near(ours["cosine"](40), floor, tolerance=1e-12),
        warm=near(
            [warm(t) for t in range(6)],
            [rate / 4, rate / 2, 3 * rate / 4, rate, rate * factor, rate * factor**2],
            tolerance=1e-12,
        ),
        slowing=near([schedules.inverse_time(rate, half_life=4.0)(t) for t in (0, 4, 6)], [rate, rate / 2, rate / 2.5],
                     tolerance=1e-12),
        plateau=near(
            schedules.on_plateau(rate, losses.tolist(), patience=2, factor=factor),
            optimizer.param_groups[0]["lr"], tolerance=1e-9,
        ),
    )  # fmt: skip


@oracle(
    *(f"{PATH}.quadratics.{name}" for name in ("rate_limit", "nesterov_matrix", "best_momentum")),
    f"{PATH}.clipping.clip_norm", f"{PATH}.derivatives.taylor2",
    f"{PATH}.flow.modified_sgd_loss", f"{PATH}.flow.modified_sgd_field",
)  # fmt: skip
def steps_on_quadratics(seed: int) -> Verdict:
    """Steps written out; the limit is where iterates neither shrink nor grow; slopes by differences."""
    rng = np.random.default_rng(seed)
    curvature, gamma, rate, low = rng.uniform(0.5, 3), rng.uniform(0.2, 0.8), rng.uniform(0.05, 0.3), 0.4
    theta, v = rng.normal(size=2)
    moved = gamma * v + rate * curvature * (theta - gamma * v)
    radius = lambda matrix: float(np.abs(np.linalg.eigvals(matrix)).max())  # noqa: E731
    at_limit = [
        abs(1 - quadratics.rate_limit("gradient_descent", curvature) * curvature),
        radius(quadratics.momentum_matrix(quadratics.rate_limit("momentum", curvature, gamma), curvature, gamma)),
        radius(quadratics.nesterov_matrix(quadratics.rate_limit("nesterov", curvature, gamma), curvature, gamma)),
    ]
    best = quadratics.best_momentum(low, low + curvature)
    worst = lambda p: max(radius(quadratics.momentum_matrix(p[0], c, p[1])) for c in (low, low + curvature))  # noqa: E731
    grid = [worst((best[0] * a, best[1] * b)) for a in (0.9, 1.0, 1.1) for b in (0.9, 1.0, 1.1)]
    g, H, a, x = rng.normal(size=3), rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=3)
    H = H + H.T
    losses, gradients = rng.normal(size=3), rng.normal(size=(3, 2))
    hessians = [M + M.T for M in rng.normal(size=(3, 2, 2))]
    mean = gradients.mean(axis=0)
    extra = 0.3 / 4 * mean @ mean + 0.3 / 12 * sum((r - mean) @ (r - mean) for r in gradients)
    along = lambda t: modified_sgd_loss(  # noqa: E731
        [loss + r @ t + 0.5 * t @ M @ t for loss, r, M in zip(losses, gradients, hessians)],
        [r + M @ t for r, M in zip(gradients, hessians)],
        0.3,
    )
    move = x - a
    return every(
        nesterov=near(
            quadratics.nesterov_matrix(rate, curvature, gamma) @ [theta, v], [theta - moved, moved], tolerance=1e-10
        ),
        limits=near(at_limit, [1.0, 1.0, 1.0], tolerance=1e-6),
        momentum=below(worst(best), min(grid) + 1e-6),
        long=near(clip_norm(g, 0.1 * float(np.linalg.norm(g))), 0.1 * g, tolerance=1e-12),
        short=near(clip_norm(g, 1e3), g, tolerance=0.0),
        taylor=near(taylor2(0.7, g, H, a)(x), 0.7 + g @ move + 0.5 * move @ H @ move, tolerance=1e-10),
        loss=near(along(np.zeros(2)), losses.mean() + extra, tolerance=1e-10),
        field=near(
            modified_sgd_field(list(gradients), hessians, 0.3), optimize.approx_fprime(np.zeros(2), along, 1e-7),
            tolerance=1e-5,
        ),
    )  # fmt: skip


@oracle(f"{PATH}.line_searches.line_search", f"{PATH}.descent.descend")
def steps_along_directions(seed: int) -> Verdict:
    """On a quadratic, where the best step is known; the first halved step that goes down enough; falling rates."""
    rng = np.random.default_rng(seed)
    root, b, x = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=3)
    A = root @ root.T + np.eye(3)
    f, grad = lambda v: float(0.5 * v @ A @ v - b @ v), lambda v: A @ v - b
    p = -grad(x) * rng.uniform(0.5, 2, size=3)
    p = p if grad(x) @ p < 0 else -grad(x)
    slope = float(grad(x) @ p)
    exact = -slope / float(p @ A @ p)
    step = 64 * exact
    while not (f(x + step * p) <= f(x) + 1e-4 * step * slope and f(x + step * p) < f(x)):
        step /= 2
    searches = {
        m: line_searches.line_search(f, grad, x, p, method=m, first=64 * exact) for m in ("golden", "armijo", "wolfe")
    }
    parts: dict[str, Verdict] = {
        "golden": near(searches["golden"].alpha / exact, 1.0, tolerance=1e-5),
        "armijo": near(searches["armijo"].alpha / step, 1.0, tolerance=1e-9),
    }
    for name, one in searches.items():
        end = x + one.alpha * p
        parts |= {
            f"{name}_value": near(one.value, f(end), tolerance=1e-9 * (1 + abs(f(end)))),
            f"{name}_decrease": equal(one.sufficient_decrease, f(end) <= f(x) + 1e-4 * one.alpha * slope),
            f"{name}_flat": equal(one.flat_enough, abs(float(grad(end) @ p)) <= 0.9 * abs(slope)),
        }
    long = line_searches.line_search(f, grad, x, p, method="bracket", first=1.999 * exact)
    parts["bracketed"] = near(long.alpha / exact, 1.999, tolerance=1e-12)
    edge = line_searches.line_search(lambda v: float((v[0] - 1) ** 2), lambda v: 2 * (v - 1), np.zeros(1), np.ones(1),
                                     method="bracket", first=1.99995)  # fmt: skip
    parts["not_enough"] = equal(edge.sufficient_decrease, False)
    parts["barely_down"] = equal(long.sufficient_decrease, f(x + long.alpha * p) <= f(x) + 1e-4 * long.alpha * slope)
    rate = schedules.inverse_time(0.9 / float(np.linalg.eigvalsh(A)[-1]), half_life=2.0)
    point, path = x, [f(x)]
    for t in range(4):
        point = point - rate(t) * grad(point)
        path.append(f(point))
    values = [record["value"] for record in descend(f, grad, x, Descent(), learning_rate=rate, max_iter=4)]
    return every(**parts, falling_rates=near(values, path, tolerance=1e-9))


@oracle(
    *(f"margin.optimize.quadratics.{name}" for name in ("classify_critical_point", "classify_quadratic", "is_singular"))
)
def curvature_by_its_signs(seed: int) -> Verdict:
    """Forms made of eigenvalues that are known, turned at random."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turned = lambda *values: Q @ np.diag(values) @ Q.T  # noqa: E731
    kinds = {
        "positive definite": turned(0.5, 1.0, 7.0),
        "negative definite": turned(-0.5, -1.0, -7.0),
        "indefinite": turned(-0.5, 1.0, 7.0),
        "positive semidefinite": turned(0.0, 1.0, 7.0),
        "negative semidefinite": turned(0.0, -1.0, -7.0),
    }
    points = [classify_critical_point(np.zeros(3), H) for H in kinds.values()]
    return every(
        kinds=equal([classify_quadratic((H + H.T) / 2) for H in kinds.values()], list(kinds)),
        points=equal([p.kind for p in points], ["minimum", "maximum", "saddle", "degenerate", "degenerate"]),
        singular=equal([is_singular(H) for H in kinds.values()], [False, False, False, True, True]),
    )


@oracle("margin.optimize.finite_sum.FiniteSum", "margin.optimize.problems.tanh_network")
def a_network_by_differences(seed: int) -> Verdict:
    """Mean squared errors of some rows, unit by unit; every parameter moved on both sides."""
    rng = np.random.default_rng(seed)
    X, y, rows = rng.normal(size=(7, 2)), rng.normal(size=7), np.array([1, 4, 5])
    theta = rng.normal(size=13)
    net = tanh_network(X, y, 3)

    def value(parameters: np.ndarray, chosen: np.ndarray) -> float:
        W, b, a, c = parameters[:6].reshape(3, 2), parameters[6:9], parameters[9:12], parameters[12]
        outputs = [sum(a[k] * np.tanh(W[k] @ X[i] + b[k]) for k in range(3)) + c for i in chosen]
        return float(np.mean([(o - y[i]) ** 2 for o, i in zip(outputs, chosen)]))

    slopes = [(value(theta + h, rows) - value(theta - h, rows)) / 2e-5 for h in 1e-5 * np.eye(13)]
    return every(
        value=near(net.value(theta), value(theta, np.arange(7)), tolerance=1e-10),
        some=near(net.value(theta, rows), value(theta, rows), tolerance=1e-10),
        gradient=near(net.gradient(theta, rows), slopes, tolerance=1e-6),
    )


@oracle(*(f"margin.optimize.second_order.{name}" for name in ("newton_root", "newton_step")))
def tangents_and_models(seed: int) -> Verdict:
    """A cubic with one root, tangent by tangent; the step to where a quadratic model is flat."""
    rng = np.random.default_rng(seed)
    shift = float(rng.uniform(0.5, 2.0))
    f, slope = lambda x: x**3 + x - shift, lambda x: 3 * x**2 + 1
    found = [record["x"] for record in newton_root(f, slope, 2.0)]
    x, path = 2.0, [2.0]
    while len(path) < len(found):
        x = x - f(x) / slope(x)
        path.append(x)
    roots = np.roots([1, 0, 1, -shift])
    root = float(roots[np.argmin(np.abs(roots.imag))].real)
    A, g = rng.normal(size=(3, 3)), rng.normal(size=3)
    H = A + A.T + np.diag([6.0, -5.0, 4.0])
    return every(
        path=near(found, path, tolerance=1e-12),
        root=near(found[-1], root, tolerance=1e-9),
        flat=near(g + H @ newton_step(g, H), np.zeros(3), tolerance=1e-8),
    )


@oracle("margin.optimize.interior_point.hard_margin_primal")
def the_widest_slab(seed: int) -> Verdict:
    """Two clouds apart: scikit-learn's machine with a huge price for mistakes."""
    rng = np.random.default_rng(seed)
    y = np.repeat([-1.0, 1.0], [9, 6])
    X = rng.normal(size=(15, 2)) + 4.0 * y[:, None] * [0.8, 0.6] + [1.0, -2.0]
    w, c = hard_margin_primal(X, y)
    machine = SVC(kernel="linear", C=1e8, tol=1e-8).fit(X, y)
    return every(
        normal=near(w, machine.coef_[0], tolerance=1e-3),
        offset=near(c, float(machine.intercept_[0]), tolerance=2e-3),
        touches=near(float((y * (X @ w + c)).min()), 1.0, tolerance=1e-6),
    )


@oracle("margin.optimize.rules.adam.AdamMoments", "margin.optimize.rules.Descent", "margin.optimize.methods.minimize")
def moments_and_steps(seed: int) -> Verdict:
    """Averages of gradients with their weights written out; minima where SciPy finds them."""
    rng = np.random.default_rng(seed)
    gradients, x = rng.normal(0.5, 1.0, size=(6, 3)), rng.normal(size=3)
    state = Adam(0.8, 0.95).start(x)
    for g in gradients:
        state = state.with_gradient(g, 0.8, 0.95)
    weights = {beta: (1 - beta) * beta ** np.arange(5, -1, -1) for beta in (0.8, 0.95)}
    first, second = weights[0.8] @ gradients, weights[0.95] @ gradients**2
    m, v = state.corrected(0.8, 0.95)
    A, b = np.diag([1.0, 4.0, 0.5]) + 0.2, rng.normal(size=3)
    f = lambda z: float(z @ A @ z / 2 - b @ z)  # noqa: E731
    step = Descent().update(Descent().start(x), gradients[0], x, 0.3)[1]
    return every(
        first=near(m, first / weights[0.8].sum(), tolerance=1e-12),
        second=near(v, second / weights[0.95].sum(), tolerance=1e-12),
        step=near(step, -0.3 * gradients[0], tolerance=1e-12),
        minimum=near(minimize(f, x).x, np.linalg.solve(A, b), tolerance=1e-4),
        by_descent=near(
            minimize(f, x, method=Descent(), grad=lambda z: A @ z - b, learning_rate=0.2, max_iter=2000).x,
            np.linalg.solve(A, b),
            tolerance=1e-3,
        ),
    )
