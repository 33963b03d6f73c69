"""Claims on graphical models: what graphs say, how they are learned, and posteriors by chains and bounds."""
