"""The reference: a page per model of the catalog, one per part of a model, and the functions of each package.

Parameters and learned attributes come from their declarations, methods from the classes, without what scikit-learn's
routing adds to each of them.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from docs.generators.evidence import Shown
from docs.generators.gallery import models_in, thumbnails
from docs.generators.rst import bullets, definition, escape, heading, indent, safe_docstring, sections, toctree, write
from docs.generators.words import row_title

from margin import catalog
from margin.core.parameters import attributes_of, parameter_table
from margin.core.summaries import stream_sentence
from margin.notes import atlas, experiments
from margin.service.evidence import Checked
from margin.service.model_facts import rows_of

__all__ = ["write_reference"]

FAMILIES = {
    "linear": "Linear models",
    "kernels": "Kernel methods",
    "neighbors": "Neighbors and densities",
    "bayes": "Naive Bayes and discriminants",
    "trees": "Trees and ensembles",
    "cluster": "Clustering",
    "mixture": "Mixtures",
    "graphical": "Graphical models",
    "reduction": "Dimension reduction",
    "neural": "Neural networks",
    "vision": "Images",
    "forecasting": "Forecasting",
    "meta": "Few labels, few examples",
    "generative": "Generative models",
    "text": "Text",
    "representation": "Representations",
    "graphs": "Graphs",
    "physics": "Physics",
}
PARTS = {
    "kernels": "Kernels",
    "losses": "Losses",
    "activations": "Activations",
    "initialize": "Initializers",
    "normalization": "Normalizations",
    "regularizers": "Regularizers",
    "rules": "Update rules",
    "rate_schedules": "Learning-rate schedules",
}
# What every estimator has from scikit-learn's base class, said once on the index.
INHERITED = {"get_params", "set_params", "set_output", "get_metadata_routing", "get_feature_names_out"}


def write_reference(folder: Path, verdicts: Mapping[str, Checked], shown: Mapping[str, Shown]) -> int:
    """Write all pages; the number of models that have one."""
    for entry in catalog.ENTRIES:
        write(folder / f"{entry.class_name}.rst", model_page(entry, verdicts, shown))
    parts = _parts()
    for path in (path for paths in parts.values() for path in paths):
        write(folder / f"{path.rpartition('.')[2]}.rst", part_page(path))
    for package, modules in _packages().items():
        write(folder / f"functions-{package}.rst", functions_page(package, modules))
    write(folder / "functions-margin.rst", _top_page())
    write(folder / "index.rst", index_page(parts))
    return len(catalog.ENTRIES)


def model_page(entry: catalog.Entry, verdicts: Mapping[str, Checked], shown: Mapping[str, Shown]) -> str:
    cls = catalog.class_of(entry.name)
    parts = sections(inspect.getdoc(cls) or "")
    facts = f"**{FAMILIES[entry.family]}** · {entry.task} on {entry.data} · ``margin fit {entry.name}``"
    text = heading(entry.class_name) + facts + "\n\n"
    text += f".. py:class:: margin.{entry.class_name}{_signature(cls)}\n\n"
    text += indent(safe_docstring(_lead(cls, parts[""]))) + "\n\n"
    text += indent(_sentence(stream_sentence(cls))) + "\n\n"
    text += _declared(cls) + _methods(cls) + _rest(parts)
    return text + _rows(rows_of(entry), verdicts) + _pictures(entry.class_name, shown)


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]


def part_page(path: str) -> str:
    """A kernel, loss, activation, rule, ...: what a model takes as a parameter."""
    module, _, name = path.rpartition(".")
    cls = getattr(importlib.import_module(module), name)
    parts = sections(inspect.getdoc(cls) or "")
    text = heading(name) + f".. py:class:: {path}{_signature(cls)}\n\n" + indent(safe_docstring(parts[""])) + "\n\n"
    return text + _declared(cls) + _rest(parts)


def functions_page(package: str, modules: Sequence[str]) -> str:
    title = f"Functions of margin.{package}"
    text = heading(title)
    for module in modules:
        if len(modules) > 1:
            text += heading(module, "-")
        package_module = importlib.import_module(module)
        for name in catalog.PUBLIC_FUNCTIONS[module]:
            text += _function(f"{module}.{name}", getattr(package_module, name))
    return text


def index_page(parts: Mapping[str, list[str]]) -> str:
    text = heading("Reference")
    text += (
        "Every model is a scikit-learn estimator: ``fit``, ``predict`` or ``transform``, ``get_params``, "
        "``set_params``, ``clone``, metadata routing and ``set_output`` work as there and are not repeated here. "
        "Iterative models also have ``iterate`` and ``get_state``; see :doc:`/guide/fits`.\n\n"
    )
    pages: list[str] = ["functions-margin"]
    for family, title in FAMILIES.items():
        entries = [entry for entry in catalog.ENTRIES if entry.family == family]
        text += heading(title, "-") + _table(
            (entry.class_name, _summary(catalog.class_of(entry.name))) for entry in entries
        )
        pages += [entry.class_name for entry in entries]
    for kind, paths in parts.items():
        rows = [(path.rpartition(".")[2], _summary(_resolve(path))) for path in paths]
        text += heading(PARTS[kind], "-") + _table(rows)
        pages += [name for name, _ in rows]
    packages = [f"functions-{package}" for package in _packages()]
    text += heading("Functions", "-") + bullets(f":doc:`{page}`" for page in ("functions-margin", *packages))
    text += heading("Command line and files", "-") + bullets([":doc:`/cli`", ":doc:`/recipes/model_files`"])
    return text + toctree(dict.fromkeys([*pages, *packages]))


def _table(rows: Iterable[tuple[str, str]]) -> str:
    lines = "".join(f"   * - :doc:`{name}`\n     - {text}\n" for name, text in rows)
    return f".. list-table::\n   :widths: 30 70\n   :class: plain\n\n{lines}\n"


def _top_page() -> str:
    text = heading("Functions of margin") + "What ``import margin`` offers beside the models.\n\n"
    for name, module in catalog.FUNCTIONS.items():
        text += _function(f"margin.{name}", getattr(importlib.import_module(module), name))
    return text


def _lead(cls: type, summary: str) -> str:
    """The class's own words, after those of its module where they have the equation and the class has none."""
    module = inspect.getmodule(cls)
    words = inspect.cleandoc(module.__doc__ or "") if module else ""
    alone = len([name for name in getattr(module, "__all__", []) if inspect.isclass(getattr(module, name, None))]) == 1
    return f"{words}\n\n{summary}" if alone and ".. math::" in words and ".. math::" not in summary else summary


