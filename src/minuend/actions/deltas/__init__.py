"""Deltas of checkpoints: what gives TUNED from BASE, bit by bit."""

from minuend.actions.deltas.applying import ApplyReport, apply_delta
from minuend.actions.deltas.making import MakeReport, make_delta
from minuend.actions.deltas.telling import InfoReport, TensorInfo, delta_info
from minuend.actions.deltas.verifying import VerifyReport, verify_delta

__all__ = [
    "ApplyReport",
    "InfoReport",
    "MakeReport",
    "TensorInfo",
    "VerifyReport",
    "apply_delta",
    "delta_info",
    "make_delta",
    "verify_delta",
]
