"""A damaged, truncated, foreign, newer or hostile file ends in one clear sentence, and nothing in it is executed."""

import contextlib
import json
import re
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save as safetensors_save
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import margin
from margin.store import StoreError, container


def write_raw(path, manifest, arrays=None, metadata_key="margin"):
    text = manifest if isinstance(manifest, str) else json.dumps(manifest)
    path.write_bytes(safetensors_save(arrays or {}, metadata={metadata_key: text}))
    return path


def model_file(path, root, **other):
    return write_raw(
        path,
        {"format_version": 1, "kind": "model", "root": root, **other},
        {"a0": np.zeros(3), "a1": np.zeros(624, np.uint32)},
    )


@pytest.fixture
def good(tmp_path):
    scaler = StandardScaler().fit(np.arange(6.0).reshape(3, 2))
    return margin.save(make_pipeline(scaler), tmp_path / "good.safetensors")


def refuses(path, match):
    with pytest.raises(StoreError, match=match) as caught:
        margin.load(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message


def test_missing_file(tmp_path):
    refuses(tmp_path / "nowhere.safetensors", "cannot be read")


def test_folder(tmp_path):
    refuses(tmp_path, "cannot be read")


@pytest.mark.parametrize("keep", [0, 4, 8, 60, -1])
def test_truncated(good, keep):
    good.write_bytes(good.read_bytes()[:keep])
    refuses(good, "truncated|damaged|not a Margin file")


def test_every_single_byte_flip_is_refused_or_harmless(good):
    """Flipping bytes of the header never ends in anything but a StoreError or a model."""
    content = bytearray(good.read_bytes())
    size = 8 + int.from_bytes(content[:8], "little")
    for position in range(0, size, 7):
        damaged = bytearray(content)
        damaged[position] ^= 0x15
        good.write_bytes(damaged)
        with contextlib.suppress(StoreError), warnings.catch_warnings(action="ignore"):
            margin.load(good)


def test_foreign_safetensors(tmp_path):
    refuses(write_raw(tmp_path / "f", "{}", metadata_key="other"), "not written by Margin")


def test_a_pickle_is_not_read(tmp_path):
    import pickle

    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(StandardScaler()))
    refuses(path, "not a Margin file")


def test_newer_format(tmp_path):
    refuses(write_raw(tmp_path / "f", {"format_version": 99, "kind": "model", "root": None}), "update Margin")


@pytest.mark.parametrize("version", [0, "1", None, True, 1.5])
def test_invalid_version(tmp_path, version):
    refuses(write_raw(tmp_path / "f", {"format_version": version, "kind": "model", "root": None}), "format version")


def test_a_checkpoint_is_not_a_model(tmp_path):
    refuses(write_raw(tmp_path / "f", {"format_version": 1, "kind": "state", "root": None}), "not a 'model'")


def test_duplicate_keys(tmp_path):
    refuses(write_raw(tmp_path / "f", '{"format_version": 1, "kind": "model", "kind": "model"}'), "repeats a key")


def test_duplicate_keys_in_the_header(tmp_path):
    header = b'{"__metadata__": {"margin": "{}"}, "__metadata__": {"margin": "{}"}}'
    (tmp_path / "f").write_bytes(struct.pack("<Q", len(header)) + header)
    refuses(tmp_path / "f", "repeats a key")


def test_absurd_header_size(tmp_path):
    (tmp_path / "f").write_bytes(struct.pack("<Q", 2**62) + b"{}")
    refuses(tmp_path / "f", "truncated")


@pytest.mark.parametrize("depth", [container.MAX_DEPTH + 1, 100_000])
def test_deep_nesting(tmp_path, depth):
    manifest = '{"format_version": 1, "kind": "model", "root": ' + "[" * depth + "]" * depth + "}"
    refuses(write_raw(tmp_path / "f", manifest), "levels deep|not valid JSON")


def estimator(name, params=None, learned=None):
    return {"!": "estimator", "class": name, "params": params or {}, "learned": learned or {}}


