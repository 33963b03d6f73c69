"""Run folders: a fit that survives a kill.

``runs/<name>/`` holds ``manifest.json`` (what is trained on what, and how far it came), ``metrics.jsonl`` (one line
per record), ``checkpoints/`` (the newest two) and ``model.safetensors``. Opening the same folder again continues the
fit, and the result has the same bits as an uninterrupted one: a checkpoint holds everything the loop needs and the
length and checksum of the metrics file, which is cut back to it. A checkpoint that is damaged, or does not fit the fit,
is passed over for the one before it.

:func:`fit` is what a user calls, :class:`Run` is the folder, :mod:`margin.runs.training` is the loop.
"""

from margin.runs.extending import lengthen
from margin.runs.fitting import fit
from margin.runs.folder import Run, RunError
from margin.runs.identity import data_hash, fingerprint
from margin.runs.interrupts import interruptible

__all__ = ["Run", "RunError", "data_hash", "fingerprint", "fit", "interruptible", "lengthen"]
