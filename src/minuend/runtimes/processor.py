"""The processor on which runtimes are measured, and how far of it they may go."""

from __future__ import annotations

import platform

INSTRUCTION_SETS = ("avx2", "avx512f", "avx512_bf16", "avx512_fp16", "amx_tile")
"""Those that change how runtimes compute, each of a processor that has those before it (most of them)."""


def processor(limit: str = "") -> str:
    """Return the processor's name, and those of its instruction sets that change how runtimes compute.

    Args:
        limit: the last of :data:`INSTRUCTION_SETS` that a runtime was allowed to use; ``""`` for all.
    """
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            lines = dict(line.split(":", 1) for line in stream if ":" in line)
    except OSError:
        lines = {}
    facts = {key.strip(): value.strip() for key, value in lines.items()}
    flags = set(facts.get("flags", "").split())
    name = facts.get("model name") or platform.processor() or platform.machine()
    return ", ".join([f"{name} limited to {limit}" if limit else name, *up_to(limit, flags)])


def up_to(limit: str, having: set[str]) -> list[str]:
    """Return the instruction sets that a runtime may use on a processor.

    >>> up_to("avx512f", {"avx2", "avx512f", "amx_tile"}), up_to("", {"avx2", "amx_tile"})
    (['avx2', 'avx512f'], ['avx2', 'amx_tile'])
    """
    known = INSTRUCTION_SETS[: INSTRUCTION_SETS.index(limit) + 1] if limit else INSTRUCTION_SETS
    return [name for name in known if name in having]


def extensions(cpu: str) -> frozenset[str]:
    """Return the instruction sets that a processor's text, as :func:`processor` writes it, names.

    >>> sorted(extensions("AMD EPYC, avx2, avx512f"))
    ['avx2', 'avx512f']
    """
    return frozenset(cpu.split(", ")) & frozenset(INSTRUCTION_SETS)


def newest(cpu: str) -> str:
    """Return the last of the instruction sets that a processor's text names; ``""`` where it names none.

    >>> newest("AMD EPYC limited to avx512f, avx2, avx512f"), newest("some CPU")
    ('avx512f', '')
    """
    return next((name for name in reversed(INSTRUCTION_SETS) if name in extensions(cpu)), "")


def up_to_last(cpu: str) -> str:
    """Say a processor's text in short: its name, and the last of its instruction sets.

    >>> up_to_last("AMD EPYC, avx2, avx512f, avx512_bf16"), up_to_last("some CPU")
    ('AMD EPYC (up to avx512_bf16)', 'some CPU')
    """
    having = [name for name in INSTRUCTION_SETS if name in extensions(cpu)]
    name = ", ".join(part for part in cpu.split(", ") if part not in having)
    return f"{name} (up to {having[-1]})" if having else name
