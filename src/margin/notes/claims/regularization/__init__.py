"""Claims of the area regularization: penalties, priors, implicit preferences of algorithms."""
