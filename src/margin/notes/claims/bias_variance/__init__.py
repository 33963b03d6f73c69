"""Claims of the area bias-variance: what the errors of a learner are made of."""
