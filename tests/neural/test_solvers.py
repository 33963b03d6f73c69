"""Rules and schedules as parameters of networks: names and objects are one thing, for every network."""

import itertools

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from torch import nn

import margin
from margin.neural.training.schedules import rate_schedule
from margin.optimize import (
    AdaGrad,
    Adam,
    AdaMax,
    AdamW,
    Constant,
    Cosine,
    CosineRestarts,
    Cyclical,
    Descent,
    ExponentialDecay,
    InverseTime,
    LinearDecay,
    Lion,
    Momentum,
    Muon,
    Nesterov,
    OneCycle,
    Plateau,
    RMSProp,
    StepDecay,
    WarmUp,
)
from margin.optimize.rate_schedules import SCHEDULES, RateSchedule
from margin.optimize.rules import RULES
from margin.store.models import load_state, save_state

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 5))
y = (X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0).astype(int)
TEXTS = ["a red fox ran", "the dog sleeps", "a fox sleeps", "the red dog ran"] * 8
RATES = {"gradient_descent": 0.1, "adadelta": 3.0, "adagrad": 0.05, "lion": 3e-3, "muon": 0.02, "momentum": 0.03}


def mlp(**options):
    settings = {"max_iter": 6, "batch_size": 25, "random_state": 0, "n_iter_no_change": 50}
    return margin.MLPClassifier((8, 6), **{**settings, **options})


def assert_same_weights(one, other):
    assert one.weights_.keys() == other.weights_.keys()
    for name, array in one.weights_.items():
        np.testing.assert_array_equal(array, other.weights_[name], err_msg=name)


@pytest.mark.filterwarnings("ignore:.*still falls")
@pytest.mark.parametrize(
    ("name", "rule", "options"),
    [
        ("adam", Adam(), {}),
        ("adam", Adam(beta_1=0.7, beta_2=0.9, epsilon=1e-4), {"beta_1": 0.7, "beta_2": 0.9, "epsilon": 1e-4}),
        ("adamw", AdamW(), {"alpha": 0.2}),
        ("adamw", AdamW(weight_decay=0.2), {"alpha": 0.2}),
        ("sgd", Nesterov(0.9, convention="unscaled"), {}),
        ("sgd", Momentum(0.8, "unscaled"), {"momentum": 0.8, "nesterovs_momentum": False}),
        ("sgd", Descent(), {"momentum": 0.0}),
        ("muon", Muon(0.9), {"alpha": 0.2}),
        ("muon", Muon(0.9, rest=AdamW()), {"alpha": 0.2}),
        ("muon", Muon(0.9, False, rest=AdamW(0.8)), {"alpha": 0.2, "nesterovs_momentum": False, "beta_1": 0.8}),
        ("lion", Lion(), {"alpha": 0.2}),
        ("adamax", AdaMax(beta_1=0.8), {"beta_1": 0.8}),
        ("momentum", Momentum(0.7), {"momentum": 0.7}),
        ("rmsprop", RMSProp(), {}),
        ("adagrad", AdaGrad(), {}),
    ],
)
def test_a_name_is_its_object(name, rule, options):
    by_name = mlp(solver=name, **options).fit(X, y)
    usual = {"alpha": options["alpha"]} if "alpha" in options else {}
    by_object = mlp(solver=rule, **usual).fit(X, y)
    assert_same_weights(by_name, by_object)


@pytest.mark.filterwarnings("ignore:.*still falls")
@pytest.mark.parametrize(
    ("name", "schedule"),
    [
        ("constant", Constant()),
        ("constant", Constant(0.003)),
        ("adaptive", Plateau()),
        ("cosine", Cosine()),
        ("linear", LinearDecay()),
        ("step", StepDecay(every=10)),
        ("exponential", ExponentialDecay()),
        ("one_cycle", OneCycle()),
        ("inverse_time", InverseTime()),
        ("cyclical", Cyclical()),
        ("cosine_restarts", CosineRestarts()),
    ],
)
@pytest.mark.parametrize("early_stopping", [False, True])
def test_a_name_is_its_schedule(name, schedule, early_stopping):
    options = {"early_stopping": early_stopping, "n_iter_no_change": 2, "tol": 0.02, "max_iter": 6}
    rate = schedule.rate or 0.05
    by_name = mlp(learning_rate=name, learning_rate_init=rate, **options).fit(X, y)
    by_object = mlp(learning_rate=schedule, learning_rate_init=0.05, **options).fit(X, y)
    assert_same_weights(by_name, by_object)


