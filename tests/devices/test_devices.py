"""Every network of the catalog learns and predicts on a second device, and its file is of no device."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from problems import build, ids, outputs, problem, uses_torch
from run_networks import few
from torch import nn

import margin
from margin import catalog
from margin.core.parameters import parameters_of
from margin.neural.generators import GlobalStream, load_generator
from margin.neural.training import Batch, Compute, TensorRows
from margin.neural.training.compute import PRECISIONS

HERE = Path(__file__).parent
NETWORKS = [
    entry for entry in catalog.ENTRIES if uses_torch(entry) and "device" in parameters_of(catalog.class_of(entry.name))
]


@pytest.fixture(scope="module")
def on_device(tmp_path_factory):
    """What came of every case on the second device, and the folder of its models."""
    folder = tmp_path_factory.mktemp("models")
    paths = [HERE, HERE.parent / "contracts", *filter(None, sys.path)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(map(str, paths))}
    command = [sys.executable, str(HERE / "run_networks.py"), str(folder), *(entry.name for entry in NETWORKS)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    cases = [json.loads(line) for line in done.stdout.splitlines()]
    return {case["case"]: case["problem"] for case in cases}, folder


# Estimators of the packages of networks that train none, and what they compute with instead.
WITHOUT_NETWORKS = {
    "domain-adaptation-classifier": "any classifier, a network too, whose own parameters say where: estimator__device",
    "neighborhood-components-analysis": "NumPy, in double precision, along lines of the whole loss",
    "zero-shot": "one linear system",
}


def test_networks_are_found():
    assert len(NETWORKS) > 30
    found = {entry.name for entry in catalog.ENTRIES if uses_torch(entry)} - {entry.name for entry in NETWORKS}
    assert found == WITHOUT_NETWORKS.keys()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_wrapper_hands_its_device_on_and_refuses_one_that_nobody_inside_has():
    X = np.random.default_rng(0).normal(size=(30, 4))
    tables = margin.TableSynthesizer(margin.GaussianMixture(2), device="cpu")
    with pytest.raises(ValueError, match=r"^TableSynthesizer: device must be 'auto' with GaussianMixture, which is no"):
        tables.fit(X)
    inside = margin.DiffusionModel((4,), n_steps=3, max_iter=1)
    wrapper = margin.TableSynthesizer(inside, device="cpu", precision="float32").fit(X)
    assert (wrapper.model_.device, wrapper.model_.precision, inside.device) == ("cpu", "float32", "auto")
    with pytest.raises(ValueError, match=r"device must be one of this machine"):
        margin.LatentDiffusion(margin.PCA(2), inside, device="xpu:9").fit(X)
    kept = margin.PseudoLabel(margin.MLPClassifier((3,), max_iter=1, precision="float32"))
    assert kept.fit(X, np.arange(30) % 3 - 1).estimator_.precision == "float32"  # its own where the wrapper says none


@pytest.mark.parametrize("entry", NETWORKS, ids=ids)
def test_all_of_a_network_is_on_the_device(entry, on_device):
    cases = {case: text for case, text in on_device[0].items() if case.rsplit("-", 1)[0] == entry.name}
    assert cases
    assert not any(cases.values()), cases


@pytest.mark.parametrize("entry", NETWORKS, ids=ids)
def test_a_model_of_the_device_is_read_without_it(entry, on_device):
    folder = on_device[1]
    model = margin.load(folder / f"{entry.name}-0.margin")
    assert model.device == "auto"  # the file names none
    X, _ = few(entry)
    here = outputs(model, X)
    with np.load(folder / f"{entry.name}-0.npz") as there:
        for name in set(there.files) - {"sample"}:
            np.testing.assert_allclose(here[name], there[name], rtol=1e-3, atol=1e-4, err_msg=name)


def test_a_device_that_is_not_there_is_refused_in_a_sentence():
    X, y = np.eye(4), [0, 1, 0, 1]
    model = margin.MLPClassifier(device="xpu:9")
    with pytest.raises(ValueError, match=r"^MLPClassifier: device must be one of this machine \('cpu'.*got 'xpu:9'\.$"):
        model.fit(X, y)
    assert not hasattr(model, "weights_")
    with pytest.raises(ValueError, match=r"device must be one of this machine \('cpu'.*got 'cpu:5'"):
        margin.MLPClassifier(device="cpu:5").fit(X, y)
    with pytest.raises(ValueError, match="device must be 'auto' or one that torch knows"):
        margin.MLPClassifier(device="gpu").fit(X, y)
    with pytest.raises(ValueError, match="which holds shapes alone"):
        margin.MLPClassifier(device="meta").fit(X, y)


def test_bfloat16_is_refused_on_a_cpu_with_the_reason():
    with pytest.raises(
        ValueError, match=r"MLPRegressor: precision must be 'auto' or 'float32' on a CPU.*end the process"
    ):
        margin.MLPRegressor(device="cpu", precision="bfloat16").fit(np.eye(4), np.arange(4.0))


@pytest.mark.parametrize(
    "name", ["mlp-classifier", "pinn", "node-classifier", "neural-regressor", "sequence-classifier"]
)
def test_float32_is_the_precision_of_all_weights(name):
    entry = catalog.entry(name)
    X, y = problem(entry)
    model = build(entry, precision="float32", device="cpu", **({"max_iter": 2}))
    model.fit(X, y)
    assert {array.dtype for array in model.weights_.values() if array.dtype.kind == "f"} == {np.dtype("float32")}
    assert outputs(model, X)


def test_a_batch_is_moved_and_narrowed_as_one():
    compute = Compute(dtype=torch.float32)
    numbers, wide = torch.arange(3), torch.ones(3, dtype=torch.float64)
    batch = compute.batch(Batch((wide, numbers), wide, wide.sum()))
    assert [tensor.dtype for tensor in batch.tensors] == [torch.float32, torch.int64]
    assert batch.weight.dtype == batch.mass.dtype == torch.float32
    rows = compute.rows(TensorRows.of(np.ones((5, 2)), np.arange(5)))
    assert rows.dtype == torch.float32
    assert len(rows.take(torch.tensor([1, 2]))) == 2
    assert all(part.tensors[0].dtype == torch.float32 for part in rows.chunks(2))
    untouched = Batch((wide,))
    assert Compute().batch(untouched) is untouched


def test_predictions_go_to_the_cpu_where_the_device_is_not_there():
    assert Compute.to_predict("MLPClassifier", "cuda:7", "bfloat16") == Compute()
    assert PRECISIONS[0] == "auto"


def test_a_stream_of_another_kind_of_device_is_refused():
    with pytest.raises(ValueError, match="taken on another kind of device"):
        load_generator(torch.Generator(), np.zeros(16, dtype=np.uint8))
    stream, layer = GlobalStream(3), nn.Dropout(0.5)
    before = torch.default_generator.get_state()
    with stream.active():
        layer(torch.ones(4))
    assert torch.equal(before, torch.default_generator.get_state())


def test_defaults_are_where_the_contracts_expect_them():
    assert all(build(entry).get_params()["device"] == "auto" for entry in NETWORKS)
