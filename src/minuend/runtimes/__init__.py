"""What runtimes do: queried in a separate process, judged by the reference, stored as data, proven.

Cases, value classes, measured and declared targets, quirks and reports live here; ``measured`` holds the data.
It may import :mod:`minuend.models` and what is below; dialects give it models through their ``probing.py``.
"""
