"""Claims of the area probability: functions of a law, tables and Bayes, named laws, limits, tails, maps."""