GENERATOR_KEY = {"!": "array", "dtype": "<u4", "shape": [624], "data": "a1"}
HOSTILE = {
    "class outside the registry": (estimator("os.system"), "not in the registry"),
    "path trick": (estimator("../../sklearn/pipeline"), "not in the registry"),
    "dotted path": (estimator("sklearn.svm.SVC"), "not in the registry"),
    "unknown parameter": (estimator("sklearn/standard-scaler", {"command": "rm"}), "unexpected keyword"),
    "method replaced": (estimator("sklearn/standard-scaler", learned={"transform": 3}), "cannot have an attribute"),
    "parameter among what was learned": (
        estimator("sklearn/pipeline", {"steps": []}, {"memory": "/tmp/cache"}),
        "cannot have an attribute",
    ),
    "dunder replaced": (estimator("sklearn/standard-scaler", learned={"__class__": 3}), "cannot have an attribute"),
    "property replaced": (
        estimator("sklearn/pipeline", {"steps": []}, {"n_features_in_": 3}),
        "cannot have an attribute",
    ),
    "not an identifier": (estimator("sklearn/standard-scaler", learned={"a b": 3}), "cannot have an attribute"),
    "unknown kind": ({"!": "pickle", "data": "x"}, "unknown kind"),
    "no kind": ({"a": 1}, "unknown kind"),
    "no estimator": (5, "does not hold an estimator"),
    "missing array": (
        estimator(
            "sklearn/standard-scaler", learned={"mean_": {"!": "array", "dtype": "<f8", "shape": [3], "data": "a9"}}
        ),
        "array",
    ),
    "wrong shape": (
        estimator(
            "sklearn/standard-scaler", learned={"mean_": {"!": "array", "dtype": "<f8", "shape": [4], "data": "a0"}}
        ),
        "declared",
    ),
    "wrong dtype": (
        estimator(
            "sklearn/standard-scaler", learned={"mean_": {"!": "array", "dtype": "<i4", "shape": [3], "data": "a0"}}
        ),
        "declared",
    ),
    "absurd dtype": (
        estimator(
            "sklearn/standard-scaler",
            learned={"mean_": {"!": "array", "dtype": "<U999999999", "shape": [1], "items": [""]}},
        ),
        "data type|dtype",
    ),
    "memory bomb": (
        estimator(
            "sklearn/standard-scaler",
            learned={"mean_": {"!": "array", "dtype": "<U200000", "shape": [1000], "items": [""] * 1000}},
        ),
        "too large",
    ),
    "absurd shape": (
        estimator(
            "sklearn/standard-scaler", learned={"mean_": {"!": "array", "dtype": "O", "shape": [10**9], "items": []}}
        ),
        "array",
    ),
    "generator reading beyond its key": (
        estimator(
            "kmeans",
            {
                "random_state": {
                    "!": "random-state",
                    "state": {
                        "!": "dict",
                        "items": [
                            ["bit_generator", "MT19937"],
                            ["state", {"!": "dict", "items": [["key", GENERATOR_KEY], ["pos", 10**6]]}],
                        ],
                    },
                }
            },
        ),
        "position among them",
    ),
    "unhashable key": (
        estimator("sklearn/standard-scaler", learned={"mean_": {"!": "dict", "items": [[[1], 2]]}}),
        "dict",
    ),
    "sparse out of range": (
        estimator(
            "sklearn/standard-scaler", learned={"mean_": {"!": "csr", "shape": [1, 1], "items": [[1.0], [7], [0, 1]]}}
        ),
        "csr",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_manifest(tmp_path, name):
    root, match = HOSTILE[name]
    refuses(model_file(tmp_path / "f", root), match)


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (Ridge(), "not in the registry"),
        (make_pipeline(FunctionTransformer(np.log1p)), "cannot hold"),
        ({"a": 1}, "must be an estimator"),
        (StandardScaler, "cannot hold"),
    ],
    ids=["foreign estimator", "function inside", "no estimator", "class"],
)
def test_what_cannot_be_saved_is_named_and_leaves_no_file(model, match, tmp_path):
    with pytest.raises(StoreError, match=match):
        margin.save(model, tmp_path / "f")
    assert not list(tmp_path.iterdir())


def test_saving_over_a_file_is_all_or_nothing(good):
    before = good.read_bytes()
    with pytest.raises(StoreError):
        margin.save(Ridge(), good)
    assert good.read_bytes() == before


def test_writing_gives_usual_permissions_and_never_touches_the_umask(tmp_path, monkeypatch):
    monkeypatch.setattr("os.umask", lambda mask: pytest.fail("the umask belongs to the whole process"))
    written = container.write_atomically(tmp_path / "a", b"x")
    (tmp_path / "b").write_bytes(b"x")
    assert written.stat().st_mode == (tmp_path / "b").stat().st_mode
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b"}


def test_resources_are_not_written(tmp_path):
    pipeline = Pipeline([("scale", StandardScaler(copy=False))], memory=str(tmp_path / "cache"), verbose=True)
    again = margin.load(margin.save(pipeline, tmp_path / "f"))
    assert (again.memory, again.verbose, again["scale"].copy) == (None, False, True)
    assert b"cache" not in (tmp_path / "f").read_bytes()
    margin.save(margin.RandomForestClassifier(n_jobs=24), tmp_path / "g")
    assert margin.load(tmp_path / "g").n_jobs is None


def test_resources_in_a_file_never_act(tmp_path):
    """A cache folder holds pickles, which a fit would load: a file must not be able to name one."""
    steps = [{"!": "tuple", "items": ["scale", estimator("sklearn/standard-scaler")]}]
    root = estimator("sklearn/pipeline", {"steps": steps, "memory": str(tmp_path), "verbose": True})
    with pytest.warns(UserWarning, match="sets memory, which is left to whoever loads a model"):
        model = margin.load(model_file(tmp_path / "f", root))
    assert (model.memory, model.verbose) == (None, False)
    with pytest.warns(UserWarning, match="sets n_jobs"):
        forest = margin.load(model_file(tmp_path / "f", estimator("random-forest-classifier", {"n_jobs": 24})))
    assert forest.n_jobs is None


def test_no_module_of_the_package_imports_pickle():
    # But three: processes of a comparison and of bounded calls talk over pipes of their own, and what is prepared is
    # known by a key that is made of it.
    package = Path(margin.__file__).parent
    found = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"^\s*(import|from) pickle|joblib\.load", path.read_text(), re.MULTILINE)
    }
    assert found == {"selection/workers.py", "selection/prepared.py", "service/bounded_calls.py"}
