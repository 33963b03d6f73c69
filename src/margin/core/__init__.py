"""What every estimator stands on: domains, records, the estimator base, randomness, threads, verdicts."""
