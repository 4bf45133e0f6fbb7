"""The processor on which runtimes are measured."""

from __future__ import annotations

import platform

_EXTENSIONS = ("avx2", "avx512f", "avx512_bf16", "avx512_fp16", "amx_tile")
"""Those that change how runtimes compute."""


def processor() -> str:
    """Return the processor's name, and those of its extensions that change how runtimes compute."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            lines = dict(line.split(":", 1) for line in stream if ":" in line)
    except OSError:
        return platform.processor() or platform.machine()
    told = {key.strip(): value.strip() for key, value in lines.items()}
    flags = set(told.get("flags", "").split())
    extensions = [name for name in _EXTENSIONS if name in flags]
    return ", ".join([told.get("model name") or platform.machine(), *extensions])


def extensions(cpu: str) -> frozenset[str]:
    """Return the extensions that a processor's text, as :func:`processor` writes it, names.

    >>> sorted(extensions("AMD EPYC, avx2, avx512f"))
    ['avx2', 'avx512f']
    """
    return frozenset(cpu.split(", ")) & frozenset(_EXTENSIONS)
