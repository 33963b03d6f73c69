import numpy as np
import pytest

from margin.reduction.topology import Betti, betti, straight_homotopy

ANGLE = np.linspace(0, 2 * np.pi, 40, endpoint=False)
CIRCLE = np.column_stack([np.cos(ANGLE), np.sin(ANGLE)])
RIGHT = np.array([1.0, 0.0])


def disc(n, seed):
    rng = np.random.default_rng(seed)
    return np.sqrt(rng.random(n))[:, None] * CIRCLE[rng.integers(40, size=n)]


@pytest.mark.parametrize(
    ("points", "scale", "expected"),
    [
        (CIRCLE, 0.3, Betti(1, 1)),
        (np.vstack([CIRCLE, CIRCLE + 4]), 0.3, Betti(2, 2)),
        (np.vstack([CIRCLE - RIGHT, CIRCLE + RIGHT]), 0.3, Betti(1, 2)),  # an eight
        (disc(150, 0), 0.45, Betti(1, 0)),
        (np.vstack([0.1 * CIRCLE[::4], 0.1 * CIRCLE[::4] + 3]), 0.3, Betti(2, 0)),
        (CIRCLE, 0.01, Betti(40, 0)),
        (CIRCLE, 2.1, Betti(1, 0)),  # everything is joined: the hole is filled
        (np.zeros((1, 2)), 1.0, Betti(1, 0)),
    ],
)
def test_known_shapes(points, scale, expected):
    assert betti(points, scale) == expected


def test_ranks_are_those_of_dense_elimination():
    """Euler: pieces - loops + voids = vertices - edges + triangles for a complex of dimension two without voids."""
    X = np.random.default_rng(1).uniform(size=(25, 2))
    gaps = np.linalg.norm(X[:, None] - X, axis=2)
    edges = [(i, j) for i in range(25) for j in range(i) if gaps[i, j] <= 0.35]
    boundary = np.zeros((25, len(edges)), dtype=int)
    for column, (i, j) in enumerate(edges):
        boundary[i, column], boundary[j, column] = 1, -1
    assert betti(X, 0.35).pieces == 25 - np.linalg.matrix_rank(boundary)


def test_a_homotopy_joins_two_maps_continuously():
    H = straight_homotopy(np.sin, np.exp)
    x = np.linspace(-1, 1, 9)
    np.testing.assert_allclose(H(x, 0.0), np.sin(x))
    np.testing.assert_allclose(H(x, 1.0), np.exp(x))
    assert np.abs(H(x, 0.5) - H(x, 0.5 + 1e-6)).max() < 1e-5


@pytest.mark.parametrize("scale", [0, -1.0, np.nan])
def test_a_scale_must_be_positive(scale):
    with pytest.raises(ValueError, match="betti: scale"):
        betti(CIRCLE, scale)
