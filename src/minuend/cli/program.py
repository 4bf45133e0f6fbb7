"""The entry point: parse, call one verb, and make of every error a message and an exit status."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from functools import partial

import click

from minuend.cli import signals, streams
from minuend.cli.about import tool
from minuend.cli.completion import VARIABLE
from minuend.cli.printing import SETTINGS, complain, show_json
from minuend.cli.status import BAD_USE, DEFECT, FINDINGS, FINE, INTERRUPTED, NO_READER
from minuend.cli.verbs import Verbs
from minuend.errors import MinuendError, OverflowFound, cut, listed, readable
from minuend.lazy import Imported
from minuend.text import shell_words
from minuend.written import remembered, written

TRACEBACK = "MINUEND_TRACEBACK"
"""The environment variable that shows where an error comes from that is none of this package's own."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status.

    0 fine, 1 findings or refusals, 2 bad use or bad input, 3 a defect of this program; 128 and a signal's number where
    that signal ended it, 141 where its output has no reader any more.
    """
    arguments = sys.argv[1:] if argv is None else list(argv)
    SETTINGS.clear()
    streams.complete()
    with remembered(), streams.own():
        try:
            with signals.raised():
                status = _run(arguments)
                click.echo(nl=False)  # a full disk may show only here
                return status
        except signals.Ended as ended:
            return _interrupted(arguments, ended)
        except (click.Abort, KeyboardInterrupt) as error:
            return _fail(arguments, "interrupted", f"interrupted; {_done()}{_noted(error)}", INTERRUPTED)
        except BrokenPipeError:
            streams.drop(sys.stdout)
            return NO_READER
        except Exception as error:
            signal = _behind(error)
            return _explain(error, arguments) if signal is None else _interrupted(arguments, signal)


def _behind(error: BaseException | None) -> signals.Ended | None:
    """The signal that was on its way as an exception when an error came up.

    It may come while a lock of the standard library is half taken, which then cannot be released.
    """
    while error is not None and not isinstance(error, signals.Ended):
        error = error.__context__
    return error


def _interrupted(arguments: Sequence[str], ended: signals.Ended) -> int:
    name = "" if ended.status == INTERRUPTED else f" by {ended}"
    return _fail(arguments, "interrupted", f"interrupted{name}; {_done()}{_noted(ended)}", ended.status)


def _run(arguments: Sequence[str]) -> int:
    """Parse and call; click's own way around both would take a broken pipe for status 1."""
    if VARIABLE in os.environ:  # a shell asks how a command goes on
        minuend.main(list(arguments), prog_name="minuend")
    try:
        with minuend.make_context("minuend", list(arguments)) as ctx:
            return int(minuend.invoke(ctx) or FINE)
    except click.exceptions.Exit as done:
        return done.exit_code


def _explain(error: Exception, arguments: Sequence[str]) -> int:
    """Say what went wrong, and return the status."""
    fail = partial(_fail, arguments)
    match error:
        case click.UsageError():
            command = "minuend" if error.ctx is None else error.ctx.command_path
            return fail("bad-use", f"{error.format_message()} ({command} --help shows the options)", BAD_USE)
        case OverflowFound():
            return fail("overflow", str(error), FINDINGS)
        case MinuendError():
            return fail("bad-input", str(error), BAD_USE, done=True)
        case OSError():
            return fail("system", f"{_system_error(error)}{_noted(error)}", BAD_USE, done=True)
        case MemoryError():
            return fail("system", f"there is not enough memory for this{_noted(error)}", BAD_USE, done=True)
        case RecursionError():
            return fail("bad-input", "the input nests deeper than this program can follow", BAD_USE, done=True)
        case ModuleNotFoundError() if error.name and not error.name.startswith("minuend"):
            package = error.name.partition(".")[0]
            return fail("missing-package", f"this needs the package {package!r}, which is not installed", BAD_USE)
    if os.environ.get(TRACEBACK):
        click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return fail(
        "defect",
        f"this is a defect of {tool()}: {cut(message, 300)}\n"
        f"please report it, with the command: minuend {cut(shell_words(arguments), 1000)}\n"
        f"{TRACEBACK}=1 shows where it happened; {_done()}{_noted(error)}",
        DEFECT,
    )


def _system_error(error: OSError) -> str:
    """Name the file, or standard output where that is what cannot be written."""
    place = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) and error.filename else ""
    if any(frame.filename == click.utils.__file__ for frame in traceback.extract_tb(error.__traceback__)):
        streams.drop(sys.stdout)
        place = "standard output: "
    return f"{place}{error.strerror}" if error.strerror else str(error)


def _noted(error: BaseException) -> str:
    """Say what was noted of an error on its way: what is left of the work."""
    return "".join(f"; {note}" for note in getattr(error, "__notes__", ()))


def _done() -> str:
    """Say what was written before something went wrong."""
    found = written()
    return f"{listed(found, 'and')} {'was' if len(found) == 1 else 'were'} written" if found else "nothing was written"


def _fail(arguments: Sequence[str], kind: str, message: str, status: int, *, done: bool = False) -> int:
    """Say what went wrong on standard error, and with --json on standard output in JSON too."""
    if done and written():
        message = f"{message}; {_done()}"
    if _wants_json(arguments):
        try:
            show_json({"error": {"kind": kind, "message": readable(message)}})
            sys.stdout.flush()
        except OSError:  # it cannot be written to, which may be the error
            streams.drop(sys.stdout)
    try:
        complain(message)
    except OSError:  # there is no reader
        streams.drop(sys.stderr)
    return status


def _wants_json(arguments: Sequence[str]) -> bool:
    """Whether a command line asks for JSON, be it one that cannot be parsed."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from minuend import _native  # slow

        click.echo(tool())
        click.echo(f"kernel: {_native.get_instruction_set()}, of {', '.join(_native.built_instruction_sets())}")
        ctx.exit()


_VERBS = {
    "arrays": "sub",
    "beginning": "init",
    "checking": "check",
    "completion": "completion",
    "deltas": "delta",
    "demo": "demo",
    "models": "convert fix run",
    "runtimes": "measure prove targets vectors",
    "schemas": "schema",
    "standards": "diff spec",
}
"""The verbs of each module, which is imported when one of them is called, or help shows them all."""


@click.group(
    cls=Verbs,
    commands=Imported(
        {name: f"minuend.cli.{module}:{name}" for module, names in _VERBS.items() for name in names.split()}
    ),
    sections={
        "Models": ("check", "fix", "convert", "run"),
        "Arrays and files": ("sub", "delta"),
        "Runtimes": ("targets", "prove", "measure", "vectors"),
        "Standards": ("spec", "diff", "schema"),
        "To begin": ("demo", "init", "completion"),
    },
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show it.")
@click.pass_context
def minuend(ctx: click.Context) -> None:
    """Element-wise subtraction as ONNX, OpenVINO and DirectML define it.

    Exit status: 0 fine, 1 findings or refusals, 2 bad use or bad input, 3 a defect of this program.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
