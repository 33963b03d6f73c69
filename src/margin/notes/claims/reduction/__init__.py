"""Claims on reducing the number of columns: what is kept, and what for."""
