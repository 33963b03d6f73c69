"""Learning from rows of which only some have labels: self-training around any classifier, pseudo-labels for a network.

A row without a label is marked by -1 (with labels that are numbers), None or NaN.
"""

from typing import TYPE_CHECKING, Any

from margin.meta.semi.self_training import SelfTrainingClassifier

if TYPE_CHECKING:
    from margin.meta.semi.pseudo_label import PseudoLabel

__all__ = ["PseudoLabel", "SelfTrainingClassifier"]


def __getattr__(name: str) -> Any:
    if name == "PseudoLabel":  # torch is loaded by who asks for a network
        from margin.meta.semi.pseudo_label import PseudoLabel

        return PseudoLabel
    raise AttributeError(f"module 'margin.meta.semi' has no attribute {name!r}")
