"""Oracles of generative models."""
