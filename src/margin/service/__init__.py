"""Use cases: what the command line and the lab do, one function each. They parse and render; the work is here."""
