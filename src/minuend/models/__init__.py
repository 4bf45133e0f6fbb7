"""Models of any dialect: opened, walked for subtractions (occurrences), and carried from format to format as a graph.

What operands can hold (ranges) and what a subtraction is for (purpose) are worked out here for all dialects.
It may import :mod:`minuend.files`, :mod:`minuend.standards` and :mod:`minuend.core`.
"""
