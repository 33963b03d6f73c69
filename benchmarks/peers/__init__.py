"""What one would run or write instead of ours, where that is more than a call of a library."""
