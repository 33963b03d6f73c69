"""One process that tries mutated files, one after another, and says what each did.

It reads lines ``name number`` from stdin and answers each with one JSON line. Whoever started it sees a crash as its
death and an endless loop as its silence.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

CPU_SECONDS = int(
    os.environ.get("MARGIN_FUZZ_SECONDS", "20")
)  # more than any load, prediction or first two iterations of a fit here takes
MEMORY = 3 * 2**30  # beyond what the libraries themselves have mapped
COUNTS, MOST_STEPS = ("n_estimators", "max_iter", "n_init"), 10_000  # parameters that say how long a fit takes
FIT_EVERY = 2  # of the files whose parameters were changed: a fit does not look at what was learned before

# What is asked of a loaded model, each with the rows, and what it can say by itself.
OUTPUTS = (
    *("predict", "predict_proba", "decision_function", "transform", "score_samples", "apply", "decision_path"),
    *("staged_predict", "kneighbors", "reconstruct", "encode", "hidden_states", "perplexity", "attention_maps"),
    *("embed", "encode_images", "project"),
)
BY_ITSELF = ("get_n_leaves", "to_text", "text", "rules", "get_covariance", "aic")
DRAWN = 5  # new rows or texts
MAX_TOKENS = 20


class Guard:
    """Notes every file that is opened and every process that is started while it is on."""

    STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn")

    def __init__(self, allowed: tuple[str, ...]):
        self.allowed, self.on = allowed, False
        self.files: list[str] = []
        self.processes: list[str] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event == "open" and isinstance(arguments[0], str | bytes):
            path = os.path.abspath(os.fsdecode(arguments[0]))
            if not path.startswith(self.allowed):
                self.files.append(path)
        elif event in self.STARTS or event == "socket.connect":
            self.processes.append(event)

    @contextlib.contextmanager
    def watching(self) -> Any:
        self.files, self.processes, self.on = [], [], True
        try:
            yield
        finally:
            self.on = False
            self.processes += [f"child {number}" for number in _children()]


def _children() -> list[str]:
    """Running child processes, where the system tells (Linux)."""
    return [n for path in Path("/proc/self/task").glob("*/children") for n in path.read_text().split()]


def attempt(path: Path, X: Any, y: Any, fit: bool, known: str = "") -> tuple[str, str]:
    """Load, predict and fit unless the parameters are the ``known`` ones; what came of it, and what was said."""
    import margin
    from margin.store import StoreError

    try:
        model = margin.load(path)
    except StoreError as error:
        return ("refused" if "\n" not in str(error) else "untidy"), str(error)
    except Exception as error:
        return "untidy", f"load: {type(error).__name__}: {error}"
    outcome = ("predicted", "")
    for name, ask in _questions(model, X):
        try:
            ask()
        except Exception as error:
            outcome = ("failed", f"{name}: {type(error).__name__}: {str(error)[:200]}")
    if fit and parameters_text(model) != known:
        with contextlib.suppress(Exception):
            if hasattr(model, "iterate"):
                list(islice(model.iterate(X, y), 2))
            elif not asks_for_much(model):
                model.fit(X) if y is None else model.fit(X, y)
    return outcome


def asks_for_much(model: Any) -> bool:
    """Whether the file says that a fit, all of whose steps must be waited for, takes more of them than anyone waits.

    >>> from sklearn.pipeline import make_pipeline
    >>> from margin.trees import RandomForestClassifier
    >>> asks_for_much(make_pipeline(RandomForestClassifier(2**62)))
    True
    """
    given = model.get_params(deep=True).items()
    return any(name.rpartition("__")[2] in COUNTS and isinstance(v, int) and v > MOST_STEPS for name, v in given)


def parameters_text(model: Any) -> str:
    """All parameters, nested ones too; empty where a broken file leaves none to be read."""
    try:
        return str(model.get_params(deep=True))
    except Exception:
        return ""


def _questions(model: Any, X: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Everything that can be asked of a loaded model, by name."""
    for name in OUTPUTS:
        method = _method(model, name)
        if method:
            yield name, lambda method=method: _consumed(method(X))
    for name in BY_ITSELF:
        method = _method(model, name)
        if method:
            yield name, method
    sample, back = _method(model, "sample"), _method(model, "inverse_transform")
    if sample and _method(model, "attention_maps"):
        yield "sample", lambda: sample(DRAWN, 0, max_tokens=MAX_TOKENS)
    elif sample:
        yield "sample", lambda: sample(DRAWN)
    if back:
        yield "inverse_transform", lambda: back(model.transform(X))


