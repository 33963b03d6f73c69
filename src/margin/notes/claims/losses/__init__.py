"""Claims on losses: squared and absolute errors, likelihoods, cross-entropies, margins and overlaps."""
