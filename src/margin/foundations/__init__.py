"""The mathematics under the models, as a textbook would write it: linear algebra, probability, statistics,
information and transport.

Pure functions of arrays: they touch their arguments and an explicit generator, nothing else. Models use the kernels of
``probability.kernels``, the laws, the inference on coefficients, quantiles, Gram matrices and distances to hyperplanes
from here. Where a model needs the same equation on large tables, in chunks or in torch, it has its own form of it; the
module here then begins or ends with "Textbook form" and names that one, and tests hold the two against each other.
"""
