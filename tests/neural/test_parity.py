"""Perceptrons against scikit-learn's: same start and same batches give the same weights; its way of going on."""

import gc
import weakref

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier as PeerClassifier
from sklearn.neural_network import MLPRegressor as PeerRegressor

import margin
from margin.neural import MLPClassifier, MLPRegressor
from margin.neural.training import RowBatches

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 4))
Y3 = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-0.5, 0.5])
TARGET = np.sin(X[:, 0]) + X[:, 1]


def started_alike(ours, theirs, target):
    """The peer after one step of next to nothing, with the initial weights of ours."""
    rate = ours.learning_rate_init
    start = ours.set_params(max_iter=1, learning_rate_init=1e-300).fit(X, target)
    theirs.set_params(max_iter=1, learning_rate_init=1e-300).fit(X, target)
    theirs.coefs_ = [matrix.copy() for matrix in start.coefs_]
    theirs.intercepts_ = [bias.copy() for bias in start.intercepts_]
    if hasattr(theirs, "_optimizer"):
        del theirs._optimizer
    theirs.n_iter_ = theirs.t_ = 0
    return start.set_params(learning_rate_init=rate), theirs.set_params(learning_rate_init=rate, warm_start=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "params",
    [
        {"solver": "adam"},
        {"solver": "adam", "beta_1": 0.8, "beta_2": 0.99, "alpha": 5.0},
        {"solver": "sgd", "learning_rate_init": 0.05},
        {"solver": "sgd", "nesterovs_momentum": False, "momentum": 0.5, "alpha": 5.0},
        {"solver": "sgd", "momentum": 0.0, "learning_rate": "invscaling", "learning_rate_init": 0.5, "power_t": 0.25},
    ],
    ids=["adam", "adam-parameters", "nesterov", "sgd", "invscaling"],
)
@pytest.mark.parametrize("target", [Y3, Y3 % 2, TARGET], ids=["three-classes", "two-classes", "numbers"])
def test_weights_are_those_of_scikit_learn(params, target):
    """All rows in one batch, so that the order of rows is no part of the comparison."""
    regression = target is TARGET
    # Both add epsilon to the root of the mean square, but before and after its correction: nearly none, then.
    common = {"hidden_layer_sizes": (7,), "activation": "tanh", "batch_size": 90, "learning_rate_init": 0.01}
    common |= {"n_iter_no_change": 1000, "epsilon": 1e-14, "random_state": 0} | params
    ours = (MLPRegressor if regression else MLPClassifier)(**{"alpha": 1e-4, **common}, standardize=False)
    theirs = (PeerRegressor if regression else PeerClassifier)(**common)
    ours, theirs = started_alike(ours, theirs, target)
    ours.set_params(max_iter=25).fit(X, target)
    theirs.set_params(max_iter=25).fit(X, target)
    assert ours.n_iter_ == 25
    for a, b in zip([*ours.coefs_, *ours.intercepts_], [*theirs.coefs_, *theirs.intercepts_]):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("regression", [False, True])
def test_lbfgs_reaches_the_minimum_that_scikit_learn_reaches(regression):
    """Without hidden layers the penalized loss is convex, so both have one answer to find."""
    target = TARGET if regression else Y3
    common = {"hidden_layer_sizes": (), "solver": "lbfgs", "alpha": 2.0, "tol": 1e-9, "max_iter": 2000}
    ours = (MLPRegressor if regression else MLPClassifier)(**common, standardize=False, random_state=0).fit(X, target)
    theirs = (PeerRegressor if regression else PeerClassifier)(**common, random_state=0).fit(X, target)
    said = (m.predict(X) if regression else m.predict_proba(X) for m in (ours, theirs))
    np.testing.assert_allclose(*said, atol=1e-4)
    assert ours.n_iter_ < 200


def test_evaluations_of_lbfgs_are_limited():
    model = MLPRegressor((20,), solver="lbfgs", tol=0.0, max_fun=12, max_iter=500, random_state=0)
    with pytest.warns(ConvergenceWarning, match="the loss still falls after max_fun=12 evaluations"):
        model.fit(X, TARGET)
    assert model.n_iter_ <= 12


