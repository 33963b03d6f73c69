"""Claims of the area statistics: moments, hypotheses, likelihood and regression, distances, Gaussian processes."""
