"""Model files read without the library: their archive, its manifest and its arrays."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.linear import LinearRegression
from margin.store import load, save


@oracle("margin.store.save", "margin.store.load")
def arrays_in_a_file(seed: int) -> Verdict:
    """What safetensors finds in the file are the fitted arrays; a loaded model predicts by them."""
    from safetensors.numpy import load_file

    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(9, 3)), rng.normal(size=9)
    model = LinearRegression().fit(X, y)
    slopes, *_ = np.linalg.lstsq(np.column_stack([np.ones(9), X]), y, rcond=None)
    with tempfile.TemporaryDirectory() as folder:
        path = save(model, Path(folder) / "model.safetensors")
        arrays = load_file(path)
        again = load(path)
    stored = [array for array in arrays.values() if array.shape == (3,)]
    return every(
        stored=near(min((np.abs(array - slopes[1:]).max() for array in stored), default=np.inf), 0.0, tolerance=1e-9),
        predictions=near(again.predict(X), slopes[0] + X @ slopes[1:], tolerance=1e-9),
        same_bits=equal(again.predict(X).tobytes(), model.predict(X).tobytes()),
        parameters=equal(again.get_params(), model.get_params()),
    )
