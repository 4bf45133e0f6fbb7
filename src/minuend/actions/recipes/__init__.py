"""Subtractions written with other operators: the table, which one a site needs, and the trial on the runtime.

A recipe is data; dialects write it into their models (``recipes.py``, ``rewriting.py`` and ``fixing.py`` there).
It may import what :mod:`minuend.actions` may.
"""
