"""Pictures in a file that is mapped into memory: a network learns from them and predicts without a copy of them."""

import tracemalloc

import numpy as np
import pytest

from margin.data import image_arrays
from margin.neural import CNNClassifier, CNNRegressor
from margin.store import save


@pytest.fixture
def mapped(tmp_path):
    pictures = np.random.default_rng(0).integers(0, 256, (4_000, 3, 32, 32), dtype=np.uint8)
    np.save(tmp_path / "pictures.npy", pictures)
    return np.load(tmp_path / "pictures.npy", mmap_mode="r")


@pytest.mark.parametrize("network", [CNNClassifier, CNNRegressor])
def test_a_map_is_not_copied_and_gives_the_same_model(mapped, network, tmp_path, monkeypatch):
    monkeypatch.setattr(image_arrays, "CHUNK_VALUES", 2**17)  # so that a chunk in float64 is small beside the map
    y = np.arange(len(mapped)) % 3
    model = network(architecture=["pool 8", "dense 4"], max_iter=1, batch_size=500, random_state=0)
    model.fit(mapped[:600], y[:600]).predict(mapped[:600])  # what is loaded and made once
    tracemalloc.start()
    model.fit(mapped, y)
    fitted = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    predicted = model.predict(mapped)
    peak = max(fitted, tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    assert peak < mapped.nbytes / 2
    save(model, tmp_path / "mapped")
    copied = network(**model.get_params()).fit(np.array(mapped), y)
    save(copied, tmp_path / "copied")
    assert (tmp_path / "mapped").read_bytes() == (tmp_path / "copied").read_bytes()
    np.testing.assert_array_equal(predicted, copied.predict(np.array(mapped)))
