"""What a search has tried, one line of JSON per setting: killed, it goes on where it was and ends where it would have.

Every setting is proposed by a sampler of its own, seeded by the search's seed and the setting's number, that knows what
came before. So a search that reads its past from a file proposes the same as one that lived through it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from margin.core.full_disk import append_line

__all__ = ["SearchJournal", "Tried", "describe"]

#: So many settings are drawn at random before what is known proposes others.
STARTUP = 8


@dataclass(frozen=True)
class Tried:
    """A setting as it was proposed (``params`` and ``distributions`` in Optuna's terms), and its scores by step.

    ``state`` is "complete", "pruned" where it fell behind, or "fail" where it could not be fitted.
    """

    params: dict[str, Any]
    distributions: dict[str, str]
    scores: list[float]
    state: str


class SearchJournal:
    """The settings of one search, in order; with a path, also in a file."""

    def __init__(self, path: Path | None = None):
        self.path, self.tried = path, [] if path is None else _read(path)

    def add(self, tried: Tried) -> None:
        self.tried.append(tried)
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            append_line(self.path, json.dumps(vars(tried)))

    def ask(self, seed: int) -> Any:
        """The next setting, as a trial of Optuna that asks for values."""
        import optuna

        verbosity = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)  # a new study is no news
        try:
            number = len(self.tried)
            own_seed = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
            sampler = optuna.samplers.TPESampler(seed=own_seed, n_startup_trials=STARTUP)
            study = optuna.create_study(direction="maximize", sampler=sampler)
            study.add_trials([_freeze(tried) for tried in self.tried])
            return study.ask()
        finally:
            optuna.logging.set_verbosity(verbosity)


def describe(trial: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """What a trial of Optuna proposed, and from what, as plain values."""
    from optuna.distributions import distribution_to_json

    return dict(trial.params), {
        name: distribution_to_json(distribution) for name, distribution in trial.distributions.items()
    }


def _freeze(tried: Tried) -> Any:
    from optuna.distributions import json_to_distribution
    from optuna.trial import TrialState, create_trial

    return create_trial(
        state=TrialState[tried.state.upper()],
        params=tried.params,
        distributions={name: json_to_distribution(text) for name, text in tried.distributions.items()},
        value=tried.scores[-1] if tried.state == "complete" else None,
        intermediate_values=dict(enumerate(tried.scores)),
    )


def _read(path: Path) -> list[Tried]:
    """All lines but one that a kill cut short."""
    tries: list[Tried] = []
    lines: Sequence[str] = path.read_text().splitlines() if path.exists() else []
    for line in lines:
        try:
            tries.append(Tried(**json.loads(line)))
        except (ValueError, TypeError):
            break
    if len(tries) < len(lines):
        path.write_text("".join(json.dumps(vars(tried)) + "\n" for tried in tries))
    return tries
