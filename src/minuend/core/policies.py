"""What integers may do where the exact difference does not fit."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

Overflow: TypeAlias = Literal["wrap", "saturate", "widen", "error"]
"""``wrap``: modulo 2**n. ``saturate``: the nearest value that fits. ``widen``: exact, in the signed type of twice the
width. ``error``: raise."""

POLICIES: tuple[str, ...] = get_args(Overflow)

Contract: TypeAlias = Literal["wrap", "saturate"]
"""Those that keep the element type and give an answer everywhere: what a model can be made to do on every runtime."""

CONTRACTS: tuple[str, ...] = get_args(Contract)
