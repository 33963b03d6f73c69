"""Averages of many trees or other models: bagging, random forests, extremely randomized trees."""
