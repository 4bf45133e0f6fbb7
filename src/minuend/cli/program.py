"""The command line: parse, call one function, print what :mod:`minuend.cli.pages` returns."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, cast

import click

from minuend.cli import signals
from minuend.cli.arguments import path
from minuend.cli.models import convert, run
from minuend.cli.rewriting import fix
from minuend.core.policies import POLICIES, Overflow
from minuend.errors import MinuendError, OverflowFound, SpecError, cut, listed, readable, shown
from minuend.standards.dialects import Dialect, dialect, dialects
from minuend.standards.version import Attr, OpVersion, diff
from minuend.text import whole_number
from minuend.written import remembered, written

FINE, FINDINGS, BAD_USE, DEFECT, INTERRUPTED, NO_READER = 0, 1, 2, 3, 130, 141

TRACEBACK = "MINUEND_TRACEBACK"
"""The environment variable that shows where an error comes from that is none of this package's own."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status.

    0 fine, 1 findings or refusals, 2 bad use or bad input, 3 a defect of this program; 128 and a signal's number where
    that signal ended it, 141 where nobody reads its output any more.
    """
    arguments = sys.argv[1:] if argv is None else list(argv)
    _complete_streams()
    with remembered():
        try:
            with signals.raised():
                status = _run(arguments)
                click.echo(nl=False)  # a full disk may show only here
                return status
        except signals.Ended as ended:
            name = "" if ended.status == INTERRUPTED else f" by {ended}"
            return _fail(f"interrupted{name}; {_done()}", ended.status)
        except (click.Abort, KeyboardInterrupt):
            return _fail(f"interrupted; {_done()}", INTERRUPTED)
        except BrokenPipeError:
            _drop(sys.stdout)
            return NO_READER
        except Exception as error:
            return _explain(error, arguments)


def _run(arguments: Sequence[str]) -> int:
    """Parse and call; click's own way around both would take a broken pipe for status 1."""
    if "_MINUEND_COMPLETE" in os.environ:  # a shell asks how a command goes on
        minuend.main(list(arguments), prog_name="minuend")
    try:
        with minuend.make_context("minuend", list(arguments)) as ctx:
            return int(minuend.invoke(ctx) or FINE)
    except click.exceptions.Exit as done:
        return done.exit_code


def _explain(error: Exception, arguments: Sequence[str]) -> int:
    """Say what went wrong, and return the status."""
    match error:
        case click.UsageError():
            command = "minuend" if error.ctx is None else error.ctx.command_path
            return _fail(f"{error.format_message()} ({command} --help shows the options)", BAD_USE)
        case OverflowFound():
            return _fail(str(error), FINDINGS)
        case MinuendError():
            return _fail(str(error), BAD_USE, done=True)
        case OSError():
            return _fail(_system_error(error), BAD_USE, done=True)
        case MemoryError():
            return _fail("there is not enough memory for this", BAD_USE, done=True)
        case RecursionError():
            return _fail("the input nests deeper than this program can follow", BAD_USE, done=True)
        case ModuleNotFoundError() if error.name and not error.name.startswith("minuend"):
            return _fail(f"this needs the package {error.name.partition('.')[0]!r}, which is not installed", BAD_USE)
    if os.environ.get(TRACEBACK):
        click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
    told = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return _fail(
        f"this is a defect of minuend {_version()}: {cut(told, 300)}\n"
        f"please report it, with the command: minuend {cut(shlex.join(arguments), 1000)}\n"
        f"{TRACEBACK}=1 shows where it happened; {_done()}",
        DEFECT,
    )


def _system_error(error: OSError) -> str:
    """Name the file, or standard output where that is what cannot be written."""
    place = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) and error.filename else ""
    if any(frame.filename == click.utils.__file__ for frame in traceback.extract_tb(error.__traceback__)):
        _drop(sys.stdout)
        place = "standard output: "
    return f"{place}{error.strerror}" if error.strerror else str(error)


def _done() -> str:
    """Say what was written before something went wrong."""
    found = written()
    return f"{listed(found, 'and')} {'was' if len(found) == 1 else 'were'} written" if found else "nothing was written"


def _fail(message: str, status: int, *, done: bool = False) -> int:
    if done and written():
        message = f"{message}; {_done()}"
    try:
        click.echo(f"error: {readable(message)}", err=True)
    except OSError:  # nobody can be told
        _drop(sys.stderr)
    return status


