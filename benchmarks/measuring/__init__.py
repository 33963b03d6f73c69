"""How it is measured and stored: clocks, memory, threads, cases of a race, findings and rows of a study."""
