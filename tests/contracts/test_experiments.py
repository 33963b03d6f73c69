"""Every experiment runs in its fast mode, its check holds, it draws, and the same seed gives the same numbers."""

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
from matplotlib.figure import Figure

from margin.notes import experiments


def flat(value):
    if isinstance(value, dict):
        return [item for key in value for item in flat(value[key])]
    if isinstance(value, list | tuple):
        return [item for part in value for item in flat(part)]
    return [value]


@pytest.mark.parametrize("name", experiments.names())
def test_experiment(name):
    module = experiments.load(name)
    data = module.run(0, fast=True)
    assert module.check(data).ok, module.check(data)
    figure = Figure(figsize=(10, 6), layout="constrained")
    module.draw(data, figure)
    assert figure.axes, "an experiment draws something"
    figure.canvas.draw()
    assert experiments.title(module)
    first, again = flat(data), flat(module.run(0, fast=True))
    assert len(first) == len(again)
    for a, b in zip(first, again):
        if isinstance(a, int | float | str | np.ndarray | np.generic):
            np.testing.assert_array_equal(a, b, err_msg="the same seed gives the same numbers")