def _complete_streams() -> None:
    """Make standard streams that can be written to.

    One that was closed (``>&-``) is replaced by one that keeps nothing: else the next file to be opened would get its
    number, and with it what libraries print. Characters that a stream cannot hold are escaped.
    """
    for name in ("stdin", "stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            number = os.open(os.devnull, os.O_RDWR)  # the lowest that is free: the closed stream's own
            setattr(sys, name, os.fdopen(number, "r" if name == "stdin" else "w", closefd=False, encoding="utf-8"))
        elif isinstance(stream, io.TextIOWrapper) and name != "stdin":
            stream.reconfigure(errors="backslashreplace")


def _drop(stream: Any) -> None:
    """Let go of what a stream could not write, or the interpreter would try it again at its end and complain."""
    with contextlib.suppress(OSError, ValueError):
        number = stream.fileno()
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, number)
        os.close(nothing)
        stream.flush()


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("minuend")
    except PackageNotFoundError:
        return "(not installed)"


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(f"minuend {_version()}")
        ctx.exit()


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show it.")
@click.pass_context
def minuend(ctx: click.Context) -> None:
    """Element-wise subtraction as ONNX, OpenVINO and DirectML define it.

    Exit status: 0 fine, 1 findings or refusals, 2 bad use or bad input, 3 a defect of this program.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


# ---- sub ------------------------------------------------------------------------------------------------------


@minuend.command()
@click.argument("a", type=path)
@click.argument("b", type=path)
@click.option(
    "-o", "--output", "out", type=path, metavar="OUT", help="The file to write; without it nothing is written."
)
@click.option("--overflow", type=click.Choice(POLICIES), help="What integers do that do not fit (default: wrap).")
@click.option("--as", "rules", metavar="RULES", help="Whose rules: onnx:13, onnx:6,axis=1,broadcast=1, openvino:pdpd …")
@click.option("--count", is_flag=True, help="Count the differences that overflow.")
@click.option("--common", is_flag=True, help="Subtract the tensors that both files name, skip the others.")
@click.option("--json", "as_json", is_flag=True, help="Report in JSON.")
def sub(
    *,
    a: str,
    b: str,
    out: str | None,
    overflow: Overflow | None,
    rules: str | None,
    count: bool,
    common: bool,
    as_json: bool,
) -> None:
    """Subtract the tensors in file B from those in file A.

    Files: .npy, .npz, .safetensors, and TensorProto in .pb; file.npz::name selects one tensor of several. Tensors go
    together by name where both files name them. Without -o the overflow policies are shown side by side, always
    with counts.
    """
    from minuend.actions.difference import Rules, compare_files, subtract_files
    from minuend.cli import pages

    chosen = Rules() if rules is None else Rules(*parse_rules(rules))
    with _Bar() as bar:
        if out is None:
            found = compare_files(a, b, rules=chosen, overflow=overflow, common=common, progress=bar)
        else:
            done = subtract_files(
                a, b, out, rules=chosen, overflow=overflow or "wrap", count=count, common=common, progress=bar
            )
    if as_json:
        click.echo(pages.sub_json(found if out is None else done, f"minuend {_version()}"), nl=False)
    else:
        _print(pages.compare_page(found) if out is None else pages.sub_page(done))


def parse_rules(text: str) -> tuple[OpVersion, dict[str, Any]]:
    """Read ``DIALECT[:VERSION][,NAME=VALUE]…``; a bare word is the value of the attribute that has it.

    Raises:
        SpecError: no such dialect, version, attribute or value.

    >>> op, attributes = parse_rules("openvino:pdpd,axis=1")
    >>> str(op), attributes
    ('Subtract-1', {'auto_broadcast': 'pdpd', 'axis': 1})
    """
    from minuend.standards.validation import check_attributes

    name, colon, rest = text.partition(":")
    home = dialect(name)
    items = rest.split(",") if colon else []
    version = items.pop(0) if items and _is_version(home, items[0]) else None
    op = home.resolve(version)
    attributes: dict[str, Any] = {}
    for item in items:
        key, value = _parse_item(op, home, item)
        if key in attributes:
            raise SpecError("attributes", "", f"--as {text} states {key!r} twice; state it once")
        attributes[key] = value
    check_attributes(op, attributes)
    return op, attributes


def _is_version(home: Dialect, word: str) -> bool:
    """Whether a first item is a version: neither name=value nor the value of an attribute."""
    values = [value for version in home.versions for attr in version.attributes for value in attr.values]
    return "=" not in word and word.lower() not in values


def _parse_item(op: OpVersion, home: Dialect, item: str) -> tuple[str, Any]:
    from minuend.standards.validation import check_attributes

    key, equals, value = item.partition("=")
    if equals:
        check_attributes(op, {key: None} if key not in op.attributes.names else {})
        return key, _parse_value(op, op.attributes[key], value)
    for attr in op.attributes:
        if item.lower() in attr.values:
            return attr.name, item
    words = [value for attr in op.attributes for value in attr.values if isinstance(value, str)]
    expected = listed([f"the {home.counted} in first place", "NAME=VALUE", *words])
    raise SpecError("attributes", "", f"{shown(item)} says nothing to {home.title} {op}; expected {expected}")


def _parse_value(op: OpVersion, attr: Attr, value: str) -> Any:
    if attr.type == "string":
        return value
    try:
        return [whole_number(part) for part in value.split("/")] if attr.type == "INTS" else whole_number(value)
    except ValueError:
        wanted = "whole numbers with a / between them" if attr.type == "INTS" else "a whole number"
        raise SpecError(
            "attributes", "", f"attribute {attr.name!r} of {op} is {shown(value)}; expected {wanted} ({attr.type})"
        ) from None


class _Bar:
    """A progress bar on standard error, to a terminal alone, and only once the work has taken a second."""

    def __init__(self, doing: str = "subtracting") -> None:
        self._doing = doing
        self._start = time.perf_counter()
        self._shown = sys.stderr.isatty()
        self._bar: Any = None

    def __call__(self, done: int, total: int) -> None:
        if not self._shown or (self._bar is None and time.perf_counter() - self._start < 1):
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._doing, total=total)
            self._bar.start()
        self._bar.update(self._task, completed=done)

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()


# ---- spec and diff --------------------------------------------------------------------------------------------


@minuend.command()
@click.argument("version", metavar="[DIALECT[:V]]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Report in JSON.")
def spec(version: str | None, as_json: bool) -> None:
    """Show what versions of subtraction allow: all of them, a dialect's, or one.

    V is an ONNX opset, OpenVINO's 1, or a DirectML feature level such as 4.1.
    """
    from minuend.cli import pages

    if version is not None and ":" in version:
        op = _resolve(version)
        _report(pages.spec_json(op) if as_json else pages.spec_page(op))
        return
    homes = tuple(dialects().values()) if version is None else (dialect(version),)
    _report(pages.matrix_json(homes) if as_json else pages.matrix_page(homes))


@minuend.command("diff")
@click.argument("old", metavar="DIALECT:V")
@click.argument("new", metavar="DIALECT:V")
@click.option("--json", "as_json", is_flag=True, help="Report in JSON.")
def diff_command(old: str, new: str, as_json: bool) -> None:
    """Show what changed from one version of a dialect to another."""
    from minuend.cli import pages

    was, now = _resolve(old), _resolve(new)
    if was.dialect != now.dialect:
        raise SpecError(
            "dialect",
            "",
            f"{old} and {new} are of two dialects; expected two versions of one (see minuend spec)",
        )
    changes = diff(was, now)
    _report(pages.diff_json(was, now, changes) if as_json else pages.diff_page(was, now, changes))


# ---- check ----------------------------------------------------------------------------------------------------


@minuend.command()
@click.argument("model", type=path, metavar="MODEL")
@click.option(
    "--target", "targets", metavar="T[,T…]", multiple=True, required=True, help="Runtimes, as openvino-cpu@2026.4."
)
@click.option("--json", "as_json", is_flag=True, help="Report in JSON.")
@click.option("--sarif", type=path, metavar="FILE", help="Write the findings as SARIF 2.1.0 too, for code scanning.")
def check(model: str, targets: tuple[str, ...], as_json: bool, sarif: str | None) -> int:
    """Judge every subtraction of MODEL (.onnx, OpenVINO .xml, DxDispatch .json) on runtimes.

    A target without a release is its newest that was measured; minuend targets lists all. Whatever is not ok on a
    target ends with status 1: other numbers, not implemented, invalid, and unknown.
    """
    from minuend.actions.checking import check as judge
    from minuend.actions.checking import find_targets
    from minuend.cli import pages
    from minuend.models.opening import open_model

    chosen = find_targets([name for given in targets for name in given.split(",") if name])
    opened = open_model(model)
    inputs = [model, *opened.sources()]
    if sarif is not None:
        _check_goal(sarif, inputs)
    report = replace(judge(opened, chosen), title=model)
    if sarif is not None:
        _write(sarif, report.to_sarif(_version(), model).encode(), inputs)
    _report(report.to_json(f"minuend {_version()}") if as_json else pages.check_page(report))
    return FINE if report.ok else FINDINGS


def _check_goal(path: str, inputs: Sequence[str]) -> None:
    from minuend.storage.goals import check

    check([path], inputs)


def _write(path: str, data: bytes, inputs: Sequence[str]) -> None:
    from minuend.storage.writing import atomic

    with atomic(path, inputs) as stream:
        stream.write(data)


minuend.add_command(run)
minuend.add_command(convert)
minuend.add_command(fix)


# ---- what runtimes do -----------------------------------------------------------------------------------------


@minuend.command()
@click.argument("runtime")
@click.option("--quick", is_flag=True, help="Take the edges of 8-bit types in place of all 65,536 pairs.")
@click.option("--junit", type=path, metavar="FILE", help="Write a JUnit report.")
@click.option("--json", "as_json", is_flag=True, help="Report in JSON.")
def prove(runtime: str, quick: bool, junit: str | None, as_json: bool) -> int:
    """Ask an installed runtime every case, and report where it deviates from the contract.

    Deviations that were measured of the same release are known; others, and known ones that are gone, end in status 1.
    """
    from minuend.cli import pages
    from minuend.runtimes.proving import prove as prove_runtime

    if junit is not None:
        _check_goal(junit, [])
    with _Bar("asking") as bar:
        report = prove_runtime(runtime, quick=quick, progress=bar)
    if junit is not None:
        _write(junit, report.to_junit().encode(), [])
    _report(report.to_json(f"minuend {_version()}") if as_json else pages.prove_page(report))
    return FINE if report.ok else FINDINGS


@minuend.command()
@click.option("--opset", "opsets", metavar="N,…", help="ONNX opsets; by default those that changed Sub.")
@click.option(
    "-o", "--output", "out", type=path, metavar="DIR", required=True, help="The folder to make; it must not exist."
)
def vectors(opsets: str | None, out: str) -> None:
    """Write test cases for ONNX runtimes, as folders that ONNX's own test runner reads."""
    from minuend.standards.abilities import ability, able

    try:
        chosen = None if opsets is None else [whole_number(part) for part in opsets.split(",")]
    except ValueError:
        raise click.BadParameter(f"{shown(opsets)}; expected opsets with commas between them, as 6,14") from None
    with _Bar("writing") as bar:
        made = ability(next(able("vectors")), "vectors").write(out, chosen, progress=bar)
    _print([f"{len(made)} test cases written to {out}"])


