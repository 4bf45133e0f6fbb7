"""What ``check`` is to look at, and on what: by its command line, or else by ``minuend.toml``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import click

from minuend.errors import FileFormatError, SpecError
from minuend.judging.configuration import NAME, Config, Usual
from minuend.judging.options import find_targets
from minuend.runtimes import targets as all_targets
from minuend.runtimes.quirks import quirks
from minuend.runtimes.target import Target


@dataclass(frozen=True)
class Requested:
    """What is to be checked.

    Attributes:
        models: paths, folders and globs. targets: by name. hint: the precision hint. cpu: the newest instruction set of
            the processor. verdicts: those that count, where the file says so. path: the file's; ``None`` where there is
            none.
        from_file: whether the targets are those of the file. own_hint, own_cpu: whether these are the command line's.
    """

    models: Sequence[str]
    targets: Sequence[str]
    hint: str
    cpu: str
    verdicts: frozenset[str] | None
    path: str | None
    from_file: bool
    own_hint: bool
    own_cpu: bool

    @classmethod
    def of(
        cls,
        config: Config | None,
        models: Sequence[str],
        targets: Sequence[str] | None,
        hint: str | None,
        cpu: str | None,
    ) -> Requested:
        """Return what a command line names, and for what it leaves out (``None``) what a file does.

        Raises:
            UsageError: neither names models, or targets.
        """
        usual = Usual() if config is None else config.usual
        if config is None and not models:
            raise click.UsageError(
                f"no MODEL is given, and there is no {NAME} here; expected a file, a folder or a glob, or the "
                f"{NAME} that minuend init writes"
            )
        if targets is None and not usual.targets:
            example = (
                f", such as --target {','.join(names)} (installed here)" if (names := all_targets.installed()) else ""
            )
            raise click.UsageError(
                f"no --target is given, and no targets in a {NAME} here; expected one or several{example}; minuend "
                "targets lists all"
            )
        return cls(
            models=models or _models(config),
            targets=[_there(config, name) for name in usual.targets] if targets is None else targets,
            hint=usual.hint if hint is None else hint,
            cpu=usual.cpu if cpu is None else cpu,
            verdicts=usual.fail_on,
            path=None if config is None else config.path,
            from_file=targets is None,
            own_hint=hint is not None,
            own_cpu=cpu is not None,
        )

    def find_targets(self, *, exact: bool, strict: bool) -> tuple[Target, ...]:
        """Return the targets; see :func:`minuend.judging.options.find_targets`.

        Raises:
            SpecError: there is no such target, or no such instruction set. FileFormatError: the file names one.
        """
        try:
            return find_targets(self.targets, exact=exact, strict=strict, cpu=self.cpu)
        except SpecError as error:
            key = "cpu" if error.rule == "cpu" else "targets"
            if not self.own_cpu if key == "cpu" else self.from_file:
                raise FileFormatError(f"{self.path}: key '{key}': {error}") from None
            raise

    def hint_of(self, targets: Iterable[Target]) -> str:
        """Return the hint; that of the file is for its own targets, and others may have none of this name."""
        known = any(self.hint in quirks(target.runtime).hints for target in targets)
        return self.hint if known or self.own_hint or self.from_file else ""


def _models(config: Config | None) -> list[str]:
    assert config is not None
    return [config.below(one) for one in config.usual.models or (os.curdir,)]


def _there(config: Config | None, name: str) -> str:
    """Return the path of a target's file as seen from here; a name of another kind stays as it is."""
    path = name if config is None else config.below(name)
    return path if os.path.isfile(path) else name
