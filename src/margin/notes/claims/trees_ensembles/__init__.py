"""Claims of the area trees-ensembles: single trees, and what is built from many of them."""
