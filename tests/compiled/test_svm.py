"""Kernels of kernel machines and linear machines: compiled and as they are written, the same bits."""

import numpy as np
import pytest
import scipy.sparse as sp

from margin.compiled import svm
from margin.kernels import (
    column_kernels,
    crammer_singer_kernels,
    dual_descent_kernels,
    l1_squared_hinge_kernels,
    newton_kernels,
    small_pairs_kernels,
    smo_kernels,
)
from margin.kernels.gaussian_process import radial_kernels
from margin.kernels.gaussian_process.radial import TILE
from margin.kernels.squared_hinge import SquaredHinge, squared_hinge_objective


def same(compiled, written):
    for one, other in zip(compiled, written, strict=True):
        np.testing.assert_array_equal(one, other)
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


def gram(n, seed):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return np.exp(-0.5 * np.square(X[:, None] - X[None]).sum(axis=2))


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("n, extra", [(1, 0), (2, 3), (31, 0), (32, 1), (97, 0)])
def test_pair_steps(n, extra, epsilon):
    rng = np.random.default_rng(n)
    K, target = gram(n + extra, n), rng.normal(size=n + extra)
    K.flags.writeable = False
    if n > 4:
        K = K.copy()
        K[1], K[:, 1] = K[0], K[:, 0]  # two equal rows: no curvature along their pair
    low, high = -rng.uniform(0.1, 2.0, n + extra), rng.uniform(0.1, 2.0, n + extra)
    outcomes = []
    for kernels in (svm, smo_kernels):
        score, beta, memory = target.copy(), np.zeros(n), np.empty((4, n + extra))
        steps = kernels.solve_pairs(K, score, beta, low, high, epsilon, 1e-6, 300, memory)
        outcomes.append((steps, score, beta))
    same(*outcomes)
    assert n < 2 or outcomes[0][0] > 0


@pytest.mark.parametrize("max_steps", [0, 3, 10_000])
def test_small_pairs(max_steps):
    sizes = np.array([3, 1, 34, 2])
    ends = np.cumsum(sizes)
    K, a = gram(ends[-1], 0), sizes[0]
    blocks = [K[end - size : end, end - size : end].ravel() for end, size in zip(ends[1:], sizes[1:])]
    starts, cuts = np.cumsum([0, *(len(block) for block in blocks)])[:-1], ends - a
    bounds = np.random.default_rng(1).uniform(0.5, 3.0, size=ends[-1])
    own, across = K[:a, :a].copy(), K[:a, a:].copy()
    outcomes = []
    for kernels in (svm, small_pairs_kernels):
        pairs = kernels.SmallPairs(own, across, np.concatenate(blocks), starts, cuts, bounds)
        total, largest = int(sizes[1:].sum() + 3 * a), int(a + sizes.max())
        beta, rows, numbers, steps = np.zeros(total), np.zeros(total, np.int64), np.zeros((4, 3)), np.zeros(3, np.int64)
        solutions = kernels.Solutions(beta, rows, *numbers, steps)
        memory = np.zeros((largest, largest)), np.zeros((8, largest))
        solved = kernels.solve_small_pairs(pairs, 1e-7, max_steps, solutions, *memory)
        outcomes.append((solved, beta, rows, numbers, steps))
    same(*outcomes)
    assert (outcomes[0][0] == 3) == (max_steps == 10_000)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count, start, stop", [(0, 0, 50), (3, 7, 41), (9, 0, 50), (6, 20, 20)])
def test_columns(dtype, count, start, stop):
    rng = np.random.default_rng(count)
    lines, chosen, coef = rng.normal(size=(11, 50)).astype(dtype), rng.integers(11, size=count), rng.normal(size=count)
    where, some = np.flatnonzero(rng.random(50) < 0.4), np.array([0, 2, 10])
    outcomes = []
    for kernels in (svm, column_kernels):
        out, memory = np.ones(50), lines.ravel().copy()
        kernels.combine_lines(lines, chosen, coef, out, start, stop)
        kernels.compact_lines(memory, 50, some, where)
        outcomes.append((out, memory))
    same(*outcomes)


def sparse_rows(dtype):
    X = sp.random_array((40, 13), density=0.4, rng=np.random.default_rng(3), format="csr")
    X.data -= 0.4
    return X.data, X.indices.astype(dtype), X.indptr.astype(dtype)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_dual_pass(dtype):
    rng, table = np.random.default_rng(4), sparse_rows(dtype)
    y, order = np.where(rng.random(40) < 0.5, 1.0, -1.0), rng.permutation(40)
    inverse, curvature = rng.uniform(0.1, 1.0, 40), rng.uniform(2.0, 4.0, 40)
    outcomes = []
    for kernels in (svm, dual_descent_kernels):
        settled, alpha, theta, limit = np.zeros(40, np.uint8), np.zeros(40), np.zeros(15), np.inf
        for _ in range(4):
            limit = kernels.dual_pass(*table, order, y, inverse, curvature, 0.3, settled, limit, alpha, theta)
        outcomes.append((limit, settled, alpha, theta))
    same(*outcomes)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("classes", [2, 5])
