"""Programs that try to break the project: they run for minutes and print what they found."""
