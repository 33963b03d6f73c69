"""Trees with one branch per category, ID3 and C4.5, with the gains that choose their questions."""
