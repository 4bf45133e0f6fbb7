"""The command line: parse, call one function, print the page or the JSON that it gives.

``program`` has the entry point; ``arrays``, ``standards``, ``models`` and ``runtimes`` have the verbs of those folders,
``options`` what several verbs take, and ``pages`` what they show. It may import every folder, and no dialect. A verb
imports what it needs when it is called, so that ``--help`` waits for none of it.
"""

from minuend.cli.program import main

__all__ = ["main"]
