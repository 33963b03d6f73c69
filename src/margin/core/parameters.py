"""Hyperparameters and learned attributes, declared once.

A class writes one line per parameter, with its default, the values it may take and one sentence::

    class Ridge(RegressorMixin, Estimator):
        alpha: float = parameter(1.0, Number(low=0), "Strength of the L2 penalty.")
        _: KW_ONLY
        fit_intercept: bool = parameter(True, Flag(), "Whether a constant is fitted.")

        coef_: np.ndarray = attribute(ArrayOf("n_features"), "Weights of the columns.")

From these lines come ``__init__``, validation and its error sentences, the ``Parameters`` and ``Attributes`` sections
of the docstring, command-line settings, JSON schemas and search spaces, and what is checked of a model file. As in a
dataclass, parameters above ``_: KW_ONLY`` may be given by position. Parameters that several classes share stand in a
class of their own that derives from :class:`Declared` and is used as a base; where only the default differs,
``alpha: float = default(0.0)`` takes the rest from there.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, dataclass_transform

from margin.core.arguments import shown
from margin.core.docstrings import with_sections
from margin.core.domains import Build, Domain, Seed
from margin.core.invariants import Stored

__all__ = [
    "COPY",
    "N_JOBS",
    "VERBOSE",
    "Attribute",
    "Declared",
    "InvalidParameter",
    "Parameter",
    "attribute",
    "attributes_of",
    "check_parameters",
    "default",
    "forms_of",
    "parameter",
    "parameter_table",
    "parameters_of",
    "parse_settings",
    "search_space",
]

COPY = "Permission to overwrite X, which is never used: X stays as it is."  # what `copy_X` means everywhere
N_JOBS = "Most threads to use; None uses as many as the work is worth, -1 all cores."
LARGEST_INTEGER = 2**63  # from here on neither NumPy, C nor torch can take one
VERBOSE = "Whether every record of the fit is printed."  # what `verbose` means on every iterative estimator


class InvalidParameter(ValueError, TypeError):
    """A parameter is outside its domain; both bases are what scikit-learn's own checks accept."""


@dataclass(frozen=True)
class Parameter:
    """One declared hyperparameter; ``annotation`` is its type as written in the source."""

    default: Any
    domain: Domain
    sentence: str
    name: str = ""
    annotation: str = ""
    kw_only: bool = False


@dataclass(frozen=True)
class Attribute:
    """One declared learned attribute; ``form`` is what a model file may hold of it, None if it holds nothing."""

    sentence: str
    name: str = ""
    annotation: str = ""
    form: Stored | None = None


@dataclass(frozen=True)
class _NewDefault:
    """Another default, and perhaps another sentence, for a parameter of a base."""

    value: Any
    sentence: str | None


def parameter(default: Any, domain: Domain, sentence: str) -> Any:
    """Declare a hyperparameter in the body of a class. (Any, because it stands where a type checker sees a default.)"""
    return Parameter(default, domain, sentence)


def default(value: Any, sentence: str | None = None) -> Any:
    """Declare again what a base declares, with another default; ``sentence`` where its description does not fit here.

    >>> from margin.core.domains import Number
    >>> class Penalty(Declared):
    ...     alpha: float = parameter(1.0, Number(low=0), "Strength of the penalty.")
    >>> class Gentle(Penalty):
    ...     alpha: float = default(0.1)
    >>> Gentle().alpha, parameters_of(Gentle)["alpha"].sentence
    (0.1, 'Strength of the penalty.')
    """
    return _NewDefault(value, sentence)


def attribute(form: Stored | None, sentence: str = "", *, init: Literal[False] = False) -> Any:  # noqa: ARG001
    """Declare what a fit learns: its form (:mod:`margin.core.invariants`), which every file is checked against, and
    one sentence, which may be left out where a base has one. ``form`` is None for what no file holds.

    ``init`` tells type checkers that it is no argument of ``__init__``.

    >>> from margin.core.invariants import ArrayOf
    >>> class Line(Declared):
    ...     coef_: Any = attribute(ArrayOf("n_features"), "Weights of the columns.")
    >>> class Plane(Line):
    ...     coef_: Any = attribute(ArrayOf("n_features", 2))
    >>> attributes_of(Plane)["coef_"].sentence, forms_of(Plane)["coef_"].dims
    ('Weights of the columns.', ('n_features', 2))
    """
    return Attribute(sentence, form=form)


