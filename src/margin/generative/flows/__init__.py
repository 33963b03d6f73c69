"""Normalizing flows: invertible maps between data and noise, whose log-determinants make the density exact."""

from margin.generative.flows.network import LAYERS, FlowNetwork

__all__ = ["LAYERS", "FlowNetwork"]
