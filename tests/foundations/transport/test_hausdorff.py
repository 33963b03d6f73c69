import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.spatial.distance import directed_hausdorff as scipy_directed

from margin.foundations.transport import directed_hausdorff, hausdorff


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 40), st.integers(1, 4))
def test_against_scipy_and_brute_force(seed, m, n, d):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(m, d)), rng.normal(size=(n, d))
    D = cdist(x, y)
    assert directed_hausdorff(x, y) == pytest.approx(scipy_directed(x, y)[0])
    assert hausdorff(x, y) == pytest.approx(max(D.min(axis=1).max(), D.min(axis=0).max()))
    assert hausdorff(x, y) == hausdorff(y, x)
    assert hausdorff(x, x) == 0


def test_bad_input():
    with pytest.raises(ValueError, match="same dimension"):
        hausdorff(np.ones((2, 2)), np.ones((2, 3)))
    with pytest.raises(ValueError, match="x must be finite"):
        hausdorff([np.inf], [0.0])
