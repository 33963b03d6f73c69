"""Rows like those of the elevators of an aircraft: few states, recorded again and again with a little rounding."""

from __future__ import annotations

import numpy as np
import pandas as pd

__all__ = ["elevators_like"]


def elevators_like(n: int = 16_599, seed: int = 0) -> pd.DataFrame:
    """A frame of 18 columns and the target ``goal``, of 0.012 to 0.078 in steps of 0.0001.

    Commands, their four lags and the four differences between them are of rank five up to float32; other columns are
    sums and multiples of states; changes have heavy tails; one column has one value but for a row in five thousand.
    """
    rng = np.random.default_rng(seed)
    climb, gain = rng.normal(0, 280, n), rng.normal(0, 0.1, n)
    roll, roll_rate = 0.2 * rng.standard_t(2.5, n), rng.normal(0, 0.2, n)
    commands = [8e-4 * rng.normal(size=n)]
    changes = [6e-5 * rng.standard_t(1.8, n) for _ in range(4)]
    for change in changes:
        commands.append(commands[-1] - change)
    flat = np.where(rng.random(n) < 2e-4, 0.0014, 0.0013)
    columns = {
        "climb_rate": climb,
        "descent": 0.3 - climb / 14,
        "roll_rate": roll_rate,
        "pitch_rate": gain,
        "roll": roll,
        "bank": 10.0 - 5.0 * roll + 0.2 * roll_rate,
        "climb_change": 5.0 * rng.standard_t(3, n),
        "roll_change": 0.002 * rng.standard_t(2, n),
        **{f"command_{i}": command for i, command in enumerate(commands)},
        **{f"change_{i}": change for i, change in enumerate(changes)},
        "flat": flat,
    }
    frame = pd.DataFrame({name: column.astype(np.float32).astype(np.float64) for name, column in columns.items()})
    bend = 0.04 * np.tanh(climb / 300) * gain + 0.002 * np.tanh(np.abs(roll))
    goal = 0.022 + bend + 4 * commands[0] + 2 * commands[2] + rng.normal(0, 0.0015, n)
    frame["goal"] = np.clip(goal, 0.012, 0.078).round(4)
    return frame
