"""Claims on software: words, frameworks, checkpoints, parallel work, conventions of losses, and sets of data."""
