"""Claims of the area evaluation: how models are split for, scored and compared."""
