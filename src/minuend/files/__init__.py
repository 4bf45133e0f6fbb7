"""Files of tensors: opened lazily, read in blocks, written whole or not at all.

A file's suffix tells its format. Each format is a module of this folder, or a dialect's ``tensor_files.py``, that knows
nothing of the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minuend.lazy import members

if TYPE_CHECKING:
    from minuend.files.base import Result, Tensor, TensorFile
    from minuend.files.opening import (
        SELECTOR,
        check_output,
        chunked_format,
        file_format,
        file_formats,
        models,
        notes_of,
        open_tensors,
        split,
        write_tensors,
    )

__all__ = [
    "SELECTOR",
    "Result",
    "Tensor",
    "TensorFile",
    "check_output",
    "chunked_format",
    "file_format",
    "file_formats",
    "models",
    "notes_of",
    "open_tensors",
    "split",
    "write_tensors",
]

__getattr__ = members(
    __name__,
    {
        "Result": ".base:Result",
        "SELECTOR": ".opening:SELECTOR",
        "Tensor": ".base:Tensor",
        "TensorFile": ".base:TensorFile",
        "check_output": ".opening:check_output",
        "chunked_format": ".opening:chunked_format",
        "file_format": ".opening:file_format",
        "file_formats": ".opening:file_formats",
        "models": ".opening:models",
        "notes_of": ".opening:notes_of",
        "open_tensors": ".opening:open_tensors",
        "split": ".opening:split",
        "write_tensors": ".opening:write_tensors",
    },
)
