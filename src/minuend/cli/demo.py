"""The verb that comes first: ``demo``."""

from __future__ import annotations

import contextlib
import importlib.util
import tempfile
from collections.abc import Iterator

import click

from minuend.cli import options
from minuend.cli.printing import show, show_lines
from minuend.cli.status import FINDINGS, FINE
from minuend.cli.verbs import Verb
from minuend.errors import listed
from minuend.text import shell_path

ARRAYS = (
    (
        (
            "Near-infrared minus red tells plants from water. Over water the difference is negative, and uint16 has no "
            "negative numbers. Three remedies are:"
        ),
        "sub nir.npy red.npy",
        FINE,
    ),
)
MODELS = (
    (
        "A model that subtracts gives other numbers on another runtime, and none of them says so:",
        "check bgsub.onnxtxt --target onnxruntime-cpu --target openvino-cpu",
        FINDINGS,
    ),
    (
        "The smallest rewrite that gives the right numbers there too:",
        "fix bgsub.onnxtxt --target openvino-cpu -o fixed.onnx",
        FINE,
    ),
    ("And that is right on both:", "check fixed.onnx --target onnxruntime-cpu --target openvino-cpu", FINE),
)
"""What is said, the command that shows it, and the status that it ends with."""

PACKAGES = ("onnx", "onnxruntime", "openvino")
"""What the models take: the first to be read, the others to be run on."""


@click.command(
    cls=Verb,
    examples=("demo", "demo -o examples"),
    page="docs/tutorial.md",
)
@options.output("FOLDER", "Keep the files there; it must not exist.", required=False)
@click.pass_context
def demo(ctx: click.Context, out: str | None) -> int:
    """Show what this program does, on files that it makes itself.

    Arrays are subtracted; where the packages onnx, onnxruntime and openvino are installed, a model is checked, fixed
    and run as well.
    """
    program = ctx.find_root().command
    assert isinstance(program, click.Group)
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    with _examples(out):
        for text, command, expected in ARRAYS if PACKAGES[0] in missing else ARRAYS + MODELS:
            show([text, "", f"$ minuend {command}"])
            with program.make_context("minuend", command.split()) as inner:
                status = int(program.invoke(inner) or FINE)
            if status != expected:
                return status
            show([""])
    if missing:
        named = f"{listed(missing, 'and')} {'is' if len(missing) == 1 else 'are'} not installed"
        show([f'{named}; with pip install "minuend[all]" this shows a model that is checked, fixed and run.'])
    if out is None:
        show(["minuend demo -o FOLDER keeps the files, to go on with."])
    return FINE


@contextlib.contextmanager
def _examples(out: str | None) -> Iterator[None]:
    """Make the files in a new folder, or a temporary one, and work there."""
    from minuend.files.examples import write_all
    from minuend.files.transaction.writing import new_folder

    with contextlib.ExitStack() as stack:
        if out is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            write_all(folder)
        else:
            folder = out
            with new_folder(folder) as part:
                names = write_all(part)
            show_lines([f"{listed(names, 'and')} were written to {folder}", "", f"$ cd {shell_path(folder)}", ""])
        with contextlib.chdir(folder):
            yield
