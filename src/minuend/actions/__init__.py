"""What a user asks for: check, fix, convert and run a model, and subtract files.

Each action is a function that returns a report; it asks dialects for abilities and runtimes for data.
It may import every room but :mod:`minuend.cli`, and no dialect.
"""
