"""Grid and random search, hold-out splits, the genetic algorithm."""

import numpy as np
import pytest

from margin.optimize import follow, genetic, grid_search, random_search
from margin.optimize.landscapes import RASTRIGIN

SPACE = {"a": [1, 2, 3], "b": [0.1, 0.2]}


def loss(a, b):
    return (a - 2) ** 2 + b


def test_grid_visits_every_point():
    result = grid_search(loss, SPACE)
    assert len(result.configurations) == 6
    assert result.best == {"a": 2, "b": 0.1}
    assert result.best_loss == 0.1


def test_random_search_is_uniform_and_without_repetition():
    counts = np.zeros(6)
    for seed in range(600):
        result = random_search(loss, SPACE, 2, np.random.default_rng(seed))
        cells = [3 * (c["b"] == 0.2) + c["a"] - 1 for c in result.configurations]
        assert len(set(cells)) == 2
        counts[cells] += 1
    assert counts.sum() == 1200
    assert np.all(np.abs(counts - 200) < 60)


def test_all_points_equal_the_grid():
    assert random_search(loss, SPACE, 6, np.random.default_rng(0)).best == grid_search(loss, SPACE).best


def test_a_failed_configuration_is_a_row():
    def fragile(a, b):
        if a == 2:
            raise ValueError("no")
        return loss(a, b)

    result = grid_search(fragile, SPACE)
    assert np.isnan(result.losses).sum() == 2
    assert result.best["a"] != 2


@pytest.mark.parametrize(
    ("space", "n_iter", "match"),
    [
        ({"c": [1]}, 1, "'c' is no hyperparameter"),
        ({"a": []}, 1, "no candidate"),
        ({}, 1, "names no"),
        (SPACE, 0, "n_iter"),
        (SPACE, 7, "n_iter"),
    ],
)
def test_refusals(space, n_iter, match):
    with pytest.raises(ValueError, match=match):
        random_search(loss, space, n_iter, np.random.default_rng(0))


def test_nothing_finite():
    with pytest.raises(ValueError, match="none of the 6"):
        grid_search(lambda a, b: np.nan, SPACE)


def test_genetic_search_stays_in_its_box_and_never_forgets_the_best():
    steps = list(genetic(RASTRIGIN.f, [[-5, 5], [-5, 5]], rng=np.random.default_rng(0), generations=40))
    values = [step.value for step in steps]
    assert values == sorted(values, reverse=True)
    assert all(np.all(np.abs(step.x) <= 5) for step in steps)
    assert all(np.isnan(step.gradient_norm) for step in steps)
    again = follow(genetic(RASTRIGIN.f, [[-5, 5], [-5, 5]], rng=np.random.default_rng(0), generations=40))
    np.testing.assert_array_equal(again.x, steps[-1].x)


def test_genetic_refusals():
    with pytest.raises(ValueError, match="bounds"):
        next(genetic(RASTRIGIN.f, [[1, 1], [0, 2]], rng=np.random.default_rng(0)))
    with pytest.raises(ValueError, match="elite"):
        next(genetic(RASTRIGIN.f, [[0, 1]], rng=np.random.default_rng(0), elite=60))


def test_undefined_values_are_the_worst():
    result = follow(genetic(lambda x: np.sqrt(x[0]) + x[0], [[-1, 1]], rng=np.random.default_rng(0), generations=30))
    assert 0 <= result.x[0] < 1e-2
