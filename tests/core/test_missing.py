"""One answer to whether a value is missing."""

import numpy as np
import pandas as pd
import pytest

from margin.core.missing import any_missing, is_missing


@pytest.mark.parametrize("value", [None, float("nan"), np.nan, np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT")])
def test_missing(value):
    assert is_missing(value)
    assert any_missing(["a", value])


@pytest.mark.parametrize("value", ["", "nan", 0, False, np.inf, [], np.zeros(3), np.datetime64("2020-01-01")])
def test_present(value):
    assert not is_missing(value)
    assert not any_missing(["a", value])