def test_rows_of_all_classes(dtype, classes):
    rng, (data, indices, indptr) = np.random.default_rng(5), sparse_rows(dtype)
    squares = np.add.reduceat(np.append(data**2, 0.0), indptr[:-1]) * (np.diff(indptr) > 0)
    codes, bounds, order = rng.integers(classes, size=40), rng.uniform(0.5, 2.0, 40), rng.permutation(40)
    outcomes = []
    for kernels in (svm, crammer_singer_kernels):
        W, alpha, memory = np.zeros((13, classes)), np.zeros((40, classes)), np.empty((2, classes))
        for _ in range(3):
            kernels.sweep_rows(data, indices, indptr, order, codes, bounds, squares, W, alpha, *memory)
        outcomes.append((W, alpha))
    same(*outcomes)


@pytest.mark.parametrize("q", [0, 1, 17])
def test_lasso_step(q):
    rng = np.random.default_rng(q)
    A = rng.normal(size=(q + 5, q))
    H, g, w, penalty = A.T @ A, 5 * rng.normal(size=q), rng.normal(size=q) * (rng.random(q) < 0.5), rng.random(q)
    outcomes = []
    for kernels in (svm, l1_squared_hinge_kernels):
        slope, d = g.copy(), np.zeros(q)
        kernels.lasso_step(H, slope, w, penalty, 1e-9, 50, d)
        outcomes.append((slope, d))
    same(*outcomes)


@pytest.mark.parametrize("n, d", [(0, 2), (1, 1), (TILE, 3), (TILE + 9, 2), (2 * TILE + 1, 1)])
def test_contraction(n, d):
    rng = np.random.default_rng(n)
    inverse, slope, columns = rng.normal(size=(n, n)), rng.normal(size=(n, n)), rng.normal(size=(d, n))
    vectors = rng.normal(size=(3, n))
    outcomes = []
    for kernels in (svm, radial_kernels):
        sums, result = np.zeros((d, TILE)), np.zeros(d)
        kernels.contract_triangle(inverse, slope, columns, *vectors, sums, result)
        outcomes.append((sums, result))
    same(*outcomes)


def machine(n, p, intercept):
    rng = np.random.default_rng([n, p])
    X, y, bounds = rng.normal(size=(n, p)) + 0.3, rng.choice([-1.0, 1.0], n), rng.uniform(0, 3, n)
    bounds[::5] = 0
    return X, y, bounds, rng.normal(size=p + intercept)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("n, p", [(0, 2), (1, 1), (9, 1), (7, 3), (40, 5)])
def test_newton_step(n, p, intercept):
    X, y, bounds, start = machine(n, p, intercept)
    found = []
    for kernels in (svm, newton_kernels):
        theta, told, d = start.copy(), np.zeros(3), len(start)
        memory = np.zeros(n), np.zeros(n), np.zeros((d, d)), np.zeros(d)
        assert kernels.newton_step(X, y, bounds, 50, 1e-3, theta, *memory, told)
        found.append((theta, told, *memory))
    same(*found)
    theta, told = found[0][:2]
    value, gradient = squared_hinge_objective(theta, X, y, bounds, intercept=intercept)
    before = squared_hinge_objective(start, X, y, bounds, intercept=intercept)[0]
    np.testing.assert_allclose(told, [value, before - value, np.linalg.norm(gradient)], rtol=1e-9, atol=1e-9)
    # The same step by NumPy and BLAS.
    solver = SquaredHinge(X, y, bounds, intercept=intercept, tol=1e-6)
    solver.theta, solver.memory = start.copy(), None
    solver.step()
    np.testing.assert_allclose(theta, solver.theta, rtol=1e-9, atol=1e-9)


def test_newton_step_leaves_a_singular_hessian_to_others():
    X, y, bounds, theta = machine(4, 2, intercept=False)
    start, X[:] = theta.copy(), 1e200
    memory = np.zeros(4), np.zeros(4), np.zeros((2, 2)), np.zeros(2)
    with np.errstate(all="ignore"):
        for kernels in (svm, newton_kernels):
            assert not kernels.newton_step(X, y, bounds, 50, 1e-3, theta, *memory, np.zeros(3))
    np.testing.assert_array_equal(theta, start)
