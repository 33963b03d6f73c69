"""The types of what ``margin`` resolves lazily, for editors and type checkers.

``make generated`` writes the stub; a test fails when the file lags behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from margin import catalog

__all__ = ["render"]

HEADING = '''"""The public names and where they are defined, as ``make generated`` writes them."""
'''


def render() -> str:
    """One import per public name; type checkers read the classes themselves, so signatures are theirs."""
    families: dict[str, dict[str, str]] = {}
    for entry in catalog.ENTRIES:
        families.setdefault(entry.family, {})[entry.class_name] = entry.path.rpartition(".")[0]
    parts = [_group("functions", catalog.FUNCTIONS), *(_group(name, families[name]) for name in families)]
    packages = [f"from margin import {name} as {name}" for name in sorted(catalog.PACKAGES)]
    lines = [HEADING, *(line for part in parts for line in part), "# packages", *packages]
    return "\n".join([*lines, "", "__version__: str", "__all__: list[str]", ""])


def _group(title: str, origin: Mapping[str, str]) -> Iterator[str]:
    yield f"# {title}"
    for name, module in sorted(origin.items(), key=lambda item: (item[1], item[0])):
        yield f"from {module} import {name} as {name}"
    yield ""


if __name__ == "__main__":
    print(render(), end="")
