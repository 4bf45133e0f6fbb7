"""The verb for files of arrays: ``sub``."""

from __future__ import annotations

import contextlib

import click

from minuend.cli import options
from minuend.cli.arguments import number, output, path
from minuend.cli.printing import report
from minuend.cli.progress import Bar
from minuend.cli.verbs import Verb
from minuend.core.policies import POLICIES, Overflow


@click.command(
    cls=Verb,
    examples=("sub nir.npy red.npy", "sub scene.tif::4 scene.tif::3 --overflow widen -o difference.tif"),
    page="docs/arrays.md",
)
@click.argument("a", type=path)
@click.argument("b", type=path)
@options.output("OUT", "The file to write; without it nothing is written.", required=False)
@click.option("--overflow", type=click.Choice(POLICIES), help="What integers do that do not fit (default: wrap).")
@click.option("--as", "rules", metavar="RULES", help="Whose rules: onnx:13, onnx:6,axis=1,broadcast=1, openvino:pdpd …")
@click.option("--plot", type=output, metavar="FILE.png", help="Draw what -o writes: a line, an image or its channels.")
@click.option(
    "--nodata", type=number, metavar="VALUE", help="What elements without data hold, if a file does not say: 0, nan …"
)
@click.option("--common", is_flag=True, help="Subtract the tensors that both files name, skip the others.")
@click.option("--resume", is_flag=True, help="Go on where an interrupted run has stopped (OUT.zarr).")
@click.option("--scheduler", metavar="ADDRESS", help="Compute on the Dask cluster with this scheduler (OUT.zarr).")
@options.as_json
def sub(
    *,
    a: str,
    b: str,
    out: str | None,
    overflow: Overflow | None,
    rules: str | None,
    plot: str | None,
    common: bool,
    nodata: int | float | None,
    resume: bool,
    scheduler: str | None,
    as_json: bool,
) -> None:
    """Subtract the tensors in file B from those in file A.

    Files: .npy, .npz, .safetensors (a sharded checkpoint by its folder or index), .zarr, .tif, .png, .h5, .nc,
    TensorProto in .pb, and to read from the constants of models, .onnx and .xml; or addresses that fsspec knows, such
    as s3://bucket/a.npy. file.npz::name selects one tensor of several. Tensors go together by name where both files
    name them. Without -o the overflow policies are shown side by side.
    """
    from minuend.cli.pages.difference import compare_page, sub_json, sub_page
    from minuend.cli.plots import plotted
    from minuend.cli.rules import parse_rules
    from minuend.files.difference import SubReport, subtract_files
    from minuend.files.policy_comparison import CompareReport, compare_files
    from minuend.files.streaming.chunked_write import refuse
    from minuend.files.streaming.pipeline import sole
    from minuend.files.tensor_pairs import Rules

    if plot is not None and out is None:
        raise click.UsageError("--plot draws the difference that -o writes; expected -o OUT beside it")
    chosen = Rules() if rules is None else Rules(*parse_rules(rules))
    done: SubReport | CompareReport
    with sole(), Bar(nbytes=True) as bar:
        if out is None:
            refuse(resume=resume, scheduler=scheduler)
            done = compare_files(a, b, rules=chosen, overflow=overflow, common=common, nodata=nodata, progress=bar)
        else:
            policy: Overflow = overflow or "wrap"
            with plotted(plot, a, b, out, policy) if plot is not None else contextlib.nullcontext() as watch:
                done = subtract_files(
                    a,
                    b,
                    out,
                    rules=chosen,
                    overflow=policy,
                    common=common,
                    nodata=nodata,
                    progress=bar,
                    watch=watch,
                    resume=resume,
                    scheduler=scheduler,
                )
    report(
        as_json,
        lambda: sub_json(done, plot),
        lambda: sub_page(done, plot) if isinstance(done, SubReport) else compare_page(done),
    )
