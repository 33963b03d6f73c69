"""Full-scale studies: every module is a program, ``python -m benchmarks.studies.NAME``, that stores what it found."""
