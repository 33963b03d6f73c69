"""The gallery: a page per experiment, made from its docstring, picture, verdict, rows and code."""

from __future__ import annotations

import inspect
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from docs.generators.evidence import Shown
from docs.generators.rst import bullets, details, escape, heading, indent, safe_docstring, toctree, write
from docs.generators.words import AREAS, lab_link, row_title, verdict_badge

from margin import catalog
from margin.notes import atlas, experiments
from margin.service.evidence import Checked
from margin.service.finding_words import finding_words

__all__ = ["experiment_page", "filters", "grouped", "models_in", "tags_of", "thumbnails", "write_gallery"]

BEYOND = "Beyond the notes"  # experiments that no row cites
MOVING = "Step by step; where the system asks for reduced motion this stands still."


def write_gallery(folder: Path, shown: Mapping[str, Shown]) -> int:
    """Write all pages and copy the pictures; the number of experiments that have a page."""
    for item in shown.values():
        write(folder / f"{item.name}.rst", experiment_page(item))
        for picture in (item.picture, item.thumbnail, item.motion):
            if picture is not None:
                _copy(picture, folder / "images" / picture.name)
    write(folder / "index.rst", index_page(shown))
    return len(shown)


def experiment_page(item: Shown) -> str:
    module = experiments.load(item.name)
    source = inspect.getsource(module)  # type: ignore[arg-type]
    title, _, rest = inspect.cleandoc(module.__doc__ or "").partition("\n")
    rows = [row for row in atlas.rows().values() if row.experiment == item.name]
    text = heading(title.rstrip(".")) + safe_docstring(rest.strip()) + "\n\n"
    text += f".. image:: images/{item.picture.name}\n   :alt: {escape(title)}\n   :class: picture\n\n"
    if item.motion is not None:
        text += f".. motion:: {item.name}\n   :alt: {escape(title)}, step by step\n\n   {MOVING}\n\n"
    text += f"{verdict_badge(item.outcome.word)} What was measured:\n\n"
    findings = Checked(
        item.name, "", "", item.outcome.word, item.outcome.measured, item.outcome.expected, 0.0
    ).findings()
    text += bullets(escape(finding_words(finding)) for finding in findings)
    text += _run_it(item.name)
    if rows:
        text += heading("In the notes", "-") + bullets(f":ref:`{row_title(row)} <row-{row.id}>`" for row in rows)
    used = models_in(source)
    if used:
        text += heading("Models", "-") + bullets(f":doc:`/reference/{name}`" for name in used)
    code = f".. code-block:: python\n\n{indent(source.strip())}"
    return text + heading("Code", "-") + details("the whole experiment", code, "source")


def _run_it(name: str) -> str:
    return (
        f"The picture is the fast version that the tests run. ``margin run {name}`` draws the full one, "
        f"``--seed 1`` with other draws; {lab_link(f'/gallery/{name}')} (while ``margin lab`` runs).\n\n"
    )


def models_in(source: str) -> list[str]:
    """The models that a piece of code names, as they stand in the catalog."""
    words = set(re.findall(r"\w+", source))
    return [entry.class_name for entry in catalog.ENTRIES if entry.class_name in words]


def index_page(shown: Mapping[str, Shown]) -> str:
    text = heading("Gallery")
    text += (
        f"{len(shown)} phenomena, each in a file of its own with ``run``, ``check`` and ``draw``. Every picture here "
        "was computed and checked when the site was built.\n\n"
    )
    text += filters(shown)
    for title, names in grouped(shown).items():
        text += heading(title, "-") + thumbnails(names, ".")
    return text + toctree(shown)


@cache
def tags_of(name: str) -> dict[str, set[str]]:
    """What an experiment can be chosen by: kinds of its statements, families of its models, and whether it moves."""
    module = experiments.load(name)
    used = set(models_in(inspect.getsource(module)))  # type: ignore[arg-type]
    return {
        "kind": {row.kind for row in atlas.rows().values() if row.experiment == name},
        "models": {entry.family for entry in catalog.ENTRIES if entry.class_name in used},
        "shown": {"in-motion"} if hasattr(module, "animate") else set(),
    }


def filters(names: Iterable[str]) -> str:
    """Buttons by tag with their counts, which ``gallery.js`` brings to life; without it they stay hidden."""
    every = [tags_of(name) for name in names]
    lines = ""
    for group in ("kind", "models", "shown"):
        counts = Counter(tag for tags in every for tag in tags[group])
        buttons = "".join(
            f'<button type="button" data-tag="{group}-{tag}" aria-pressed="false">{tag.replace("-", " ")} '
            f"<small>{count}</small></button>"
            for tag, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        )
        lines += f"   <p><span>{group}</span> {buttons}</p>\n"
    return f'.. raw:: html\n\n   <div class="filters" hidden>\n{lines}   <p class="count" role="status"></p></div>\n\n'


def grouped(names: Iterable[str]) -> dict[str, list[str]]:
    """Experiments under the area of the first row that cites them, in the order of the notes; the rest at the end."""
    first: dict[str, str] = {}
    for row in atlas.rows().values():
        first.setdefault(row.experiment, AREAS[row.area])
    found: dict[str, list[str]] = {title: [] for title in (*AREAS.values(), BEYOND)}
    for name in sorted(names):
        found[first.get(name, BEYOND)].append(name)
    return {title: inside for title, inside in found.items() if inside}


def thumbnails(names: Iterable[str], place: str) -> str:
    """Cards of experiments; ``place`` is the folder of the gallery, seen from the page."""
    cards = ""
    for name in names:
        title = escape(experiments.title(experiments.load(name)).rstrip("."))
        card = f".. image:: {place}/images/{name}-thumbnail.png\n   :alt:\n\n:doc:`{title} </gallery/{name}>`"
        tags = " ".join(f"{group}-{tag}" for group, found in tags_of(name).items() for tag in sorted(found))
        cards += f".. container:: tile {tags}\n\n{indent(card)}\n\n"
    return f".. container:: cards\n\n{indent(cards)}\n"


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists() or target.read_bytes() != source.read_bytes():
        shutil.copyfile(source, target)
