"""Claims on text: tokens, vectors of words, topics and tags, and what language models are trained on."""
