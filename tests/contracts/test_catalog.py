"""The catalog lists every public estimator once, and its declarations equal the code."""

import importlib
import inspect
import pkgutil
import sys

import pytest
from problems import EXPECTED_FAILURES, TEST_PARAMETERS, build, ids, problem

import margin
from margin import catalog
from margin.core.estimator import Estimator
from margin.core.parameters import InvalidParameter, attributes_of, parameters_of

PACKAGES_WITHOUT_MODELS = {"cli", "claims", "experiments"}


def every_estimator():
    """Estimator classes that a package offers by its ``__all__``, found by walking the whole library."""
    for module in pkgutil.walk_packages(margin.__path__, "margin."):
        if module.name.split(".")[1] not in PACKAGES_WITHOUT_MODELS:
            importlib.import_module(module.name)
    packages = [m for path, m in sys.modules.items() if path.startswith("margin.") and hasattr(m, "__path__")]
    offered = [getattr(package, name) for package in packages for name in getattr(package, "__all__", ())]
    return {found for found in offered if inspect.isclass(found) and issubclass(found, Estimator)}


def test_every_estimator_is_listed_once():
    listed = [catalog.class_of(entry.name) for entry in catalog.ENTRIES]
    assert len(set(listed)) == len(listed)
    assert {cls.__name__ for cls in every_estimator()} == {cls.__name__ for cls in listed}


def test_what_an_entry_takes_is_something_a_table_can_become():
    from margin.service.preparation import STEPS

    assert {entry.takes for entry in catalog.ENTRIES} <= set(STEPS)
    assert {entry.task for entry in catalog.ENTRIES if entry.standard_target} == {"regression"}
    assert {entry.data for entry in catalog.ENTRIES} <= {"table", "images", "text", "tokens", "graph", "points"}


def test_names_are_unique_and_kebab_case():
    names = [entry.name for entry in catalog.ENTRIES]
    assert len(set(names)) == len(names)
    assert all(name == name.lower() and " " not in name and "_" not in name for name in names)


def test_parameters_and_exceptions_of_the_tests_belong_to_models():
    names = {entry.name for entry in catalog.ENTRIES}
    assert set(TEST_PARAMETERS) <= names
    assert set(EXPECTED_FAILURES) <= names


def test_a_class_is_named_by_itself_and_not_by_its_name():
    class KMeans(margin.KMeans):
        pass

    assert catalog.name_of(margin.KMeans()) == "kmeans"
    assert catalog.name_of(KMeans()) is None


@pytest.mark.parametrize("entry", catalog.ENTRIES, ids=ids)
def test_declared_parameters_equal_the_signature(entry):
    cls = catalog.class_of(entry.name)
    assert list(parameters_of(cls)) == list(inspect.signature(cls.__init__).parameters)[1:]
    assert set(TEST_PARAMETERS.get(entry.name, {})) <= set(parameters_of(cls))
    for declared in parameters_of(cls).values():
        assert declared.domain.accepts(declared.default), f"the default of {declared.name} is outside its domain"


INVALID = [
    pytest.param(entry, name, value, id=f"{entry.name}-{name}-{position}")
    for entry in catalog.ENTRIES
    for name, declared in parameters_of(catalog.class_of(entry.name)).items()
    for position, value in enumerate(declared.domain.wrong())
]


@pytest.mark.parametrize(("entry", "name", "value"), INVALID)
def test_an_invalid_parameter_is_one_sentence_at_fit(entry, name, value):
    X, y = problem(entry)
    model = build(entry).set_params(**{name: value})
    with pytest.raises(InvalidParameter, match=rf"^{type(model).__name__}: {name} must be .*; got .*\.$"):
        model.fit(X) if y is None else model.fit(X, y)
    assert not [attribute for attribute in vars(model) if attribute.endswith("_")], "a refused fit changes nothing"


def learned(model):
    """The public names that a fit has set."""
    return {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}


@pytest.mark.parametrize("entry", catalog.ENTRIES, ids=ids)
def test_every_parameter_and_learned_attribute_has_a_sentence(entry):
    cls = catalog.class_of(entry.name)
    X, y = problem(entry)
    model = build(entry)
    model.fit(X) if y is None else model.fit(X, y)
    attributes = attributes_of(cls)
    assert learned(model) <= set(attributes), "a learned attribute that nothing declares"
    for declared in [*parameters_of(cls).values(), *attributes.values()]:
        assert declared.sentence.endswith("."), f"{declared.name} needs a sentence"
        assert declared.annotation, f"{declared.name} needs a type"
        assert declared.sentence in " ".join((cls.__doc__ or "").split()), f"help() does not show {declared.name}"
    assert ">>> " in (cls.__doc__ or ""), "an example"


@pytest.mark.parametrize("entry", catalog.ENTRIES, ids=ids)
def test_a_finished_fit_keeps_no_loop(entry):
    X, y = problem(entry)
    model = build(entry)
    model.fit(X) if y is None else model.fit(X, y)
    assert "_loop" not in vars(model), "the running fit holds training data and optimizer slots"
