"""Generative adversarial networks: losses, the game on known densities, networks, and the estimator."""
