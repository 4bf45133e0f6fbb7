"""Runtimes, a file each: how to query it, and what is known of it beyond its measured data.

A worker loads such a file under any Python, where this package need not be installed.
So an adapter imports nothing but the standard library, adjacent adapters (``from .litert import subtracting``), NumPy
and its runtime, the last two inside functions.
"""
