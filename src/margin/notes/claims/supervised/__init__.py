"""Claims about learning from examples with answers."""