@minuend.command()
@click.option("--diff", "two", nargs=2, metavar="OLD NEW", help="Show what changed from one target to another.")
@click.option("--json", "as_json", is_flag=True, help="Report in JSON.")
def targets(two: tuple[str, str] | None, as_json: bool) -> None:
    """List the runtimes whose behaviour is known, release by release, or compare two of them."""
    from minuend.cli import pages
    from minuend.runtimes import targets as known

    tool = f"minuend {_version()}"
    if two is None:
        every = [known.find(name) for name in known.names()]
        _report(pages.targets_json(every, tool) if as_json else pages.targets_page(every))
        return
    old, new = map(known.find, two)
    changes = known.diff(old, new)
    if as_json:
        _report(pages.targets_diff_json(old, new, changes, tool))
    else:
        _report(pages.targets_diff_page(old, new, changes))


def _resolve(text: str) -> OpVersion:
    name, colon, version = text.partition(":")
    return dialect(name).resolve(version if colon else None)


def _report(shown: Any) -> None:
    if isinstance(shown, str):
        click.echo(shown, nl=False)
    else:
        _print(shown)


def _print(page: Any) -> None:
    """Print a page as wide as the terminal, 80 columns into a pipe."""
    import shutil

    from minuend.cli import pages

    width = max(pages.WIDTH, shutil.get_terminal_size().columns) if sys.stdout.isatty() else pages.WIDTH
    click.echo(pages.text(cast(pages.Page, page), width), nl=False)


if __name__ == "__main__":
    sys.exit(main())
