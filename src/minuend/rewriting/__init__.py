"""Rewriting models: which recipe an occurrence of an operator needs on a target, and the trial of the result.

Dialects write recipes into their models (``fixing.py`` there). It may import :mod:`minuend.judging` and what that may.
"""
