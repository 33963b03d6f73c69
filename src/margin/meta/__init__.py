"""Learning from little: episodes, similarity, learning to learn, descriptions, transfer and shifted domains."""

from margin.meta.episodes import Episode, sample_episode
from margin.meta.transfer import domain_adapt, fine_tune, pretrain_then_finetune
from margin.meta.zero_shot import ZeroShot

__all__ = ["Episode", "ZeroShot", "domain_adapt", "fine_tune", "pretrain_then_finetune", "sample_episode"]
