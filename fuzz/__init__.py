"""Mutated model files: none may crash the process, run forever, start a process or touch a file.

``python -m fuzz --files 10000`` fits every model of the catalog, alone and behind preprocessing, saves it, changes
arrays and manifest at random, and loads, predicts and fits in worker processes with limits on time and memory.

:mod:`fuzz.corpus` makes the files, :mod:`fuzz.mutations` changes them, :mod:`fuzz.worker` tries one after another,
:mod:`fuzz.campaign` starts the workers and counts.
"""