def _method(model: Any, name: str) -> Callable[..., Any] | None:
    """A method, which a broken file may make impossible to look up."""
    try:
        found = getattr(model, name, None)
    except Exception:
        return None
    return found if callable(found) else None  # word2vec has a parameter "sample"


def _consumed(answer: Any) -> Any:
    """Generators run only when they are asked for their values."""
    return list(islice(answer, 3)) if isinstance(answer, Iterator) else answer


class ModelTrial:
    """Tries changed model files."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.documents: dict[str, Any] = {}

    def prepare(self, name: str) -> None:
        from fuzz.corpus import data_of
        from fuzz.mutations import read
        from margin import load

        unchanged = self.folder / f"{name}.safetensors"
        X, y = data_of(name)
        attempt(unchanged, X, y, fit=True)
        self.documents[name] = read(unchanged), X, y, parameters_text(load(unchanged))

    def lay_out(self, name: str, number: int, own: Path) -> None:
        """One file is overwritten again and again."""

    def attempt(self, name: str, number: int, own: Path) -> tuple[str, str, list[str]]:
        from fuzz.mutations import mutate

        document, X, y, known = self.documents[name]
        content, changes = mutate(document, f"{name}-{number}")
        path = own / "file.safetensors"
        path.write_bytes(content)
        return (*attempt(path, X, y, number % FIT_EVERY == 0, known), changes)


def trial_of(what: str, folder: Path) -> Any:
    """What is tried: "models", "checkpoints", "archives" or "runs"."""
    if what == "models":
        return ModelTrial(folder)
    from fuzz import archives, checkpoints, run_folders

    return {"checkpoints": checkpoints, "archives": archives, "runs": run_folders}[what].Trial(folder)


def main(folder: Path, what: str) -> None:
    in_memory = Path("/dev/shm")  # a disk would wait for every file
    with tempfile.TemporaryDirectory(prefix="margin-fuzz-", dir=in_memory if in_memory.is_dir() else None) as own:
        _answer_lines(trial_of(what, folder), folder, Path(own))


def _answer_lines(trial: Any, folder: Path, own: Path) -> None:
    warnings.simplefilter("ignore")
    import numpy as np

    np.seterr(all="ignore")
    root = Path(__file__).parents[1]
    code = (root / "src", sys.prefix, sys.base_prefix, "/usr/lib")
    guard = Guard((*map(str, (own, folder, *code)), "/proc", "/sys"))
    prepared: set[str] = set()
    _limit_memory()
    for line in sys.stdin:
        name, number = line.split()
        _limit_cpu(10 * CPU_SECONDS)  # the first use imports, and making a file is not reading it
        if name not in prepared:
            trial.prepare(name)
            prepared.add(name)
        trial.lay_out(name, int(number), own)
        _limit_cpu(CPU_SECONDS)
        with guard.watching():
            outcome, sentence, changes = trial.attempt(name, int(number), own)
        answer = {"outcome": outcome, "sentence": sentence, "changes": changes}
        print(json.dumps({**answer, "files": guard.files[:3], "processes": guard.processes[:3]}), flush=True)


def _limit_memory() -> None:
    import torch  # noqa: F401 (maps much memory at once, which must not count)

    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY, mapped + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_cpu(seconds: int) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
