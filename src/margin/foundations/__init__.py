"""The mathematics under the models: linear algebra, probability, statistics, information and transport.

Pure functions of arrays: they touch their arguments and an explicit generator, nothing else.
"""
