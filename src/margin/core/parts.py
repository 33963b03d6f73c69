"""Objects that models take as a parameter: how to move, how fast, by what measure.

A part is declared like an estimator and speaks as much of scikit-learn's protocol as a parameter needs, without loading
it: ``clone`` copies it, ``set_params(solver__beta_1=0.8)`` reaches into it, the store writes it. Parts of equal class
and parameters are equal.
"""

from __future__ import annotations

from typing import Any, Self

from margin.core.parameters import Declared, check_parameters, parameters_of

__all__ = ["Part"]


class Part(Declared):
    """A declared object that is passed to others; it stores its parameters and learns nothing."""

    def check(self) -> None:
        """Raise one sentence for the first parameter outside its domain, in this part or in those among its own."""
        check_parameters(self)
        for value in self.get_params(deep=False).values():
            if isinstance(value, Part):
                value.check()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, and with ``deep`` those of the parts among them as ``name__parameter``."""
        params: dict[str, Any] = {}
        for name in parameters_of(type(self)):
            value = params[name] = getattr(self, name)
            if deep and isinstance(value, Part):
                params |= {f"{name}__{inner}": item for inner, item in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; ``name__parameter`` is that of a part."""
        known = parameters_of(type(self))
        for key in params:
            name = key.partition("__")[0]
            if name not in known:
                names = ", ".join(known) or "none"
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {names}.")
        for key, value in params.items():
            name, nested, inner = key.partition("__")
            if nested:
                getattr(self, name).set_params(**{inner: value})
            else:
                setattr(self, name, value)
        return self

    def replace(self, **params: Any) -> Self:
        """The same with other parameters."""
        return type(self)(**{**self.get_params(deep=False), **params})

    def __repr__(self) -> str:
        declared = parameters_of(type(self))
        chosen = {name: value for name, value in self.get_params(deep=False).items() if value != declared[name].default}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in chosen.items())})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.get_params(deep=False) == other.get_params(deep=False)

    def __hash__(self) -> int:
        return hash(type(self))  # parameters may be set later, the class may not

    def __getstate__(self) -> dict[str, Any]:
        return dict(vars(self))  # never None, which object's own gives where there is no parameter
