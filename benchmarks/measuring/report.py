"""How measurements are shown and stored: a table of ratios in the terminal, a JSON file in ``benchmarks/results``."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measuring.harness import Case, Measured

__all__ = ["conditions", "row", "save", "show"]

RESULTS = Path(__file__).parents[1] / "results"
PACKAGES = (
    *("margin", "numpy", "scipy", "scikit-learn", "scikit-learn-intelex", "torch"),
    *("lightgbm", "xgboost", "celer", "pot", "gpytorch", "faiss-cpu", "openTSNE", "umap-learn", "pytabkit", "flaml"),
    *("lazypredict", "tokenizers", "tiktoken", "transformers", "gensim", "tomotopy", "hmmlearn", "python-crfsuite"),
    *("sacrebleu", "pgmpy", "pyagrum", "zuko", "normflows", "torch_geometric", "torchdiffeq", "deepxde", "captum"),
    *("shap", "pycocotools"),
)


def conditions(threads: int) -> dict[str, Any]:
    """Machine, versions, threads and load: what a ratio depends on besides the code."""
    return {
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: found for name in PACKAGES if (found := _version(name))},
        "threads": threads,
        "OMP_WAIT_POLICY": os.environ.get("OMP_WAIT_POLICY", "default"),
        "load": [round(value, 2) for value in os.getloadavg()],
    }


def row(case: Case, measured: list[Measured]) -> dict[str, Any]:
    """One case as plain data; a ratio above 1 says that ours is faster."""
    ours = measured[0]
    ways = []
    for way in measured:
        entry = way.as_dict()
        if way is not ours and not way.note and not ours.note:
            entry |= {"ratio_wall": way.wall / ours.wall, "ratio_cpu": way.cpu / ours.cpu}
        ways.append({key: _plain(value) for key, value in entry.items()})
    return {"case": case.name, "size": case.size, "quality_name": case.quality_name, "ways": ways}


def show(
    family: str, rows: list[dict[str, Any]], measured_under: dict[str, Any], console: Console | None = None
) -> None:
    """Print the table: wins green, losses red, nothing left out."""
    console = console or Console(width=None if os.isatty(1) else 150)
    threads, policy, load = (measured_under[name] for name in ("threads", "OMP_WAIT_POLICY", "load"))
    state = f"{threads} thread(s), OMP_WAIT_POLICY={policy}, load {load[0]}"
    table = Table(title=f"{family}: {state}; ratio = peer's time / ours", title_justify="left")
    for name in ("task", "size", "who"):
        table.add_column(name, no_wrap=name == "size")
    for name in ("wall ms", "cpu ms", "ratio", "cpu ratio", "quality", "extra MB"):
        table.add_column(name, justify="right", no_wrap=True)
    for entry in rows:
        for i, way in enumerate(entry["ways"]):
            names = (entry["case"], entry["size"]) if i == 0 else ("", "")
            table.add_row(*names, way["who"], *_cells(way, entry["quality_name"]))
        table.add_section()
    console.print(table)
    for entry in rows:
        if first := entry["ways"][0]["first"]:
            text = ", ".join(f"{name} {1e3 * seconds:.0f} ms" for name, seconds in first.items())
            console.print(f"first call of {entry['case']} ({entry['size']}): {text}")


def save(family: str, rows: list[dict[str, Any]], measured_under: dict[str, Any]) -> Path:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{family}.json"
    text = json.dumps({"family": family, "conditions": measured_under, "cases": rows}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def _cells(way: dict[str, Any], quality_name: str) -> list[str]:
    if way["note"]:
        return ["", "", "", "", way["note"], ""]
    memory = "" if way["memory"] is None else f"{way['memory']:.1f}"
    ratios = [_colored(way.get(key)) for key in ("ratio_wall", "ratio_cpu")]
    times = [f"{1e3 * way[key]:.1f}" for key in ("wall", "cpu")]
    quality = f"{quality_name} {way['quality']:.8g}"
    return [*times, *ratios, f"{quality}, {way['remark']}" if way["remark"] else quality, memory]


def _colored(ratio: float | None) -> str:
    if ratio is None:
        return ""
    return f"[{'green' if ratio >= 1 else 'red'}]{ratio:.2f}[/]"


def _plain(value: Any) -> Any:
    """Numbers that JSON has: infinities and NaN become null."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()
