"""Measured targets in other states than the shipped ones."""

from dataclasses import replace

from minuend.runtimes.table import NOTHING
from minuend.runtimes.target import Target


def nodes_alone(target: Target) -> Target:
    """Return a target of which nodes by themselves were measured, and no patterns."""
    return replace(target, table=target.table.with_patterns(NOTHING))
