"""Finite sums: batches, epochs, and what the noise of a batch does."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.notes.claims import claim
from margin.notes.claims.optimization.networks import drawn_batches, trained_weights
from margin.optimize import FiniteSum, accumulate, batches, clip_norm, clip_value, follow, gradient_descent, sgd
from margin.optimize.problems import least_squares
from margin.optimize.schedules import inverse_time


def _rows(seed: int, n: int = 24, noise: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, X @ [1.0, -2.0] + noise * rng.standard_normal(n)


def _problem(seed: int, n: int = 24) -> tuple[FiniteSum, np.ndarray]:
    X, y = _rows(seed, n)
    return least_squares(X, y), np.linalg.lstsq(X, y)[0]


def _run_by_a_network(seed: int, batch_size: int, epochs: int, *, parts: int = 1, clip: float | None = None) -> Verdict:
    """A network's own loop ends where the descent of the notes ends, on the same batches at a falling rate."""
    X, y = _rows(seed)
    rate = inverse_time(0.1, half_life=7)
    ends, _ = trained_weights(X, y, rate=rate, batch_size=batch_size, epochs=epochs, parts=parts, clip=clip)
    run = sgd(least_squares(X, y), [0.0, 0.0], learning_rate=rate, batch_size=batch_size, epochs=epochs, max_norm=clip)
    return near(ends, follow(run).x, tolerance=1e-12 if clip is None else 1e-5)  # torch adds 1e-6 to a norm


def _cubic() -> FiniteSum:
    """One example with loss 3 x^2: its gradient 6 x is too steep for a rate of 1."""
    return FiniteSum(
        1, lambda x, rows: np.full(len(rows), 3 * x[0] ** 2), lambda x, rows: np.full((len(rows), 1), 6 * x[0])
    )


def _without_a_rate() -> Verdict:
    """The update as printed, with no learning rate in front of the gradient, on 3 x^2 from 1."""
    end = follow(sgd(_cubic(), [1.0], learning_rate=1.0, batch_size=None, epochs=20))
    return below(abs(float(end.x[0])), 1.0)


@claim("claim-landscape-depends-on-data")
def a_batch_has_its_own_surface(seed: int) -> Verdict:
    problem, best = _problem(seed)
    grid = np.stack(np.meshgrid(np.linspace(-1, 3, 9), np.linspace(-4, 0, 9)), axis=-1).reshape(-1, 2)
    parts = list(batches(problem.n, 6))
    surfaces = np.array([[problem.value(theta, rows) for theta in grid] for rows in parts])
    full = np.array([problem.value(theta) for theta in grid])
    slopes = [float(np.linalg.norm(problem.gradient(best, rows))) for rows in parts]
    return every(
        mean_of_equal_batches=near(surfaces.mean(axis=0), full, tolerance=1e-10),
        other_minima=above(min(slopes), 1e-6),  # one batch may come near by luck, and never meets the minimum
        far_apart=above(float(np.median(slopes)), 0.05),
    )


