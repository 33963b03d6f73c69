"""Claims about what finite steps and batches add to the loss by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, permutations
from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, every, near, within
from margin.notes import atlas
from margin.notes.claims import claim
from margin.optimize.flow import gradient_flow, modified_field, modified_loss, modified_sgd_field, modified_sgd_loss


def valley(seed: int) -> tuple[Any, Any, Any, np.ndarray]:
    """A curved loss of two parameters, its gradient and Hessian, and a point on its slope."""
    from margin.neural.autodiff import grad, hessian
    from margin.neural.autodiff.primitives import sin, take

    a, b, c = np.random.default_rng(seed).uniform(0.5, 1.5, 3)

    def loss(theta: Any) -> Any:
        x, y = take(theta, index=0), take(theta, index=1)
        return a * x * x + b * y * y * y * y + c * sin(x * y) + 0.5 * x * y

    return loss, grad(loss), hessian(loss), np.array([0.8, 0.7])


def orders(errors: Sequence[float]) -> list[float]:
    """Exponents by which the errors fall when the step is halved."""
    return [float(np.log2(before / after)) for before, after in pairwise(errors)]


@claim("implicit-regularisation-gd")
def a_step_follows_the_loss_plus_a_quarter_of_its_slope(seed: int) -> Verdict:
    notes = atlas.row("implicit-regularisation-gd").values
    loss, gradient, hess, start = valley(seed)
    far: dict[str, list[float]] = {"plain": [], "modified": [], "minus": []}
    for rate in notes["rates"]:
        step = start - rate * gradient(start)
        flows = {
            "plain": gradient,
            "modified": lambda t, rate=rate: modified_field(gradient(t), hess(t), rate),
            "minus": lambda t, rate=rate: modified_field(gradient(t), hess(t), -rate),
        }
        for name, field in flows.items():
            far[name].append(float(np.linalg.norm(gradient_flow(field, start, rate)[-1] - step)))
    rate = notes["rates"][-1]
    steep = modified_loss(float(loss(start)), gradient(start), rate) - float(loss(start))
    truth = every(
        order_3=within(orders(far["modified"])[-1], 2.85, 3.15),
        order_2_without=within(orders(far["plain"])[-1], 1.9, 2.1),
        closer=below(far["modified"][-1], 0.1 * far["plain"][-1]),
        coefficient=near(
            steep, notes["coefficient"] * rate * float(gradient(start) @ gradient(start)), tolerance=1e-12
        ),
    )
    return corrected(
        truth,
        another_sign=below(far["minus"][-1], far["plain"][-1]),
        dropped_terms_of_order_2=within(orders(far["modified"])[-1], 1.9, 2.1),
    )


@claim("backward-error-analysis")
def the_correction_is_half_the_hessian_times_the_gradient(seed: int) -> Verdict:
    from margin.neural.autodiff import grad
    from margin.neural.autodiff.primitives import total

    loss, gradient, hess, start = valley(seed)
    rate = 0.05

    def modify(theta: Any) -> Any:
        g = grad(loss)(theta)
        return loss(theta) + rate / 4 * total(g * g)

    points = start + np.random.default_rng(seed).normal(scale=0.5, size=(5, 2))
    fields = [modified_field(gradient(p), hess(p), rate) for p in points]
    h = 1e-5
    differences = [[(modify(p + h * e) - modify(p - h * e)) / (2 * h) for e in np.eye(2)] for p in points]
    return every(
        by_differentiating_twice=near(fields, [grad(modify)(p) for p in points], tolerance=1e-8),
        by_differences=near(fields, np.array(differences, dtype=float), tolerance=1e-6),
        same_value=near(
            [modified_loss(float(loss(p)), gradient(p), rate) for p in points],
            [float(modify(p)) for p in points],
            tolerance=1e-12,
        ),
        correction_matters=above(float(np.abs(np.array(fields) - [gradient(p) for p in points]).max()), 1e-3),
    )


@claim("implicit-regularisation-sgd")
def an_epoch_follows_a_loss_with_the_variance_of_batches(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    B, d = 3, 2
    roots = rng.normal(size=(B, d, d))
    H = [r @ r.T + np.eye(d) for r in roots]  # three quadratic batches
    centers = rng.normal(size=(B, d))
    grads = [lambda t, b=b: H[b] @ (t - centers[b]) for b in range(B)]
    start = rng.normal(size=d) + 2
    full = lambda t: np.mean([g(t) for g in grads], axis=0)  # noqa: E731
    mean_hessian = np.mean(H, axis=0)
    far: dict[str, list[float]] = {"with": [], "without": []}
    for rate in (0.001, 0.0005, 0.00025):  # so small that the next term of the series is nothing beside the first
        ends = []
        for order in permutations(range(B)):
            t = start
            for b in order:
                t = t - rate * grads[b](t)
            ends.append(t)
        mean = np.mean(ends, axis=0)
        fields = {
            "with": lambda t, rate=rate: modified_sgd_field([g(t) for g in grads], H, rate),
            "without": lambda t, rate=rate: modified_field(full(t), mean_hessian, rate),
        }
        for name, field in fields.items():
            far[name].append(float(np.linalg.norm(gradient_flow(field, start, B * rate)[-1] - mean)))
    rate = 0.01
    batch_losses = [0.5 * (start - centers[b]) @ H[b] @ (start - centers[b]) for b in range(B)]
    batch_gradients = [g(start) for g in grads]
    spread = np.mean([np.sum((g - full(start)) ** 2) for g in batch_gradients])
    by_terms = np.mean(batch_losses) + rate / 4 * np.sum(full(start) ** 2) + rate / 4 * spread
    per_example = np.repeat(batch_losses, 2)  # two examples in every batch
    truth = every(
        order_3=within(orders(far["with"])[-1], 2.8, 3.2),
        order_2_without=within(orders(far["without"])[-1], 1.8, 2.2),
        closer=below(far["with"][-1], 0.2 * far["without"][-1]),
        loss=near(modified_sgd_loss(batch_losses, batch_gradients, rate), by_terms, tolerance=1e-12),
        mean_of_batches=near(per_example.sum() / len(per_example), np.mean(batch_losses), tolerance=1e-12),
    )
    return corrected(truth, printed=near(per_example.sum() / B, np.mean(batch_losses), tolerance=1e-6))
