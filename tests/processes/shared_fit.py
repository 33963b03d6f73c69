"""One process of several that learn a network together: ``python shared_fit.py FOLDER [MEETING RANK SIZE]``.

With a meeting file it makes the process group itself, as a program of the user would; without, torchrun has set the
environment. ``KILL_RANK`` and ``KILL_STEP`` end one process in the middle.
"""

import os
import signal
import sys
import warnings
from pathlib import Path

import numpy as np

import margin
from margin.neural.training.loop import Training

ROWS = np.random.default_rng(0).standard_normal((83, 4))
LABELS = (ROWS[:, 0] > 0).astype(int)


def network():
    return margin.MLPClassifier(
        hidden_layer_sizes=(6,), max_iter=4, batch_size=20, dropout=0.2, norm="batch", early_stopping=True,
        record_steps=1, batch_parts=4, random_state=0,
    )  # fmt: skip


def fit(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return margin.fit(network(), ROWS, LABELS, run=folder, checkpoint_seconds=0)


def kill_at(step):
    advance = Training.advance

    def or_die(self):
        advance(self)
        if self.steps == step:
            os.kill(os.getpid(), signal.SIGKILL)

    Training.advance = or_die


def main(folder, meeting=None, rank="0", size="1"):
    if meeting is not None:
        from torch import distributed

        distributed.init_process_group("gloo", init_method=Path(meeting).as_uri(), rank=int(rank), world_size=int(size))
    if os.environ.get("KILL_RANK") == os.environ.get("RANK"):
        kill_at(int(os.environ.get("KILL_STEP", "-1")))
    model = fit(folder)
    print(model.loss_curve_[-1].hex(), flush=True)
    if meeting is not None:
        # Threads of gloo may abort an interpreter that is being taken down; what is to be tested is done.
        distributed.barrier()
        os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
