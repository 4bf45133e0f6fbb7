"""Runtimes, a file each, which needs NumPy and the runtime alone."""
