"""What every standard has: versions of the operator as rows, a node, its validation, spellings of types, abilities.

Dialects are found here by their folders, and an ability is a file of such a folder.
It may import :mod:`minuend.core`; it names no dialect.
"""
