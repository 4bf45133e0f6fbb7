"""Deltas of checkpoints: what gives TUNED from BASE, bit by bit."""

from minuend.files.deltas.applying import ApplyReport, apply_delta
from minuend.files.deltas.describing import InfoReport, TensorInfo, delta_info
from minuend.files.deltas.making import MakeReport, make_delta
from minuend.files.deltas.verifying import VerifyReport, verify_delta

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
