"""All that a fitted model of one class holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from margin.core.invariants.arrays import ArrayOf
from margin.core.invariants.containers import DictOf, Sometimes, sometimes
from margin.core.invariants.sizes import Sizes, Stored, Violation
from margin.core.invariants.values import Count, StringOf

__all__ = ["COMMON", "NO_COLUMNS", "Form", "Rule"]

Rule = Callable[[Any, Sizes], None]
OUTPUT = "_sklearn_output_config"  # what scikit-learn's set_output leaves in a model, fitted or not
COMMON: Mapping[str, Stored] = {
    "n_features_in_": Count(low=1, size="n_features"),
    "feature_names_in_": sometimes(ArrayOf("n_features", kind="names")),
    OUTPUT: sometimes(DictOf(StringOf(), StringOf())),
}

# Of models of texts, and of those that ask a model inside for the number of columns.
NO_COLUMNS: Mapping[str, Stored] = {"n_features_in_": sometimes(COMMON["n_features_in_"])}


@dataclass(frozen=True)
class Form:
    """What a fitted model of one class holds. ``rules`` see the whole model (its attributes by name).

    Sizes are at least 1 unless ``may_be_empty`` names them. Every attribute is there but those that a model has only
    :func:`sometimes`, ``n_features_in_`` too unless a form has ``NO_COLUMNS``.
    """

    attributes: Mapping[str, Stored]
    rules: Sequence[Rule] = ()
    may_be_empty: Sequence[str] = ()

    def check(self, attributes: Mapping[str, Any]) -> None:
        sizes = Sizes(may_be_empty=self.may_be_empty)
        declared = {**COMMON, **self.attributes}
        for name, stored in declared.items():
            if name in attributes:
                stored.check(attributes[name], name, sizes)
        # A model that is not fitted, such as the member that an ensemble copies, has nothing to look at.
        fitted = not self.attributes or any(name in attributes for name in declared if name != OUTPUT)
        if self.attributes and fitted:
            _refuse_missing(declared, attributes)
        for check in sizes.later:
            check(sizes)
        for rule in self.rules if fitted else ():
            rule(attributes, sizes)

    def list_undeclared(self, attributes: Mapping[str, Any]) -> list[str]:
        """Names of attributes that have no declaration."""
        return [name for name in attributes if name not in self.attributes and name not in COMMON]


def _refuse_missing(declared: Mapping[str, Stored], attributes: Mapping[str, Any]) -> None:
    for name, stored in declared.items():
        if name not in attributes and not isinstance(stored, Sometimes):
            raise Violation(f"{name} is missing")