def _declared(cls: type) -> str:
    text = ""
    rows = parameter_table(cls)
    if rows:
        text += heading("Parameters", "-")
        for row in rows:
            term = f"**{row['name']}** : {escape(str(row['allowed']))}, default ``{row['default']!r}``"
            text += definition(term, safe_docstring(row["sentence"]))
    learned = attributes_of(cls)
    if learned:
        text += heading("Learned attributes", "-")
        for found in learned.values():
            term = f"**{escape(found.name)}**" + (f" : {escape(found.annotation)}" if found.annotation else "")
            text += definition(term, safe_docstring(found.sentence))
    return text


def _methods(cls: type) -> str:
    text = ""
    for name, method in inspect.getmembers(cls, callable):
        if name.startswith("_") or name in INHERITED or re.fullmatch(r"set_\w+_request", name):
            continue
        summary = safe_docstring(sections(inspect.getdoc(method) or "")[""].split("\n\n")[0])
        text += f".. py:method:: {name}{_signature(method)}\n   :no-index:\n\n{indent(summary)}\n\n"
    return heading("Methods", "-") + text if text else ""


def _rest(parts: Mapping[str, str]) -> str:
    """Sections of the docstring that are not made from declarations."""
    made = {"", "Parameters", "Attributes"}
    return "".join(
        heading(name, "-") + safe_docstring(text) + "\n\n" for name, text in parts.items() if name not in made and text
    )


def _function(path: str, function: Any) -> str:
    kind = "class" if inspect.isclass(function) else "function"
    parts = sections(inspect.getdoc(function) or "")
    text = f".. py:{kind}:: {path}{_signature(function)}\n\n" + indent(safe_docstring(parts[""])) + "\n\n"
    for name, body in parts.items():
        if name and body:
            text += indent(f".. rubric:: {name}\n\n{safe_docstring(body)}") + "\n\n"
    return text


def _rows(rows: Iterable[atlas.Row], verdicts: Mapping[str, Checked]) -> str:
    lines = [
        f":ref:`{row_title(row)} <row-{row.id}>`" + (f" ({verdicts[row.id].verdict})" if row.id in verdicts else "")
        for row in rows
    ]
    return heading("In the notes", "-") + bullets(lines) if lines else ""


def _pictures(class_name: str, shown: Mapping[str, Shown]) -> str:
    names = [name for name in shown if class_name in _models_of(name)]
    return heading("Gallery", "-") + thumbnails(names, "../gallery") if names else ""


@cache
def _models_of(name: str) -> frozenset[str]:
    """The models that an experiment uses."""
    return frozenset(models_in(inspect.getsource(experiments.load(name))))  # type: ignore[arg-type]


def _signature(thing: Any) -> str:
    """The arguments with their defaults; types are in the text."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return "()"
    plain = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for name, parameter in found.parameters.items()
        if name != "self"
    ]
    text = str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    return re.sub(r"<([\w.]+)[^<>]*>", r"\1", text).replace("\n", " ")


def _summary(thing: Any) -> str:
    first = sections(inspect.getdoc(thing) or "")[""].split("\n\n")[0]
    return safe_docstring(" ".join(first.split()))


def _resolve(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _parts() -> dict[str, list[str]]:
    """Our own classes that a model takes as a parameter, by kind."""
    found: dict[str, list[str]] = {kind: [] for kind in PARTS}
    for name, path in catalog.registry().items():
        kind = path.split(".")[-2]
        if name.startswith("margin/") and kind in found:
            found[kind].append(path)
    return {kind: paths for kind, paths in found.items() if paths}


def _packages() -> dict[str, list[str]]:
    """Modules with public functions by their package."""
    found: dict[str, list[str]] = {}
    for module in catalog.PUBLIC_FUNCTIONS:
        found.setdefault(module.split(".")[1], []).append(module)
    return found
