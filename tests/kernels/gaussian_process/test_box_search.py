"""The search in a box against SciPy, and its state as what it was told."""

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from margin.kernels.gaussian_process.box_search import BoxSearch


def run(search, function, gradient):
    while search.point is not None:
        search.tell(function(search.point), gradient(search.point))
    return search


@pytest.mark.parametrize("high", [2.0, 0.5, -0.2])
def test_least_point_of_rosenbrock_in_a_box(high):
    bounds = np.array([[-2.0, high]] * 3)
    found = run(BoxSearch(np.full(3, -1.0), bounds, tol=1e-12, max_evaluations=500), rosen, rosen_der)
    expected = minimize(rosen, np.full(3, -1.0), jac=rosen_der, bounds=bounds, method="L-BFGS-B", tol=1e-14)
    assert found.converged
    np.testing.assert_allclose(found.best_point, expected.x, atol=1e-5)
    assert found.best_value <= expected.fun + 1e-9


def test_points_never_leave_the_box():
    bounds = np.array([[-1.0, 0.3], [0.2, 4.0]])
    search = BoxSearch(np.array([5.0, -5.0]), bounds, tol=1e-10, max_evaluations=100)
    while search.point is not None:
        assert (search.point >= bounds[:, 0]).all()
        assert (search.point <= bounds[:, 1]).all()
        search.tell(rosen(search.point), rosen_der(search.point))


def test_a_quadratic_with_known_curvature_takes_one_step():
    A = np.array([[3.0, 1.0], [1.0, 2.0]])
    target = np.array([0.5, -0.4])
    search = BoxSearch(np.zeros(2), np.array([[-9.0, 9.0]] * 2), tol=1e-8, max_evaluations=50, curvature=A)
    run(search, lambda x: 0.5 * (x - target) @ A @ (x - target), lambda x: A @ (x - target))
    np.testing.assert_allclose(search.best_point, target, atol=1e-10)
    assert len(search.values) <= 3


def test_infinite_values_are_stepped_back_from():
    def value(x):
        return float(x[0] - np.log(x[0])) if x[0] > 0 else np.inf  # least at 1

    search = BoxSearch(np.array([3.0]), np.array([[-50.0, 50.0]]), tol=1e-12, max_evaluations=100)
    run(search, value, lambda x: 1 - 1 / x)
    np.testing.assert_allclose(search.best_point, [1.0], atol=1e-5)


def test_replaying_leads_to_the_same_place():
    def fresh():
        return BoxSearch(np.full(2, -1.0), np.array([[-2.0, 2.0]] * 2), tol=1e-10, max_evaluations=200)

    whole = run(fresh(), rosen, rosen_der)
    part = fresh()
    for _ in range(7):
        part.tell(rosen(part.point), rosen_der(part.point))
    resumed = run(fresh().replay(part.state()), rosen, rosen_der)
    assert resumed.values == whole.values
    np.testing.assert_array_equal(resumed.best_point, whole.best_point)


def test_nothing_to_learn_is_one_evaluation():
    search = BoxSearch(np.zeros(0), np.zeros((0, 2)), tol=1e-3, max_evaluations=10)
    assert search.tell(1.5, np.zeros(0))
    assert search.point is None
    assert search.converged


def test_a_step_below_the_spacing_of_numbers_ends_the_search():
    # A slope of 1e-13 where numbers are 1e-9 apart: x plus the step is x.
    search = BoxSearch(np.array([1e7]), np.array([[-1e9, 1e9]]), tol=0.0, max_evaluations=50)
    with np.errstate(all="raise"):
        found = run(search, lambda x: 1.0, lambda x: np.array([1e-13]))
    assert found.converged
    np.testing.assert_array_equal(found.best_point, [1e7])
