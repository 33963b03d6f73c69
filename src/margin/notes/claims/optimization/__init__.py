"""Claims about optimization: descent, batches, update rules, schedules, curvature, second order, search."""
