"""The command line: parse, call one function, print the page or the JSON that it gives.

``program`` holds the entry point and the exit statuses; the other modules hold the verbs, and ``pages`` what they show.
It may import every room, and no dialect.
"""

from minuend.cli.program import main

__all__ = ["main"]
