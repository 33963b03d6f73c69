"""Text against the slow way: recount after every merge, loop over every pair."""