def test_attributes_have_scikit_learns_names_and_shapes():
    params = {"hidden_layer_sizes": (5, 3), "max_iter": 4, "early_stopping": True, "random_state": 0}
    with pytest.warns(UserWarning, match="Maximum iterations"):
        theirs = PeerClassifier(**params).fit(X, Y3)
    ours = MLPClassifier(**params).fit(X, Y3)
    assert [a.shape for a in ours.coefs_] == [a.shape for a in theirs.coefs_]
    assert [a.shape for a in ours.intercepts_] == [a.shape for a in theirs.intercepts_]
    for name in ("n_iter_", "n_layers_", "n_outputs_", "out_activation_", "t_"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert len(ours.loss_curve_) == len(ours.validation_scores_) == 4
    assert ours.loss_ == ours.loss_curve_[-1]
    assert ours.best_loss_ == min(ours.loss_curve_)
    assert ours.best_validation_score_ == max(ours.validation_scores_)
    assert MLPClassifier(8, max_iter=1).fit(X, Y3).coefs_[0].shape == (4, 8)


def test_two_classes_have_one_output(tmp_path):
    params = {"hidden_layer_sizes": (6,), "max_iter": 3, "random_state": 0}
    ours = MLPClassifier(**params, standardize=False).fit(X, Y3 > 0)
    assert [a.shape for a in ours.coefs_] == [(4, 6), (6, 1)]
    assert ours.n_outputs_ == 1
    hidden = np.maximum(X @ ours.coefs_[0] + ours.intercepts_[0], 0)
    z = (hidden @ ours.coefs_[1] + ours.intercepts_[1])[:, 0]
    np.testing.assert_allclose(ours.predict_proba(X), np.column_stack([1 / (1 + np.exp(z)), 1 / (1 + np.exp(-z))]))
    np.testing.assert_array_equal(ours.predict(X), z > 0)
    margin.save(ours, tmp_path / "model")
    np.testing.assert_array_equal(margin.load(tmp_path / "model").predict_proba(X), ours.predict_proba(X))
    assert MLPClassifier(max_iter=1).fit(X, np.column_stack([Y3 > 0, Y3 > 1]).astype(int)).n_outputs_ == 2


def test_training_ends_when_its_loss_has_stopped_falling():
    model = MLPRegressor(n_iter_no_change=3, tol=10.0, random_state=0).fit(X, TARGET)
    assert model.n_iter_ == 4
    adaptive = MLPRegressor(solver="sgd", learning_rate="adaptive", n_iter_no_change=1, tol=10.0, random_state=0)
    rates = [record["learning_rate"] for record in adaptive.iterate(X, TARGET)]
    np.testing.assert_allclose(rates, 1e-3 / 5.0 ** np.array([0, 0, 1, 2, 3, 4]))


def test_warm_start_goes_on_from_the_weights():
    model = MLPClassifier((6,), max_iter=3, warm_start=True, random_state=0).fit(X, Y3)
    first, curve = model.coefs_[0].copy(), list(model.loss_curve_)
    model.set_params(learning_rate_init=1e-300).fit(X + 5, Y3)
    np.testing.assert_array_equal(model.coefs_[0], first)
    assert model.n_iter_ == 3  # of the last fit, as scikit-learn counts
    assert model.t_ == 6 * 90
    assert len(model.loss_curve_) == 6
    assert model.loss_curve_[:3] == curve
    cold = MLPClassifier((6,), max_iter=3, random_state=0).fit(X, Y3)
    cold.set_params(learning_rate_init=1e-300, random_state=1).fit(X, Y3)
    assert np.abs(cold.coefs_[0] - first).max() > 0.01
    with pytest.raises(ValueError, match=r"warm_start must go on with classes \[0 1 2\]; got \[0 1\]"):
        model.fit(X, Y3 % 2)
    with pytest.raises(ValueError, match=r"warm_start must go on with layers \[4, 6, 3\]; got \[4, 2, 3\]"):
        model.set_params(hidden_layer_sizes=2).fit(X, Y3)


@pytest.mark.parametrize("solver", ["adam", "sgd"])
def test_partial_fits_are_the_epochs_of_a_fit(solver):
    """With all rows in one batch there is no order, so k partial fits are k epochs with the slots kept."""
    params = {"hidden_layer_sizes": (6,), "batch_size": 90, "tol": 0.0, "solver": solver, "random_state": 0}
    whole = MLPRegressor(**params, max_iter=5).fit(X, TARGET)
    parts = MLPRegressor(**params)
    for _ in range(5):
        parts.partial_fit(X, TARGET)
    assert parts.n_iter_ == 5
    assert parts.loss_curve_ == whole.loss_curve_
    np.testing.assert_array_equal(parts.predict(X), whole.predict(X))


def test_partial_fit_learns_streams_and_says_what_it_cannot():
    model = MLPClassifier((8,), batch_size=8, learning_rate_init=0.02, random_state=0)
    for start in range(0, 90, 30):
        model.partial_fit(X[start : start + 30], Y3[start : start + 30], classes=[0, 1, 2])
    for _ in range(30):
        model.partial_fit(X, Y3)
    assert model.score(X, Y3) > 0.85
    assert model.t_ == 31 * 90
    with pytest.raises(ValueError, match=r"y must have classes among \[0 1 2\]; got np.int64\(7\)"):
        model.partial_fit(X[:3], [0, 1, 7])
    with pytest.raises(ValueError, match=r"classes must be those of the first call, \[0 1 2\]; got \[0 1\]"):
        model.partial_fit(X[:3], [0, 1, 1], classes=[0, 1])
    for wrong in ({"early_stopping": True}, {"learning_rate": "cosine"}):
        with pytest.raises(ValueError, match="partial_fit needs learning_rate 'constant' or 'invscaling'"):
            MLPClassifier(**wrong).partial_fit(X, Y3)
    for cls in (MLPClassifier, MLPRegressor):  # as scikit-learn's: what cannot be done is not there
        assert hasattr(cls(), "partial_fit")
        assert not hasattr(cls(solver="lbfgs"), "partial_fit")


def test_several_labels_per_row_are_learned():
    rows, labels = make_multilabel_classification(200, n_classes=4, random_state=0)
    model = MLPClassifier(max_iter=60, batch_size=32, random_state=0).fit(rows, labels)
    assert model.out_activation_ == "logistic"
    assert model.predict(rows).shape == model.predict_proba(rows).shape == labels.shape
    assert (model.predict(rows) == labels).mean() > 0.85
    np.testing.assert_array_equal(model.predict(rows), model.predict_proba(rows) > 0.5)
    stopped = MLPClassifier(max_iter=5, early_stopping=True, random_state=0).fit(rows, labels)
    assert 0 <= stopped.best_validation_score_ <= 1


@pytest.mark.parametrize("early_stopping", [False, True])
def test_sparse_rows_are_learned_as_dense_ones(early_stopping):
    dense = np.where(rng.random((90, 12)) < 0.2, rng.normal(size=(90, 12)), 0.0)
    params = {"hidden_layer_sizes": (6,), "max_iter": 6, "batch_size": 20, "early_stopping": early_stopping}
    models = [MLPClassifier(**params, random_state=0).fit(rows, Y3) for rows in (dense, csr_matrix(dense))]
    said = [model.predict_proba(rows) for model in models for rows in (dense, csr_matrix(dense))]
    for other in said[1:]:
        np.testing.assert_allclose(other, said[0], rtol=1e-7, atol=1e-9)


def test_a_penalty_shrinks_the_weights():
    norms = [
        sum(np.sum(matrix**2) for matrix in MLPRegressor((20,), alpha=alpha, random_state=0).fit(X, TARGET).coefs_)
        for alpha in (0.0, 10.0, 100.0)
    ]
    assert norms[0] > norms[1] > norms[2]


@pytest.mark.parametrize("by_iterate", [False, True])
def test_nothing_keeps_rows_or_slots_after_a_fit(monkeypatch, by_iterate):
    kept = []
    plain = RowBatches.__init__

    def watched(self, rows, *args, **kwargs):
        kept.append(weakref.ref(rows.tensors[0]))
        plain(self, rows, *args, **kwargs)

    monkeypatch.setattr(RowBatches, "__init__", watched)
    model = MLPClassifier(max_iter=2, batch_size=16, random_state=0)
    if by_iterate:
        for _ in model.iterate(X, Y3):
            pass
        assert set(model.get_state()) & {"batches", "step", "stopping"} == set()
    else:
        model.fit(X, Y3)
        assert not hasattr(model, "_loop")
    gc.collect()
    assert kept[0]() is None
    assert all(parameter.grad is None for parameter in model._ready_module().parameters())


def test_infinite_patience_trains_to_the_end(tmp_path):
    settings = {"hidden_layer_sizes": (4,), "tol": 1e9, "max_iter": 30, "learning_rate": "constant", "random_state": 0}
    assert MLPClassifier(**settings).fit(X, Y3).n_iter_ < 30
    with pytest.warns(ConvergenceWarning):
        model = MLPClassifier(**settings, n_iter_no_change=np.inf).fit(X, Y3)
    assert model.n_iter_ == 30
    margin.save(model, tmp_path / "net.safetensors")
    assert margin.load(tmp_path / "net.safetensors").n_iter_no_change == np.inf
