"""The command-line reference in ``docs/cli.md``, made from the commands themselves.

``python -m margin.cli.reference > docs/cli.md`` writes it; a test fails when the file lags behind.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from margin.cli.app import app

__all__ = ["render"]


def render() -> str:
    """The whole reference as Markdown."""
    root: Any = typer.main.get_command(app)
    context = root.context_class(root, info_name="margin")
    parts = ["# Command line\n", f"{root.help}\n", "`margin [options] COMMAND`\n"]
    parts += ["| | |", "| --- | --- |", *(_line(p) for p in root.params if not p.name.endswith("_completion")), ""]
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        arguments = " ".join(_argument(p) for p in command.params if p.param_type_name == "argument")
        parts += [f"## margin {name}\n", f"{command.help}\n", f"`margin {name} {arguments} [options]`\n"]
        parts += ["| | |", "| --- | --- |", *map(_line, command.params), ""]
    return "\n".join(parts).rstrip() + "\n"


def _argument(parameter: Any) -> str:
    name = parameter.metavar or parameter.name.upper()
    return name if parameter.required or name.startswith("[") else f"[{name}]"


def _line(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        name = _argument(parameter)
    else:
        name = ", ".join([*parameter.opts, *parameter.secondary_opts])
        name += f" {parameter.metavar}" if parameter.metavar else ""
    shown = isinstance(parameter.default, str | int | float | Path) and not isinstance(parameter.default, bool)
    text = (parameter.help or "") + (f" Default: {parameter.default}." if shown else "")
    return f"| `{name}` | {text} |".replace("[AREA|ID]", "[AREA\\|ID]")


if __name__ == "__main__":
    print(render(), end="")
