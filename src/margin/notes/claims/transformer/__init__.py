"""Claims about transformers: attention, positions, blocks, and the models made of them."""