@dataclass_transform(eq_default=False, field_specifiers=(attribute,))
class Declared:
    """A class whose ``__init__`` and documentation are made from its declared parameters and attributes."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        own = _take_declarations(cls)
        cls._own_declarations = own  # type: ignore[attr-defined]
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            raise TypeError(f"{cls.__name__}: __init__ is made from the declared parameters; declare them instead.")
        cls._all_parameters = _parameters(cls)  # type: ignore[attr-defined]
        cls.__init__ = _make_init(cls)  # type: ignore[method-assign]
        if vars(cls).get("__doc__"):
            cls.__doc__ = with_sections(cls.__doc__ or "", parameters_of(cls).values(), attributes_of(cls).values())


def parameters_of(cls: type) -> dict[str, Parameter]:
    """The parameters of ``cls`` by name: those for positions first, then its own, then those of its bases.

    >>> from margin.core.domains import Number
    >>> class Penalty(Declared):
    ...     alpha: float = parameter(1.0, Number(low=0), "Strength of the penalty.")
    >>> Penalty(2.0).alpha, parameters_of(Penalty)["alpha"].sentence
    (2.0, 'Strength of the penalty.')
    """
    known = vars(cls).get("_all_parameters")
    return _parameters(cls) if known is None else dict(known)


def attributes_of(cls: type) -> dict[str, Attribute]:
    """The public learned attributes of ``cls`` by name, its own first."""
    return {name: found for name, found in _declarations(cls, Attribute).items() if not name.startswith("_")}


def forms_of(cls: type) -> dict[str, Stored]:
    """What a model file may hold of a fitted ``cls``, by name of the attribute; private ones too."""
    return {name: found.form for name, found in _declarations(cls, Attribute).items() if found.form is not None}


def check_parameters(estimator: Any) -> None:
    """Raise one sentence for the first parameter outside its domain."""
    for name, declared in parameters_of(type(estimator)).items():
        value = getattr(estimator, name)
        owner = type(estimator).__name__
        if isinstance(value, int) and abs(value) >= LARGEST_INTEGER and not isinstance(declared.domain, Seed):
            raise InvalidParameter(f"{owner}: {name} must be below 2^63 in size; got {shown(value)}.")
        if not declared.domain.accepts(value):
            raise InvalidParameter(f"{owner}: {name} must be {declared.domain.description}; got {shown(value)}.")


def parse_settings(cls: type, settings: Iterable[str], build: Build | None = None) -> dict[str, Any]:
    """The parameters that ``name=value`` texts set on ``cls``."""
    declared, parsed = parameters_of(cls), {}
    for setting in settings:
        name, sign, text = setting.partition("=")
        if not sign:
            raise ValueError(f"A setting is written name=value; got {setting!r}.")
        if name not in declared:
            known = ", ".join(sorted(declared)) or "none"
            raise ValueError(f"{cls.__name__} has no parameter {name!r}; it has {known}.")
        try:
            parsed[name] = declared[name].domain.parse(text, build)
        except ValueError as error:
            raise ValueError(f"{cls.__name__}: {name}: {error}") from None
    return parsed


def parameter_table(cls: type) -> list[dict[str, Any]]:
    """One row per parameter in the order of the signature: name, default, allowed values, sentence, JSON schema."""
    return [
        {
            "name": declared.name,
            "default": declared.default,
            "allowed": declared.domain.description,
            "sentence": declared.sentence,
            "schema": declared.domain.schema(),
        }
        for declared in parameters_of(cls).values()
    ]


def search_space(cls: type) -> dict[str, Any]:
    """The parameters worth searching: each draws a value with ``rvs``, as ``RandomizedSearchCV`` takes them, and asks a
    trial of Optuna for one with ``suggest``.

    >>> import margin
    >>> sorted(search_space(margin.Ridge))
    ['alpha']
    """
    return {name: _Draw(p.domain) for name, p in parameters_of(cls).items() if p.domain.searchable}


@dataclass(frozen=True)
class _Draw:
    """A domain with the method by which SciPy's distributions are sampled, and the one by which Optuna proposes."""

    domain: Domain

    def rvs(self, random_state: Any = None) -> Any:
        from margin.core.randomness import as_generator

        return self.domain.draw(as_generator(random_state))

    def suggest(self, trial: Any, name: str) -> Any:
        return self.domain.suggest(trial, name)


