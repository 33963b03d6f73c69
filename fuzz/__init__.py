"""Programs that try to break the project; they run for minutes to hours and print what they found.

``python -m fuzz --files 10000`` (``make fuzz``) fits every model of the catalog, alone and behind preprocessing, saves
it, changes arrays and manifest at random, and loads, predicts and fits in worker processes with limits on time and
memory: no file may crash the process, run forever, start a process or touch a file. :mod:`fuzz.corpus` makes the files,
:mod:`fuzz.mutations` changes them, :mod:`fuzz.worker` tries one after another, :mod:`fuzz.campaign` starts the workers
and counts. ``--what checkpoints``, ``--what runs`` and ``--what archives`` do the same with checkpoints
(:mod:`fuzz.checkpoints`), whole run folders (:mod:`fuzz.run_folders`) and packed files (:mod:`fuzz.archives`): a
damaged checkpoint must not change a model either, nor a link in a run folder a file outside.

``python -m fuzz.tables --count 1000`` makes ugly tables, each of which must become a fitted pipeline, on disk and back,
or be refused in one sentence; :mod:`fuzz.ugly_columns` lists the bad habits.

``python -m fuzz.mutants`` changes signs, factors, axes and indices in the code behind each row of the notes and reports
which rows do not notice.
"""
