"""Claims on activation functions: what they are, what networks without them lack, and how they train."""
