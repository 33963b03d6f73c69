"""What a search proposes lies in the declared ranges, for every parameter of the catalog that is searched."""

import math
import warnings

import optuna
import pytest

from margin.core.domains import Choice, Either, Integer, Number, Optional


class First:
    """A trial that proposes the lower end, and notes what it was asked."""

    def __init__(self):
        self.asked = {}

    def suggest_float(self, name, low, high, *, log=False):
        self.asked[name] = ("float", low, high, log)
        return low

    def suggest_int(self, name, low, high, *, log=False):
        self.asked[name] = ("int", low, high, log)
        return low

    def suggest_categorical(self, name, choices):
        self.asked[name] = ("categorical", *choices)
        return choices[0]


@pytest.mark.parametrize(
    ("domain", "value", "asked"),
    [
        (Number(search=(0.1, 10), log=True), 0.1, {"p": ("float", 0.1, 10.0, True)}),
        (Integer(search=(2, 9)), 2, {"p": ("int", 2, 9, False)}),
        (Choice("a", None, (1, 2)), "a", {"p": ("categorical", 0, 1, 2)}),
        (Optional(Integer(search=(2, 9))), 2, {"p": ("int", 2, 9, False)}),
        (
            Either(Choice("auto", "scale"), Number(search=(0.0, 1.0))),
            "auto",
            {"p kind": ("categorical", 0, 1), "p 0": ("categorical", 0, 1)},
        ),
        (Number(low=0), None, {}),
        (Choice("only"), "only", {"p": ("categorical", 0)}),
    ],
)
def test_domains_ask_a_trial_for_their_range(domain, value, asked):
    trial = First()
    assert domain.suggest(trial, "p") == value
    assert trial.asked == asked


def test_proposals_of_optuna_are_accepted():
    domains = {
        "a": Number(above=0, search=(1e-4, 1e4), log=True),
        "b": Integer(low=1, search=(1, 64), log=True),
        "c": Either(Choice("auto", "scale"), Number(above=0, search=(0.1, 2))),
        "d": Choice("relu", "tanh", None),
    }
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    seen = {name: set() for name in domains}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(40):
            trial = study.ask()
            for name, domain in domains.items():
                value = domain.suggest(trial, name)
                assert domain.accepts(value), (name, value)
                seen[name].add(value)
            study.tell(trial, 0.0)
    assert seen["d"] == {"relu", "tanh", None}
    assert {"auto", "scale"} < seen["c"]
    assert min(map(math.log10, seen["a"])) < -2
    assert max(map(math.log10, seen["a"])) > 2
