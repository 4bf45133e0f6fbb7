"""What every standard has: versions of the operator as rows, a node, its validation, spellings of types, abilities.

Dialects are found here by their folders, and asked for what they can do by the names of their files.
It may import :mod:`minuend.core`; it names no dialect.
"""
