"""Programs that write the pages of the site which are made from code and results.

``python -m docs.generators`` runs all of them; nothing they write is committed.

===============  ====================================================================================
``evidence``     runs every claim and experiment, keeps verdicts and pictures until the sources change
``gallery``      a page per experiment, from its docstring, picture, verdict and code
``notes``        the notes section by section: every statement with equation, verdict and code
``reference``    a page per model, pages of functions and of parts
``measured``     charts of the stored benchmark results, losses first
``mathml``       equations as MathML while Sphinx builds: no script, no font, no network
``motion``       a directive for pictures that move, and stand still where motion is not wanted
===============  ====================================================================================
"""
