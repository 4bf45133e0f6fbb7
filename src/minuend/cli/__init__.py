"""The command line: parse, call one function, print the page or the JSON that it gives.

``program`` holds the entry point; ``arrays``, ``standards``, ``models`` and ``runtimes`` hold the verbs of those rooms,
and ``pages`` what they show. It may import every room, and no dialect. A verb imports what it needs when it is called,
so that ``--help`` waits for none of it.
"""

from minuend.cli.program import main

__all__ = ["main"]