@pytest.mark.filterwarnings("ignore:.*still falls")
def test_a_rise_is_the_parameter_warmup():
    by_parameter = mlp(learning_rate="linear", warmup=0.2).fit(X, y)
    by_object = mlp(learning_rate=WarmUp(schedule=LinearDecay(), fraction=0.2)).fit(X, y)
    assert_same_weights(by_parameter, by_object)
    assert not np.array_equal(by_object.coefs_[0], mlp(learning_rate="linear").fit(X, y).coefs_[0])


def net():
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 2))


NETWORKS = {
    "mlp": (lambda **options: mlp(**options), X, y),
    "module": (
        lambda **options: margin.NeuralClassifier(net, max_iter=4, batch_size=25, random_state=0, **options),
        X.astype(np.float32),
        y,
    ),
    "cnn": (
        lambda **options: margin.CNNClassifier(max_iter=2, batch_size=16, random_state=0, **options),
        rng.integers(0, 255, size=(40, 8, 8)).astype(np.uint8),
        y[:40],
    ),
    "tabular": (lambda **options: margin.TabularNetClassifier(2, max_iter=4, random_state=0, **options), X, y),
    "text": (
        lambda **options: margin.TextClassifier(max_iter=2, random_state=0, **options),
        TEXTS,
        np.array([0, 1, 0, 1] * 8),
    ),
    "language": (
        lambda **options: margin.LanguageModel(
            d_model=8, n_heads=2, n_blocks=1, context=8, max_iter=2, random_state=0, **options
        ),
        TEXTS,
        None,
    ),
    "vae": (lambda **options: margin.VAE(2, max_iter=2, random_state=0, **options), X, None),
    "gan": (lambda **options: margin.GAN(2, max_iter=2, random_state=0, **options), X, None),
}
PARTS = [
    *(("solver", kind()) for kind in RULES.values()),
    *(("learning_rate", type(schedule)(0.004)) for schedule in SCHEDULES.values()),
    ("learning_rate", WarmUp(schedule=StepDecay(factor=0.5), steps=3)),
]


def stopped_and_continued(make, X, y, folder):
    """Records of a fit that was stopped after every third one and continued from a file."""
    state, records = None, []
    while True:
        model = make()
        some = list(itertools.islice(model.iterate(X, y, state=state), 3))
        if not some:
            return model, records
        records += [record.as_dict() for record in some]
        save_state(model.get_state(), folder / "state.safetensors")
        state, _ = load_state(folder / "state.safetensors")


@pytest.mark.filterwarnings("ignore:.*still falls")
@pytest.mark.parametrize(("name", "part"), PARTS, ids=lambda value: type(value).__name__)
def test_a_perceptron_learns_resumes_and_is_stored_with_every_part(tmp_path, name, part):
    names = {kind: rule for rule, kind in RULES.items()}
    rate = RATES.get(names.get(type(part), ""), 0.005)
    make = lambda: mlp(**{name: part}, learning_rate_init=rate, record_steps=2, max_iter=12)  # noqa: E731
    model = make().fit(X, y)
    assert model.loss_curve_[-1] < model.loss_curve_[0]
    resumed, records = stopped_and_continued(make, X, y, tmp_path)
    assert_same_weights(model, resumed)
    assert records == [record.as_dict() for record in make().iterate(X, y)]
    margin.save(model, tmp_path / "model.safetensors")
    loaded = margin.load(tmp_path / "model.safetensors")
    assert getattr(loaded, name) == part
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    copy = clone(model)
    assert getattr(copy, name) == part
    assert repr(part) in repr(copy)
    assert copy._repr_html_()


@pytest.mark.filterwarnings("ignore:.*still falls")
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize(
    ("rule", "schedule"),
    [(Lion(), WarmUp(schedule=Cosine(floor=0.1))), (RMSProp(0.9), CosineRestarts()), (Muon(), "cyclical")],
    ids=lambda value: type(value).__name__,
)
def test_every_network_takes_them(network, rule, schedule):
    make, inputs, target = NETWORKS[network]
    alpha = {} if rule.decouples else {"alpha": 0.0}
    model = make(solver=rule, learning_rate=schedule, learning_rate_init=1e-3, **alpha)
    rates = [record.values for record in model.iterate(inputs, target)]
    assert all(np.isfinite(list(values.values())).all() for values in rates)
    other = make(solver="adam", learning_rate="constant", learning_rate_init=1e-3, **alpha)
    for _ in other.iterate(inputs, target):
        pass
    assert any(not np.array_equal(model.weights_[key], other.weights_[key]) for key in other.weights_)


