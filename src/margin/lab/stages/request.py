"""What a person asked to see: a model, its settings, its data; and the Python code that does the same."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from margin import catalog
from margin.core.parameters import parameters_of, parse_settings
from margin.lab.stages.exhibits import EXHIBITS
from margin.lab.stages.materials import material
from margin.lab.stages.scene import Made, StageScene
from margin.lab.stages.scenes import scene_of
from margin.lab.stepping import SteppedFit, is_scored
from margin.service.requests import BadRequest
from margin.service.training import build_model

__all__ = ["PlayRequest"]

MOST_POINTS = 600
FARTHEST = 1e6


@dataclass(frozen=True)
class PlayRequest:
    """``settings`` are written name=value; ``points`` are (x, y) or (x, y, class) drawn by hand, in place of a set."""

    model: str
    data: str = ""
    seed: int = 0
    settings: tuple[str, ...] = ()
    points: tuple[tuple[float, ...], ...] = ()
    scene: StageScene = field(init=False, compare=False)

    def __post_init__(self) -> None:
        scene = scene_of(self.model)
        object.__setattr__(self, "scene", scene)
        object.__setattr__(self, "data", self.data or scene.sets[0])
        if self.data not in scene.sets:
            raise BadRequest(f"{self.model} is shown with {', '.join(scene.sets)}; got {self.data!r}.")
        if self.points:
            self._check_points()

    def _check_points(self) -> None:
        if not self.scene.drawable(self.data):
            raise BadRequest(f"{self.model}: its data cannot be drawn as points.")
        if not 3 <= len(self.points) <= MOST_POINTS:
            raise BadRequest(f"{self.model}: points must be from 3 to {MOST_POINTS}; got {len(self.points)}.")
        if any(not math.isfinite(v) or abs(v) > FARTHEST for point in self.points for v in point):
            raise BadRequest(f"{self.model}: points must have coordinates within {FARTHEST:,.0f} of the origin.")

    @property
    def view(self) -> str:
        """The name of the function that says what is seen."""
        return self.scene.view_of(self.data)

    def load(self) -> tuple[Any, Any]:
        """X and y."""
        if not self.points:
            return material(self.data)(self.seed)
        xy = np.array([point[:2] for point in self.points])
        if self.scene.kind == "curve":
            return xy[:, :1], xy[:, 1]
        classes = np.array([int(point[2]) if len(point) > 2 else 0 for point in self.points])
        return xy, classes if self.has_classes else None

    @property
    def has_classes(self) -> bool:
        return self.model not in EXHIBITS and catalog.entry(self.model).task == "classification"

    @property
    def class_(self) -> type:
        return EXHIBITS.get(self.model) or catalog.class_of(self.model)

    def build(self) -> Any:
        """The unfitted model: settings of the person, then those of the scene, then defaults."""
        if self.model in EXHIBITS:
            return self.class_(**parse_settings(self.class_, self.settings))
        model = build_model(self.model, self.settings, self.seed)
        chosen = {text.partition("=")[0] for text in self.settings}
        rest = {name: value for name, value in self.scene.params.items() if name not in chosen}
        return model.set_params(**{k: v.make() if isinstance(v, Made) else v for k, v in rest.items()})

    def check(self) -> None:
        """Refuse settings that the model does not take, in one sentence, before anything is started."""
        try:
            self.build()._check_parameters()
        except ValueError as problem:
            raise BadRequest(str(problem)) from None

    def start(self) -> SteppedFit:
        X, y = self.load()
        return SteppedFit(self.build, X, y, self.scene.options)

    def code(self, position: int | None = None) -> str:
        """Python that ends with the record at ``position`` (the last one if None), with the same bits."""
        source = _Sources()
        data = self._data_code(source)
        call = source.of(self.build(), {k: v for k, v in self.scene.params.items() if not self._is_set(k)})
        options = "".join(f", {name}={value!r}" for name, value in self.scene.options.items())
        parts = [*sorted(source.imports), "", *source.functions, data, f"model = {call}"]
        if not hasattr(self.class_, "iterate"):
            parts += [f"model.fit(X{', y' if self.load()[1] is not None else ''}{options})"]
            parts += self._score_code()
        elif position is None:
            parts += [f"for record in model.iterate(X, y{options}):", "    pass", "print(record.as_dict())"]
        else:
            parts += [f"for count, record in enumerate(model.iterate(X, y{options}), start=1):"]
            parts += [f"    if count == {position}:", "        break", "print(record.as_dict())"]
        return "\n".join(parts) + "\n"

    def _is_set(self, name: str) -> bool:
        return any(text.partition("=")[0] == name for text in self.settings)

    def _data_code(self, source: _Sources) -> str:
        if not self.points:
            source.add(material(self.data))
            return f"X, y = {self.data}(seed={self.seed})"
        source.imports.add("import numpy as np")
        X, y = self.load()
        target = "None" if y is None else f"np.array({y.tolist()!r})"
        return f"X = np.array({X.tolist()!r})\ny = {target}"

    def _score_code(self) -> list[str]:
        if not is_scored(self.class_, self.load()[1]):
            return ['record = {"iteration": 1}', "print(record)"]
        return ['record = {"iteration": 1, "score": float(model.score(X, y))}', "print(record)"]


class _Sources:
    """Imports and functions that a piece of code needs."""

    def __init__(self) -> None:
        self.imports: set[str] = set()
        self.functions: list[str] = []

    def add(self, function: Callable[..., Any]) -> str:
        text = inspect.getsource(function) + "\n"
        if text not in self.functions:
            self.functions.append(text)
        return function.__name__

    def of(self, model: Any, raw: Mapping[str, Any] | None = None) -> str:
        """The call that makes ``model``; ``raw`` are values as a scene has them."""
        self.imports.add(f"from {_home(model)} import {type(model).__name__}")
        declared = parameters_of(type(model))
        changed = {
            name: (raw or {}).get(name, value)
            for name, value in model.get_params(deep=False).items()
            if name in (raw or {}) or not _same(value, declared[name].default)
        }
        return f"{type(model).__name__}({', '.join(f'{k}={self.value(v)}' for k, v in changed.items())})"

    def value(self, value: Any) -> str:
        if isinstance(value, Made):
            return f"{self.add(value.make)}()"
        if inspect.isfunction(value):
            return self.add(value)
        if hasattr(value, "get_params"):
            return self.of(value)
        if isinstance(value, Sequence) and not isinstance(value, str):
            items = ", ".join(self.value(item) for item in value)
            return f"[{items}]" if isinstance(value, list) else f"({items}{',' if len(value) == 1 else ''})"
        return repr(value)


def _home(model: Any) -> str:
    name = catalog.name_of(model)
    return catalog.registry()[name].rpartition(".")[0] if name else type(model).__module__


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and repr(value) == repr(default)