def _take_declarations(cls: type) -> dict[str, Parameter | Attribute]:
    """The declarations in the body of ``cls``, taken out of it: an attribute exists once it is set."""
    taken: dict[str, Parameter | Attribute] = {}
    kw_only = False
    for name, annotation in inspect.get_annotations(cls).items():
        text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
        kw_only |= text.endswith("KW_ONLY")
        value = vars(cls).get(name)
        if isinstance(value, _NewDefault):
            value = _inherit(cls, name, value)
        if isinstance(value, Parameter):
            taken[name] = replace(value, name=name, annotation=text, kw_only=kw_only)
            delattr(cls, name)
        elif isinstance(value, Attribute):
            delattr(cls, name)
            sentence = value.sentence or _sentence_of_base(cls, name)
            taken[name] = replace(value, name=name, annotation=text, sentence=sentence)
    return taken | _learned_properties(cls)


def _inherit(cls: type, name: str, new: _NewDefault) -> Parameter:
    """The declaration of the nearest base with the new default."""
    inherited = _declarations(cls, Parameter).get(name)
    if inherited is None:
        raise TypeError(f"{cls.__name__}: {name} has a new default, but no base declares {name}.")
    return replace(inherited, default=new.value, sentence=inherited.sentence if new.sentence is None else new.sentence)


def _sentence_of_base(cls: type, name: str) -> str:
    inherited = _declarations(cls, Attribute).get(name)
    if inherited is None:
        raise TypeError(f"{cls.__name__}: {name} has no sentence, and no base declares {name}.")
    return inherited.sentence


def _learned_properties(cls: type) -> dict[str, Attribute]:
    """What a fitted model computes when it is asked: properties whose name ends in ``_``, with their docstrings."""
    attributes = {}
    for name, value in vars(cls).items():
        if isinstance(value, property) and name.endswith("_") and not name.startswith("_"):
            annotation = str(inspect.get_annotations(value.fget).get("return", "")) if value.fget else ""
            attributes[name] = Attribute((inspect.getdoc(value) or "").partition("\n\n")[0], name, annotation)
    return attributes


def _declarations(cls: type, kind: type) -> dict[str, Any]:
    """Declarations of one kind, the class's own first, then those of its bases; the nearest one of a name counts."""
    declarations: dict[str, Any] = {}
    for base in cls.__mro__:
        for name, declared in vars(base).get("_own_declarations", {}).items():
            if isinstance(declared, kind):
                declarations.setdefault(name, declared)
    return declarations


def _parameters(cls: type) -> dict[str, Parameter]:
    declarations = _declarations(cls, Parameter)
    # Positions go from the first base to the class, as in a dataclass, so that type checkers see the same signature.
    positional = {name: declarations[name] for name in _from_the_first_base(cls) if not declarations[name].kw_only}
    return positional | {name: p for name, p in declarations.items() if p.kw_only}


def _from_the_first_base(cls: type) -> list[str]:
    own = [vars(base).get("_own_declarations", {}) for base in reversed(cls.__mro__)]
    return [name for declared in own for name, value in declared.items() if isinstance(value, Parameter)]


def _make_init(cls: type) -> Any:
    """``__init__`` with one argument per parameter, which it stores unchanged, as scikit-learn's protocol asks."""
    declared = parameters_of(cls)
    positional = [name for name, p in declared.items() if not p.kw_only]
    keyword = [name for name, p in declared.items() if p.kw_only]
    arguments = ["self", *(f"{name}=defaults[{name!r}]" for name in positional)]
    arguments += ["*", *(f"{name}=defaults[{name!r}]" for name in keyword)] if keyword else []
    body = "".join(f"    self.{name} = {name}\n" for name in declared) or "    pass\n"
    # Written out and compiled, as dataclasses do: signature, error messages and speed are those of a plain function.
    namespace: dict[str, Any] = {"defaults": {name: p.default for name, p in declared.items()}}
    exec(f"def __init__({', '.join(arguments)}):\n{body}", namespace)
    init = namespace["__init__"]
    init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    init.__annotations__ = {name: p.annotation for name, p in declared.items()}
    return init
