"""Claims on adversarial networks: the game on known densities, and what trained games do."""
