"""The first ``minuend.toml`` of a project: the models that are there, and the runtimes that are installed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from minuend.errors import MinuendError
from minuend.judging.configuration import NAME
from minuend.judging.globs import spelled
from minuend.models.searching import search
from minuend.runtimes import targets
from minuend.runtimes.answers import VERDICTS
from minuend.runtimes.quirks import quirks
from minuend.runtimes.report import FINDINGS
from minuend.runtimes.severity import SEVERITIES
from minuend.runtimes.tolerance import USUAL

ELSE = ("onnxruntime-cpu", "openvino-cpu")
"""The targets where no runtime is installed that runs models: both read ONNX, and were measured in most releases."""

_TEXT = """\
# What `minuend check` looks at: files, folders and globs, relative to this file.
models = {models}

# The runtimes that the models are deployed to, with a release (openvino-cpu@2026.4) or without.
targets = {targets}

# The verdicts that end in exit status 1.
fail-on = {fail_on}

# Severities that are shown and do not count: {severities};
# rounding=8 stands for eight ulps.
tolerate = {tolerate}

# The precision that runtimes are set to. OpenVINO computes in bfloat16 by default, on processors that have it.
# hint = "{hint}"

# What you know of values and the models do not say:
# [assume]
# positions = "0..131071"

# Findings that are known; `minuend check --write-baseline` writes an entry for each of today:
# [[accept]]
# model = "exports/bert.onnx"
# node = "/embeddings/Sub"
# reason = "ids are below 2**31"
"""

_MOST = 8
"""Globs of models; of more, the folders above them are named."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """What a first file says.

    Attributes:
        path: the file's. models: the globs. found: the paths of the models that they mean.
        targets: runtimes, by name. installed: whether those are installed here.
    """

    path: str
    models: tuple[str, ...]
    found: tuple[str, ...]
    targets: tuple[str, ...]
    installed: bool

    @property
    def text(self) -> str:
        """The file's text, with a comment for each key."""
        hints = dict.fromkeys(hint for name in self.targets for hint in quirks(name).hints)
        counted = [verdict for verdict in VERDICTS if verdict in FINDINGS]
        return _TEXT.format(
            models=_row(map(spelled, self.models)),
            targets=_row(self.targets),
            fail_on=_row(counted),
            severities=", ".join(SEVERITIES),
            tolerate=_row(sorted(USUAL.severities)),
            hint=next(iter(hints), "f32"),
        )


def _row(values: Iterable[str]) -> str:
    return f"[{', '.join(json.dumps(one, ensure_ascii=False) for one in values)}]"


def begin(path: str = NAME) -> Beginning:
    """Return what a first file says of the models in its folder and below it.

    Raises:
        MinuendError: the file is there already. FileFormatError: the folder has no model.
    """
    if os.path.lexists(path):
        raise MinuendError(f"{path} is there already; edit it, or name another file with -o")
    home = os.path.dirname(path) or os.curdir
    found = search([home])
    installed = targets.installed()
    relative = [os.path.relpath(one, home).replace(os.sep, "/") for one in found]
    return Beginning(path, tuple(_globs(relative)), tuple(found), tuple(installed) or ELSE, bool(installed))


def _globs(models: Sequence[str]) -> list[str]:
    """Return globs that mean some models: one for each folder and suffix, or the folders at the top of many."""
    names = dict.fromkeys(f"{os.path.dirname(one)}/*{os.path.splitext(one)[1]}".lstrip("/") for one in models)
    if len(names) <= _MOST and not any(set("[]?*") & set(os.path.dirname(one)) for one in models):
        return list(names)
    return list(dict.fromkeys(one.partition("/")[0] for one in models))
