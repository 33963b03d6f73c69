"""Claims of the area interpretation."""
