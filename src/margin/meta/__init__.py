"""Learning from little: episodes, similarity, learning to learn, descriptions, transfer and shifted domains."""

from margin.meta.domains import domain_adapt
from margin.meta.episodes import Episode, sample_episode
from margin.meta.few_shot import FewShotLearner
from margin.meta.transfer import fine_tune, pretrain_then_finetune, transfer_curve
from margin.meta.zero_shot import ZeroShot

__all__ = [
    "Episode",
    "FewShotLearner",
    "ZeroShot",
    "domain_adapt",
    "fine_tune",
    "pretrain_then_finetune",
    "sample_episode",
    "transfer_curve",
]
