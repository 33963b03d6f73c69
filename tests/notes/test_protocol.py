"""Claims take a seed or nothing; bounds for samples follow from their standard errors; citations are traced."""

import numpy as np
import pytest
from tests import oracles

from margin.core.verdict import below, corrected, equal, every
from margin.foundations.information import entropy
from margin.foundations.linalg import rotation
from margin.foundations.probability import Normal
from margin.notes import claims
from margin.notes.claims.chance import average, plausible, rate
from margin.notes.claims.citations import Calls, resolve


def test_a_claim_takes_a_seed_or_nothing(monkeypatch):
    monkeypatch.setattr(claims, "_registered", {})

    @claims.claim("drawn")
    def drawn(seed):
        return equal(seed, 3)

    @claims.claim("certain")
    def certain():
        return equal(1, 1)

    checks = claims._registered
    assert (checks["drawn"].is_random, checks["certain"].is_random) == (True, False)
    assert [checks[name](3).ok for name in ("drawn", "certain")] == [True, True]
    assert not checks["drawn"](4).ok
    with pytest.raises(TypeError, match="takes nothing or a seed"):
        claims.claim("wrong")(lambda rng: equal(1, 1))
    with pytest.raises(ValueError, match="registered by drawn"):
        claims.claim("drawn")(certain)


def test_bounds_follow_from_the_standard_error():
    assert rate(0.52, 0.5, 2500).ok  # two standard errors
    assert not rate(0.56, 0.5, 2500).ok  # six
    assert plausible(1e-3).ok
    assert not plausible(1e-9).ok
    sample = np.random.default_rng(0).normal(1.0, 2.0, 10_000)
    assert average(sample, 1.0).ok
    assert not average(sample, 1.2).ok


def test_every_slip_needs_its_own_counter_example():
    wrong, right = below(3, 2), below(1, 2)
    both = corrected(right, first=wrong, second=wrong)
    assert (both.ok, both.slips) == (True, ("first", "second"))
    assert not corrected(right, first=wrong, second=right).ok
    assert every(a=both, b=right).slips == ("first", "second")
    with pytest.raises(TypeError, match="needs the printed statement"):
        corrected(right)


def test_citations_are_traced():
    assert resolve("margin.foundations.information.entropy") is entropy, "a function before the module of its name"
    assert resolve("margin.linear.lasso_path.lasso_path").__module__ == "margin.linear.lasso_path"
    with Calls() as calls:
        rotation(0.3)
        Normal(0, 1).pdf(0.5)
    assert calls.reached(rotation)
    assert calls.reached(Normal)
    assert not calls.reached(entropy)


def test_an_oracle_serves_its_code_by_any_name_and_the_methods_of_its_class():
    of_class = oracles.oracle_of("margin.bayes.LinearDiscriminantAnalysis")
    assert oracles.oracle_of("margin.bayes.LinearDiscriminantAnalysis.transform") is of_class
    assert oracles.oracle_of("margin.bayes.linear_discriminant.LinearDiscriminantAnalysis") is of_class
    assert not oracles.has_oracle("margin.bayes.linear_discriminant.Directions")
    with pytest.raises(KeyError, match="has no oracle"):
        oracles.oracle_of("margin.bayes.linear_discriminant.Directions")