@pytest.mark.filterwarnings("ignore:.*still falls")
def test_a_search_reaches_into_parts():
    grid = {"solver": [Adam(), Lion()], "solver__beta_1": [0.5, 0.9], "learning_rate": ["constant", Cosine(floor=0.2)]}
    search = GridSearchCV(mlp(max_iter=2, learning_rate_init=0.01), grid, cv=2).fit(X, y)
    assert len(search.cv_results_["params"]) == 8
    assert search.best_estimator_.solver.beta_1 in (0.5, 0.9)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()


@pytest.mark.filterwarnings("ignore:.*still falls")
def test_partial_fit_by_an_object_is_that_by_its_name():
    first, second = mlp(solver="adam"), mlp(solver=Adam(), learning_rate=Constant())
    for _ in range(3):
        first.partial_fit(X, y, classes=[0, 1])
        second.partial_fit(X, y, classes=[0, 1])
    assert_same_weights(first, second)
    with pytest.raises(ValueError, match=r"partial_fit needs learning_rate .* got Cosine\(\)"):
        mlp(learning_rate=Cosine()).partial_fit(X, y, classes=[0, 1])


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"solver": Adam(beta_1=2.0)}, r"Adam: beta_1 must be a number at least 0 and below 1; got 2"),
        ({"solver": Adam}, "MLPClassifier: solver must be one of .* or an update rule of margin.optimize; got"),
        ({"solver": "lionn"}, "MLPClassifier: solver must be one of"),
        ({"solver": torch.optim.SGD([torch.zeros(1)])}, "MLPClassifier: solver must be"),
        ({"learning_rate": Cosine(floor=1.5)}, "Cosine: floor must be a number at least 0 and below 1; got 1.5"),
        ({"learning_rate": WarmUp(schedule="cosine")}, "WarmUp: schedule must be a schedule of margin.optimize"),
        ({"learning_rate": lambda t: 0.1}, "MLPClassifier: learning_rate must be one of .* or a schedule of margin"),
        ({"learning_rate": 0.1}, "MLPClassifier: learning_rate must be"),
    ],
)
def test_wrong_parts_are_refused_in_a_sentence_and_nothing_is_learned(options, match):
    model = mlp(**options)
    with pytest.raises(ValueError, match=match):
        model.fit(X, y)
    assert not hasattr(model, "weights_")


def test_parts_inside_parts_are_checked():
    with pytest.raises(ValueError, match="Cosine: floor must be"):
        mlp(learning_rate=WarmUp(schedule=Cosine(floor=-1.0))).fit(X, y)
    with pytest.raises(ValueError, match="AdamW: beta_2 must be"):
        mlp(solver=Muon(rest=AdamW(beta_2=1.0))).fit(X, y)


def test_a_game_has_no_plateau():
    for schedule in ("adaptive", Plateau(), WarmUp(schedule=Plateau())):
        with pytest.raises(ValueError, match="GAN: learning_rate must not wait for a plateau"):
            margin.GAN(2, learning_rate=schedule).fit(X)


def test_a_plateau_lowers_the_rate_by_its_own_factor_and_patience():
    model = mlp(learning_rate=Plateau(factor=0.5, patience=1, smallest=0.2), tol=10.0, max_iter=20)
    rates = [record["learning_rate"] for record in model.iterate(X, y)]
    assert rates == [0.001, 0.001, 0.0005, 0.00025]


def test_a_warmed_up_plateau_still_waits():
    model = mlp(learning_rate=WarmUp(schedule=Plateau(factor=0.5, patience=1), steps=3), tol=10.0, max_iter=4)
    rates = [record["learning_rate"] for record in model.iterate(X, y)]
    assert rates == [0.001, 0.001, 0.0005, 0.00025]


class Sawtooth(RateSchedule):
    """A schedule of a user's own."""

    def _over(self, rate, steps):
        return lambda t: rate * (1 - t % 5 / 5)


class Signs(Descent):
    """A rule of a user's own."""

    def update(self, state, gradient, x, rate):
        return state, -rate * gradient.sign()


def test_parts_of_ones_own_move_a_network_but_no_file_holds_them(tmp_path):
    assert rate_schedule(Sawtooth(), 1.0, steps=9)(3) == 0.4
    model = mlp(solver=Signs(), learning_rate=Sawtooth(), max_iter=12).fit(X, y)
    assert model.loss_curve_[-1] < model.loss_curve_[0]
    with pytest.raises(ValueError, match="not in the registry of classes a model file may hold"):
        margin.save(model, tmp_path / "model.safetensors")