@claim("minibatches-and-epochs")
def batches_partition_the_data(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    first, second = list(batches(10, 3, rng)), list(batches(10, 3, rng))
    drawn = drawn_batches(10, 3, seed, epochs=2)
    return corrected(
        every(
            cover=equal(sorted(np.concatenate(first).tolist()), list(range(10))),
            count=equal(len(first), 4),
            dropped=equal(len(list(batches(10, 3, drop_last=True))), 3),
            new_order=equal(np.array_equal(np.concatenate(first), np.concatenate(second)), False),
            as_run=every(
                cover=equal([sorted(np.concatenate(epoch).tolist()) for epoch in drawn], [list(range(10))] * 2),
                sizes=equal([[len(rows) for rows in epoch] for epoch in drawn], [[3, 3, 3, 1]] * 2),
                new_order=equal(drawn[0] == drawn[1], False),
            ),
        ),
        printed=equal(len(first), 10 / 3),
    )


@claim("epoch")
def an_epoch_is_one_pass(seed: int) -> Verdict:
    problem, _ = _problem(seed)
    seen = np.zeros(problem.n, dtype=int)

    def count(theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        np.add.at(seen, rows, 1)
        return problem.gradients(theta, rows)

    counted = FiniteSum(problem.n, problem.losses, count)
    trace = list(sgd(counted, np.zeros(2), rng=np.random.default_rng(seed), batch_size=5, epochs=3))
    seen -= 1  # the record of the start looks at every example once
    X, y = _rows(seed)
    _, updates = trained_weights(X, y, rate=0.01, batch_size=5, epochs=3)
    return every(
        updates=equal(trace[-1].iteration, 3 * 5),
        visits=equal(seen.tolist(), [3] * problem.n),
        as_run=equal(updates, [5, 10, 15]),
    )


@claim("full-batch-gd")
def one_update_per_epoch(seed: int) -> Verdict:
    problem, best = _problem(seed)
    run = follow(sgd(problem, np.zeros(2), learning_rate=0.1, batch_size=None, epochs=250))
    return corrected(
        every(
            updates=equal(run.iterations, 250),
            monotone=below(float(np.max(np.diff(run.history("value")[1:]))), 1e-15),
            minimum=near(run.x, best, tolerance=1e-6),
            as_run=_run_by_a_network(seed, 24, 30),
        ),
        printed=_without_a_rate(),
    )


@claim("mini-batch-gd")
def a_batch_estimates_the_gradient_after_scaling(seed: int) -> Verdict:
    problem, best = _problem(seed, n=12)
    theta = np.array([0.5, 0.5])
    full = problem.gradient(theta) * 12
    sums = np.array([3 * problem.gradient(theta, np.array(rows)) for rows in combinations(range(12), 3)])

    rate = inverse_time(0.1, half_life=100)

    def run(order: int, size: int, epochs: int = 10) -> np.ndarray:
        rng = np.random.default_rng([seed, order])
        return follow(sgd(problem, [0.0, 0.0], rng=rng, learning_rate=rate, batch_size=size, epochs=epochs)).x

    plain = follow(
        gradient_descent(
            problem.value,
            problem.gradient,
            [0.0, 0.0],
            learning_rate=inverse_time(0.1, half_life=100),
            max_iter=10,
            tol=0.0,
        )
    )
    return corrected(
        every(
            subsets=equal(len(sums), 220),
            scaled=near(sums.mean(axis=0) * 12 / 3, full, tolerance=1e-12),
            same_seed=equal(run(1, 4), run(1, 4)),
            whole_batch=near(run(0, 12), plain.x, tolerance=1e-14),
            least_squares=below(problem.value(run(0, 4, epochs=400)) / problem.value(best), 1.01),
            as_run=_run_by_a_network(seed, 5, 6),
        ),
        sum_approximates=near(sums.mean(axis=0), full, tolerance=1e-3 * float(np.linalg.norm(full))),
        rate_is_missing=_without_a_rate(),
    )


@claim("sgd")
def single_examples_are_unbiased_and_noisy(seed: int) -> Verdict:
    problem, best = _problem(seed)
    theta = np.array([0.5, 0.5])
    rate = inverse_time(0.1, half_life=50)

    def run(size: int) -> tuple[np.ndarray, float]:
        result = follow(
            sgd(problem, [0.0, 0.0], rng=np.random.default_rng(seed), learning_rate=rate, batch_size=size, epochs=80)
        )
        return result.x, float(np.std(result.history("value")[-24:]))

    (end, rough), (_, smooth) = run(1), run(8)
    return corrected(
        every(
            unbiased=near(
                problem.gradients(theta, np.arange(problem.n)).mean(axis=0), problem.gradient(theta), tolerance=1e-12
            ),
            least_squares=near(end, best, tolerance=2e-2),
            noisier=above(rough / smooth, 1.5),
            as_run=_run_by_a_network(seed, 1, 3),
        ),
        printed=_without_a_rate(),
    )


@claim("gradient-descent-batch-variants")
def noise_falls_with_the_batch(seed: int) -> Verdict:
    problem, _ = _problem(seed)
    theta, rng = np.array([0.5, 0.5]), np.random.default_rng(seed)
    full = problem.gradient(theta)
    spread = []
    for size in (1, 4, 12, 24):
        drawn = [problem.gradient(theta, next(batches(problem.n, size, rng))) for _ in range(600)]
        spread.append(float(np.mean(np.sum((np.array(drawn) - full) ** 2, axis=1))))
    # Without replacement the variance falls like (n - M) / (M (n - 1)).
    expected = [spread[0] * (24 - size) / (size * 23) for size in (1, 4, 12, 24)]
    rate = inverse_time(0.1, half_life=3)
    theirs, ours = (
        np.zeros(2),
        follow(sgd(problem, [0.0, 0.0], rng=np.random.default_rng(seed), learning_rate=rate, batch_size=5, epochs=2)),
    )
    order, updates = np.random.default_rng(seed), 0
    for _ in range(2):
        for rows in batches(problem.n, 5, order):
            theirs, updates = theirs - rate(updates) * problem.gradient(theirs, rows), updates + 1
    return every(
        written_out=near(ours.x, theirs, tolerance=1e-12),
        updates=equal((ours.iterations, updates), (10, 10)),
        falls=equal(spread, sorted(spread, reverse=True)),
        law=near(spread, expected, tolerance=0.1 * spread[0]),
        whole_batch_is_exact=below(spread[3], 1e-25),
        as_run=every(
            one=_run_by_a_network(seed, 1, 2), some=_run_by_a_network(seed, 7, 4), all=_run_by_a_network(seed, 24, 8)
        ),
    )


@claim("claim-sgd-each-point-counts-equally")
def an_epoch_weighs_all_examples_alike(seed: int) -> Verdict:
    problem, _ = _problem(seed)
    theta = np.array([0.3, -0.7])
    parts = list(batches(problem.n, 6, np.random.default_rng(seed)))
    visits = np.bincount(np.concatenate(parts), minlength=problem.n)
    mean = np.mean([problem.gradient(theta, rows) for rows in parts], axis=0)
    (drawn,) = drawn_batches(problem.n, 6, seed)
    drawn_mean = np.mean([problem.gradient(theta, np.array(rows)) for rows in drawn], axis=0)
    return every(
        visits=equal(visits.tolist(), [1] * problem.n),
        mean=near(mean, problem.gradient(theta), tolerance=1e-12),
        as_run=near(drawn_mean, problem.gradient(theta), tolerance=1e-12),
    )


@claim("claim-sgd-cheaper-per-step")
def small_batches_need_fewer_example_gradients(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((2000, 5))
    y = X @ np.ones(5) + 0.1 * rng.standard_normal(2000)
    problem = least_squares(X, y)

    def cost(size: int) -> tuple[int, int]:
        """Example gradients per update, and in all until the full loss is below 0.02."""
        for step in sgd(
            problem, np.zeros(5), rng=np.random.default_rng([seed, 1]), learning_rate=0.05, batch_size=size, epochs=200
        ):
            if problem.value(step.x) < 0.02:
                return step.evaluations // step.iteration, step.evaluations
        return size, 10**9

    (small, mini), (large, full) = cost(10), cost(2000)
    return every(per_step=equal([small, large], [10, 2000]), cheaper=above(full / mini, 20.0))


@claim("claim-sgd-escapes-local-minima")
def batch_noise_crosses_a_barrier(seed: int) -> Verdict:
    tilts = np.array([-6.0, -3.0, 3.0, 6.0])  # per-example slopes that cancel in the mean

    def losses(x: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return (x[0] ** 2 - 1) ** 2 + 0.3 * x[0] + tilts[rows] * x[0]

    def gradients(x: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return (4 * x[0] * (x[0] ** 2 - 1) + 0.3 + tilts[rows])[:, None]

    problem = FiniteSum(4, losses, gradients)
    shallow = [0.96]  # the higher of the two wells

    def fraction_that_leaves(size: int, runs: int) -> float:
        rng = np.random.default_rng(seed)
        ends = [
            follow(sgd(problem, shallow, rng=rng, learning_rate=0.12, batch_size=size, epochs=6)).x for _ in range(runs)
        ]
        return float(np.mean(np.array(ends) < 0))

    return every(
        descent_stays=equal(fraction_that_leaves(4, 1), 0.0), noise_leaves=above(fraction_that_leaves(1, 200), 0.25)
    )


@claim("gradient-accumulation")
def micro_batches_add_up(seed: int) -> Verdict:
    problem, _ = _problem(seed)
    theta = np.array([0.2, 0.1])
    parts = [np.arange(0, 5), np.arange(5, 12), np.arange(12, 24)]
    joined = accumulate([problem.gradient(theta, rows) for rows in parts], [5, 7, 12])

    def path(size: int, joined: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        run = sgd(problem, [0.0, 0.0], rng=rng, learning_rate=0.05, batch_size=size, accumulate=joined, epochs=3)
        return follow(run).path

    return every(
        unequal_sizes=near(joined, problem.gradient(theta), tolerance=1e-12),
        same_updates=near(path(3, 4), path(12, 1), tolerance=1e-12),
        as_run=_run_by_a_network(seed, 24, 5, parts=5),
    )


@claim("gradient-clipping")
def clipping_shortens_and_keeps_the_direction(seed: int) -> Verdict:
    import torch

    g = np.array([3.0, -4.0, 12.0])
    parameter = torch.nn.Parameter(torch.zeros(3, dtype=torch.float64))
    parameter.grad = torch.tensor(g)
    torch.nn.utils.clip_grad_norm_([parameter], 2.0)
    clipped = clip_norm(g, 2.0)
    return every(
        torch=near(clipped, parameter.grad.numpy(), tolerance=1e-5),  # torch adds 1e-6 to the norm
        norm=near(np.linalg.norm(clipped), 2.0, tolerance=1e-12),
        direction=near(clipped / 2.0, g / 13.0, tolerance=1e-12),
        short=equal(clip_norm(g, 20.0), g),
        by_value=equal(clip_value(g, 3.5), np.array([3.0, -3.5, 3.5])),
        as_run=_run_by_a_network(seed, 6, 3, clip=0.7),
    )
