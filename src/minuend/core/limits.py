"""How much a run may take, unless it is told otherwise."""

from __future__ import annotations

MAX_BYTES = 4 << 30
"""Bytes: of the largest result of a model, or, where buffers are made beforehand, of all of them."""
