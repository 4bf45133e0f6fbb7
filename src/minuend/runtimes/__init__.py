"""What runtimes do: asked in a process of their own, judged by the reference, kept as data, proven.

Cases, value classes, measured and declared targets, quirks and reports live here; ``measured`` holds the data.
It may import :mod:`minuend.models` and what is below; dialects give it models through their ``probing.py``.
"""
