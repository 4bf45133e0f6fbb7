"""What tests have to know of the processor that they run on."""

from __future__ import annotations

import pytest

from minuend.runtimes.processor import INSTRUCTION_SETS, extensions, processor

NEWER_THAN_AVX2 = bool(extensions(processor()) & set(INSTRUCTION_SETS[1:]))
"""openvino computes bfloat16 otherwise without AVX-512, and float32 constants too."""

needs_avx512 = pytest.mark.skipif(not NEWER_THAN_AVX2, reason="openvino computes otherwise up to avx2")
