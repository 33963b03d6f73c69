"""The types of what ``margin`` resolves lazily, for editors and type checkers.

``python -m margin.stub > src/margin/__init__.pyi`` writes the stub; a test fails when the file lags behind.
"""

from __future__ import annotations

from margin import catalog

__all__ = ["render"]

HEADING = '''"""The public names and where they are defined, as ``python -m margin.stub`` writes them."""
'''


def render() -> str:
    """One import per public name; type checkers read the classes themselves, so signatures are theirs."""
    origin = {**catalog.FUNCTIONS, **{entry.class_name: entry.path.rpartition(".")[0] for entry in catalog.ENTRIES}}
    by_module: dict[str, list[str]] = {}
    for name, module in origin.items():
        by_module.setdefault(module, []).append(name)
    imports = [
        f"from {module} import {name} as {name}" for module in sorted(by_module) for name in sorted(by_module[module])
    ]
    return "\n".join([HEADING, *imports, "", "__version__: str", ""])


if __name__ == "__main__":
    print(render(), end="")
