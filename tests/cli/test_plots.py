"""``--plot``: the difference as a picture, read back pixel by pixel."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import minuend, run

matplotlib = pytest.importorskip("matplotlib")
from matplotlib.colors import to_rgb  # noqa: E402
from matplotlib.image import imread  # noqa: E402

from minuend.cli import plots  # noqa: E402
from minuend.files.streaming import regions  # noqa: E402

pytestmark = pytest.mark.usefixtures("files")


def plot(capfd: pytest.CaptureFixture[str], a: np.ndarray, b: np.ndarray, *options: str) -> np.ndarray:
    np.save("x.npy", a)
    np.save("y.npy", b)
    status, out, err = run(capfd, "sub", "x.npy", "y.npy", "-o", "o.npy", "--plot", "p.png", *options)
    assert (status, err) == (0, "")
    assert "drawn in p.png\n" in out
    return imread("p.png")[..., :3]


def share(image: np.ndarray, colour: str) -> float:
    """Which part of a picture has a colour."""
    return float((np.abs(image - to_rgb(colour)).max(axis=-1) < 0.02).mean())


@pytest.mark.parametrize("block", [64, 1 << 23])
def test_colours_diverge_around_0_and_overflow_is_marked(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(regions, "BLOCK_BYTES", block)
    a = np.full((40, 60), 10, np.uint8)
    a[:, :15], a[:10, 30:] = 60, 9
    image = plot(capfd, a, np.full(60, 10, np.uint8))
    assert share(image, plots.ABOVE) > 0.1
    assert share(image, plots.BELOW) < 0.01
    assert share(image, plots.OVERFLOW) > 0.05
    assert share(image, plots.COLOURS[2]) > 0.1
    assert share(image, plots.NOTHING) < 0.001
    image = plot(capfd, a, np.full(60, 10, np.uint8), "--overflow", "widen")
    assert share(image, plots.OVERFLOW) == 0


def test_one_element_of_millions_is_seen(capfd: pytest.CaptureFixture[str]) -> None:
    a = np.zeros((2000, 3000), np.float32)
    empty = plot(capfd, a, np.zeros((), np.float32))
    a[1234, 2345] = -1e-3
    assert share(plot(capfd, a, np.zeros((), np.float32)), plots.BELOW) > share(empty, plots.BELOW)


def test_nan_is_grey_and_infinity_has_the_last_colour(capfd: pytest.CaptureFixture[str]) -> None:
    a = np.ones((30, 30), np.float32)
    a[:10], a[20:] = np.nan, -np.inf
    image = plot(capfd, a, np.zeros((), np.float32))
    assert share(image, plots.NOTHING) > 0.1
    assert share(image, plots.BELOW) > 0.1
    assert share(image, plots.ABOVE) > 0.1


@pytest.mark.parametrize("shape", [(50,), (1, 4000), (5, 7, 3), (4, 5, 7), (9000, 2), (1, 1, 3)], ids=str)
@pytest.mark.parametrize("value", [0, 3])
def test_every_shape_that_is_taken_is_drawn(
    capfd: pytest.CaptureFixture[str], shape: tuple[int, ...], value: int
) -> None:
    image = plot(capfd, np.zeros(shape, np.uint8), np.full(shape, value, np.uint8))
    assert (share(image, plots.OVERFLOW) > 0.001) == (value > 0)


def test_a_line_shows_its_gaps_and_its_infinities(capfd: pytest.CaptureFixture[str]) -> None:
    a = np.ones(100, np.float32)
    a[20:60], a[70] = np.nan, np.inf
    image = plot(capfd, a, np.zeros((), np.float32))
    assert share(image, plots.NOTHING) > 0.005


@pytest.mark.parametrize("name", ["a$b$", "日本", "\udcff", "two\nlines", "%s{0}\\frac", "long" * 50], ids=ascii)
def test_any_name_is_a_title(capfd: pytest.CaptureFixture[str], name: str) -> None:
    np.save(f"{name}.npy", np.eye(3, dtype=np.float32))
    status, _, err = run(capfd, "sub", f"{name}.npy", f"{name}.npy", "-o", "o.npy", "--plot", "p.png")
    assert (status, err) == (0, "")


@pytest.mark.parametrize("dtype", ["float16", "int64", "uint64", "float64"])
def test_other_types_are_drawn(capfd: pytest.CaptureFixture[str], dtype: str) -> None:
    a = np.arange(12).reshape(3, 4).astype(dtype)
    assert share(plot(capfd, a, np.array(1, dtype)), plots.ABOVE) > 0.01


def test_json_names_the_picture(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capfd, "sub", "f.npy", "f.npy", "-o", "o.npy", "--plot", "p.png", "--json")
    assert (status, json.loads(out)["plot"]) == (0, "p.png")


@pytest.mark.parametrize(
    ("argv", "error"),
    [
        ("sub a.npy b.npy --plot p.png", "--plot draws the difference that -o writes; expected -o OUT beside it"),
        ("sub a.npy b.npy -o o.npy --plot p.svg", "p.svg is drawn as PNG; expected a name that ends in .png"),
        ("sub a.npy b.npy -o p.png --plot ./p.png", "the outputs p.png and ./p.png are one file; nothing is written"),
        ("sub a.npy b.npy -o o.npy --plot no/p.png", "there is no folder no to write p.png to"),
        ("sub t.npz t.npz -o o.npz --plot p.png", "p.png shows one tensor and there are 2; select one by file::name"),
        ("sub c.npy c.npy -o o.npy --plot p.png", "a difference of shape (5, 6, 7) is not drawn; expected a line"),
        ("sub a.png b.npy -o o.npy --plot a.png", "the output a.png is also an input; nothing is overwritten"),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_anything_is_written(
    capfd: pytest.CaptureFixture[str], argv: str, error: str
) -> None:
    np.savez("t.npz", x=np.ones(3), y=np.ones(3))
    np.save("c.npy", np.ones((5, 6, 7)))
    Path("a.png").write_bytes(b"x")
    before = sorted(Path().iterdir())
    status, _, err = run(capfd, *argv.split())
    assert (status, err.startswith(f"error: {error}")) == (2, True), err
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize("old", [False, True])
def test_where_the_picture_cannot_be_written_nothing_is(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, old: bool
) -> None:
    for goal in ("o.npy", "p.png") if old else ():
        Path(goal).write_text("old")
    before = {path: path.read_bytes() for path in Path().iterdir()}

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "p.png")

    monkeypatch.setattr(plots, "draw", full)
    status, _, err = run(capfd, "sub", "a.npy", "b.npy", "-o", "o.npy", "--plot", "p.png")
    assert (status, err) == (2, "error: p.png: No space left on device\n")
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_an_overflow_that_is_an_error_leaves_no_picture(capfd: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capfd, "sub", "a.npy", "b.npy", "-o", "o.npy", "--overflow", "error", "--plot", "p.png")
    assert (status, err.startswith("error: 1 of 3 differences")) == (1, True)
    assert not Path("p.png").exists()


def test_without_matplotlib_the_extra_is_named_before_anything_is_written() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None; from minuend.cli.program import main; raise SystemExit(main())"
    )
    done = subprocess.run(
        minuend("sub", "a.npy", "b.npy", "-o", "o.npy", "--plot", "p.png", code=code),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (
        2,
        "error: p.png needs the package 'matplotlib': pip install \"minuend[plot]\"\n",
    )
    assert not Path("o.npy").exists()


def test_without_a_plot_matplotlib_is_not_imported() -> None:
    code = (
        "import sys; from minuend.cli.program import main; status = main(); "
        "raise SystemExit(status or 'matplotlib' in sys.modules)"
    )
    done = subprocess.run(minuend("sub", "a.npy", "b.npy", "-o", "o.npy", code=code), check=False, timeout=60)
    assert (done.returncode, sys.modules.get("matplotlib") is None) == (0, False)


def test_the_caption_says_what_a_pixel_is() -> None:
    from minuend.core.elements import TYPES
    from minuend.core.shapes import numpy as join
    from minuend.files.picture import Picture

    def caption(shape: tuple[int, ...], a: int, b: int) -> str:
        picture = Picture(TYPES["uint8"], shape, join(shape, shape), "wrap", nodata=7)
        x, y = np.full(shape, a, np.uint8), np.full(shape, b, np.uint8)
        picture.add(regions.whole(shape), x, y, x - y)
        return plots.caption(picture)

    assert caption((3, 4), 9, 4) == "from 5 to 5"
    assert caption((3, 4), 9, 2) == "grey: no number"
    assert caption((3, 4), 2, 4) == "yellow: elements do not fit uint8"
    assert caption((600, 1200), 9, 4) == "from 5 to 5; each pixel is the difference farthest from 0 of 3 × 3 elements"
    assert caption((600, 1200), 2, 4) == (
        "each pixel is the difference farthest from 0 of 3 × 3 elements; yellow: some of its elements do not fit uint8"
    )
    assert caption((5000,), 9, 4) == "from 5 to 5; lowest and highest of every 10 elements"
