"""Which values a tensor can hold: intervals, and the rules that operators give them.

The operators bear ONNX's names; a dialect's ``occurrences.py`` translates its own and follows values through
its models.
It may import :mod:`minuend.core`.
"""
