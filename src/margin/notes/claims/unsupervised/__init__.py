"""Claims about learning without labels, or with few: clusters, expectation-maximization, self-training."""
