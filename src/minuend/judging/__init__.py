"""Judging models: what a target gives for each occurrence of an operator, with a run or without, for one model or many.

Nothing is changed here. It may import :mod:`minuend.runtimes` and what that may, and no dialect.
"""
