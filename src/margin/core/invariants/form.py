"""All that a fitted model of one class holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from margin.core.invariants.arrays import ArrayOf
from margin.core.invariants.sizes import Sizes, Stored
from margin.core.invariants.values import Count

__all__ = ["Form"]

Rule = Callable[[Any, Sizes], None]
COMMON: Mapping[str, Stored] = {
    "n_features_in_": Count(low=1, size="n_features"),
    "feature_names_in_": ArrayOf("n_features", kind="names"),
}


@dataclass(frozen=True)
class Form:
    """What a fitted model of one class holds. ``rules`` see the whole model (its attributes by name).

    Sizes are at least 1 unless ``may_be_empty`` names them.
    """

    attributes: Mapping[str, Stored]
    rules: Sequence[Rule] = ()
    may_be_empty: Sequence[str] = ()

    def check(self, attributes: Mapping[str, Any]) -> None:
        sizes = Sizes(may_be_empty=self.may_be_empty)
        for name, stored in {**COMMON, **self.attributes}.items():
            if name in attributes:
                stored.check(attributes[name], name, sizes)
        for check in sizes.later:
            check(sizes)
        # A model that is not fitted, such as the member that an ensemble copies, has nothing for rules to look at.
        fitted = not self.attributes or any(name in attributes for name in self.attributes)
        for rule in self.rules if fitted else ():
            rule(attributes, sizes)

    def undeclared(self, attributes: Mapping[str, Any]) -> list[str]:
        """Names of attributes that have no declaration."""
        return [name for name in attributes if name not in self.attributes and name not in COMMON]
