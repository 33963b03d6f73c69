"""Every kind of value a fitted model may hold comes back with the same type and the same bits."""

from importlib import metadata

import numpy as np
import pytest
from scipy.sparse import random as random_sparse

import margin
from margin.store import StoreError, models
from margin.store.models import load_state, save_state

VALUES = {
    "none": None,
    "truth": True,
    "whole": 12345678901234567890123456789012345678,
    "real": 0.1 + 0.2,
    "nan": float("nan"),
    "infinite": [float("inf"), -float("inf")],
    "text": "naïve \u2028 \U0001f600",
    "tuple": (1, (2.5, "x"), []),
    "keys": {1: "a", "b": 2, (3, 4): None},
    "slice": slice(1, None, 2),
    "dtype": np.dtype("float32"),
    "scalar type": np.float64,
    "numpy scalar": np.float32(0.1),
    "numpy truth": np.bool_(True),
}
ARRAYS = {
    **{
        f"array {d}": np.arange(6).reshape(2, 3).astype(d)
        for d in ("bool", "i1", "u8", "i4", "f2", "f4", "f8", "c8", "c16")
    },
    "transposed": np.arange(6.0).reshape(2, 3).T,
    "strided": np.arange(10.0)[::3],
    "big-endian": np.arange(4, dtype=">f8"),
    "empty": np.zeros((0, 3)),
    "zero-dimensional": np.array(3.5),
    "zero-dimensional complex": np.array(1 + 2j),
    "strings": np.array([["a", "bcd"], ["", "é"]]),
    "objects": np.array(["a", None, float("nan"), 3], dtype=object),
    "dates": np.array(["2024-02-29", "NaT"], dtype="datetime64[ns]"),
}


def round_trip(value, tmp_path):
    save_state({"value": value}, tmp_path / "file.safetensors", step=3)
    state, facts = load_state(tmp_path / "file.safetensors")
    assert facts == {"step": 3}
    return state["value"]


@pytest.mark.parametrize("name", VALUES)
def test_plain_values_come_back(name, tmp_path):
    got = round_trip(VALUES[name], tmp_path)
    assert type(got) is type(VALUES[name])
    assert repr(got) == repr(VALUES[name])


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_come_back(name, tmp_path):
    expected = ARRAYS[name]
    got = round_trip(expected, tmp_path)
    assert got.dtype == expected.dtype.newbyteorder("=")
    assert got.shape == expected.shape
    assert got.flags.writeable
    assert repr(got.tolist()) == repr(expected.tolist())


def test_sparse_matrix_comes_back(tmp_path):
    matrix = random_sparse(7, 5, density=0.4, random_state=0, format="csc")
    np.testing.assert_array_equal(round_trip(matrix, tmp_path).toarray(), matrix.toarray())


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng], ids=["RandomState", "Generator"])
def test_generators_continue_where_they_stood(make, tmp_path):
    generator = make(5)
    generator.normal(size=3)
    again = round_trip(generator, tmp_path)
    np.testing.assert_array_equal(again.normal(size=10), generator.normal(size=10))


@pytest.mark.parametrize(
    "value", [len, object(), {1, 2}, np.zeros(1, dtype="V4")], ids=["function", "object", "set", "void"]
)
def test_what_a_file_cannot_hold_is_named(value, tmp_path):
    with pytest.raises(StoreError, match=r"save: state\['value'\] is .* cannot hold"):
        save_state({"value": value}, tmp_path / "file.safetensors")
    assert not list(tmp_path.iterdir()), "a refused save leaves nothing behind"


def test_sources_on_the_path_that_were_never_installed_say_their_version(monkeypatch):
    def version(name):
        if name == "margin":
            raise metadata.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(metadata, "version", version)
    models._version.cache_clear()
    try:
        assert models.library_versions()["margin"] == margin.__version__
    finally:
        models._version.cache_clear()
