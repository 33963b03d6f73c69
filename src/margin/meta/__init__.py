"""Learning from little: few labels, episodes, similarity, learning to learn, transfer, shifted domains."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from margin.meta.domain_adaptation import DomainAdaptationClassifier
    from margin.meta.domains import domain_adapt
    from margin.meta.episodes import Episode, sample_episode
    from margin.meta.few_shot import FewShotLearner
    from margin.meta.transfer import fine_tune, pretrain_then_finetune, transfer_curve
    from margin.meta.zero_shot import ZeroShot

__all__ = [
    "DomainAdaptationClassifier",
    "Episode",
    "FewShotLearner",
    "ZeroShot",
    "domain_adapt",
    "fine_tune",
    "pretrain_then_finetune",
    "sample_episode",
    "transfer_curve",
]

HOMES = {
    "domain_adaptation": ("DomainAdaptationClassifier",),
    "domains": ("domain_adapt",),
    "episodes": ("Episode", "sample_episode"),
    "few_shot": ("FewShotLearner",),
    "transfer": ("fine_tune", "pretrain_then_finetune", "transfer_curve"),
    "zero_shot": ("ZeroShot",),
}


def __getattr__(name: str) -> Any:
    for module, names in HOMES.items():  # torch is loaded by who asks for a network
        if name in names:
            return getattr(import_module(f"margin.meta.{module}"), name)
    raise AttributeError(f"module 'margin.meta' has no attribute {name!r}")
