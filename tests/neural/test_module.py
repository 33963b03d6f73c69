"""Users' own modules: checks, searches, tokens and images, weights in files, exact resume with torch's own layers."""

import itertools

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import GridSearchCV
from torch import nn

from margin import store
from margin.neural import NeuralClassifier, NeuralRegressor
from margin.store.models import load_state, save_state

X, y = load_iris(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
FAST = {"learning_rate_init": 0.02, "max_iter": 8, "batch_size": 32, "random_state": 0}


class Net(nn.Module):
    """Dropout and batch normalization of torch: both draw from or write to state that is not a weight."""

    def __init__(self, n_features, n_outputs, width=8):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_features, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.2), nn.Linear(width, n_outputs)
        )

    def forward(self, x):
        return self.layers(x)


class Reader(nn.Module):
    def __init__(self, n_outputs):
        super().__init__()
        self.convolution, self.head = nn.Conv2d(1, 8, 3), nn.Linear(8 * 9, n_outputs)

    def forward(self, x):
        return self.head(nn.functional.max_pool2d(self.convolution(x[:, None]).relu(), 2).flatten(1))


class Bag(nn.Module):
    def __init__(self, n_outputs):
        super().__init__()
        self.embedding, self.head = nn.Embedding(20, 8), nn.Linear(8, n_outputs)

    def forward(self, tokens):
        return self.head(self.embedding(tokens).mean(dim=1))


def test_a_class_an_instance_and_a_function_are_all_modules():
    for module in (Net, Net(4, 3), lambda n_features: Net(n_features, 3)):
        assert NeuralClassifier(module, **FAST).fit(X, y).score(X, y) > 0.85


def test_an_instance_is_where_training_starts_and_stays_as_it_is():
    net = Net(4, 3)
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    model = NeuralClassifier(net, **FAST).fit(X, y)
    assert all(torch.equal(before[name], tensor) for name, tensor in net.state_dict().items())
    still = NeuralClassifier(net, **{**FAST, "learning_rate_init": 1e-12, "max_iter": 1, "alpha": 0}).fit(X, y)
    np.testing.assert_allclose(still.weights_["layers.0.weight"], before["layers.0.weight"], atol=1e-6)
    assert np.abs(model.weights_["layers.0.weight"] - before["layers.0.weight"].numpy()).max() > 1e-3


def test_arguments_of_the_module_can_be_searched():
    model = NeuralClassifier(Net, module_params={"width": 4}, **FAST)
    assert model.get_params()["module__width"] == 4
    search = GridSearchCV(model, {"module__width": [2, 16]}, cv=2).fit(X, y)
    widths = [len(search.best_estimator_.weights_["layers.0.bias"]), search.best_params_["module__width"]]
    assert widths[0] == widths[1]
    assert clone(model).module_params == {"width": 4}
    assert model.module_params == {"width": 4}


def test_images_and_tokens_are_inputs_too():
    images, digits = load_digits(return_X_y=True)
    images = (images.reshape(-1, 8, 8) / 16)[:600]
    model = NeuralClassifier(Reader, **{**FAST, "max_iter": 15}).fit(images, digits[:600])
    assert model.score(images, digits[:600]) > 0.9
    tokens = np.random.default_rng(0).integers(20, size=(200, 6))
    about = (tokens < 10).mean(axis=1) > 0.5
    reader = NeuralClassifier(Bag, dtype="int64", **{**FAST, "max_iter": 30}).fit(tokens, about)
    assert reader.score(tokens, about) > 0.9


@pytest.mark.parametrize("early_stopping", [False, True])
def test_a_resumed_fit_has_the_same_bits_with_layers_of_torch(tmp_path, early_stopping):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    model = NeuralClassifier(Net, **FAST, early_stopping=early_stopping, weight_average=0.9, record_steps=3)
    whole = clone(model)
    expected = [record.as_dict() for record in whole.iterate(X, y)]
    assert torch.equal(torch.get_rng_state(), before)
    state, records = None, []
    for count in (2, 5):
        part = clone(model)
        records += [record.as_dict() for record in itertools.islice(part.iterate(X, y, state=state), count)]
        save_state(part.get_state(), tmp_path / "state.safetensors")
        state, _ = load_state(tmp_path / "state.safetensors")
        torch.manual_seed(count)  # someone else draws in between
    resumed = clone(model)
    records += [record.as_dict() for record in resumed.iterate(X, y, state=state)]
    assert records == expected
    np.testing.assert_array_equal(resumed.predict_proba(X), whole.predict_proba(X))


@pytest.mark.parametrize("labels", [y, np.array(["a", "bb", "ccc"])[y]], ids=["numbers", "strings"])
def test_weights_go_through_a_file_that_names_no_code(tmp_path, labels):
    model = NeuralClassifier(Net, **FAST).fit(X, labels)
    path = model.save_weights(tmp_path / "weights.safetensors")
    assert b"Net" not in path.read_bytes()
    again = NeuralClassifier(Net).load_weights(path)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="must have shape"):
        NeuralClassifier(Net, module_params={"width": 5}).load_weights(path)
    with pytest.raises(store.StoreError, match=r"NeuralClassifier.module is a type, which a model file cannot hold"):
        store.save(model, tmp_path / "model.safetensors")


def test_regression_takes_a_criterion_and_several_targets(tmp_path):
    targets = X[:, :2] @ [[1.0, 2.0], [0.5, -1.0]]
    model = NeuralRegressor(Net, criterion=nn.HuberLoss(), **{**FAST, "max_iter": 60}).fit(X, targets)
    assert model.predict(X).shape == targets.shape
    assert model.score(X, targets) > 0.7
    again = NeuralRegressor(Net).load_weights(model.save_weights(tmp_path / "w"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="a loss per row where rows have weights; got a scalar"):
        clone(model).fit(X, targets, sample_weight=np.arange(150) + 1.0)


def test_a_fit_can_be_asked_to_stop_from_outside():
    model = NeuralClassifier(Net, **FAST)
    records = model.iterate(X, y)
    next(records)
    model.request_stop()
    rest = list(records)
    assert [record.iteration for record in rest] == [6]
    assert not model.get_state()["finished"]


@pytest.mark.parametrize(
    "params,sentence",
    [
        ({"module": 3}, "module must be None, an nn.Module, or a class or function that makes one; got 3"),
        ({"module": lambda: 3}, "module must make an nn.Module; it made a int"),
        (
            {"module": Net(4, 2)},
            r"module must give 3 scores per row, one per class; it gave an output of shape \(32, 2\)",
        ),
        ({"criterion": "mse"}, "criterion must be a function of outputs and targets or None"),
    ],
)
def test_complaints_are_sentences(params, sentence):
    with pytest.raises(ValueError, match=sentence):
        NeuralClassifier(**{**FAST, **params}).fit(X, y)


@pytest.mark.parametrize("cls", [NeuralClassifier, NeuralRegressor])
def test_a_training_that_diverged_is_named(cls):
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = X[:, 0] > 0 if cls is NeuralClassifier else 100 * X[:, 0]
    model = cls(solver="sgd", learning_rate_init=1e30, max_iter=5, random_state=0)
    with pytest.raises(FloatingPointError, match=f"^{cls.__name__}: the training loss is"):
        model.fit(X, y)
