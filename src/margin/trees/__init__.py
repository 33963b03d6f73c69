"""Decision trees and what is built from many of them: bagging, random forests, extremely randomized trees, boosting."""
