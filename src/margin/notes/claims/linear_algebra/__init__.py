"""Claims of linear algebra, in the order of the notes: products, orthogonality, spectra, identities, factorizations."""
