"""``minuend sub`` as a person calls it."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest
from command_line import minuend, run


@pytest.mark.usefixtures("files")
def test_the_difference_is_written_and_reported(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capfd, "sub", "a.npy", "b.npy", "-o", "o.npy", "--overflow", "widen")
    assert (status, err, np.load("o.npy").tolist()) == (0, "", [-5, 100, 0])
    assert out.splitlines()[:4] == [
        "a.npy − b.npy → o.npy",
        "uint8 (3,), 3 elements",
        "overflow: widen, 1 difference (33.3 %) does not fit uint8",
        "lowest -5, highest 100",
    ]


@pytest.mark.usefixtures("files")
def test_json_reports_both_jobs(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capfd, "sub", "a.npy", "b.npy", "-o", "o.npz", "--json")
    report = json.loads(out)
    assert (status, report["version"], report["out"], report["overflow"]) == (0, 1, "o.npz", "wrap")
    assert report["tensors"] == [
        {
            "name": "difference",
            "element": "uint8",
            "a_shape": [3],
            "b_shape": [3],
            "result": "uint8",
            "shape": [3],
            "elements": 3,
            "overflowed": 1,
            "low": 0,
            "high": 251,
            "nans": None,
            "nodata": None,
        }
    ]
    status, out, _ = run(capfd, "sub", "a.npy", "b.npy", "--json")
    (tensor,) = json.loads(out)["tensors"]
    assert (tensor["overflowed"], tensor["first"]) == (1, [[0], 5, 10])
    assert [(row["policy"], row["element"], row["low"], row["high"]) for row in tensor["answers"]] == [
        ("wrap", "uint8", 0, 251),
        ("saturate", "uint8", 0, 100),
        ("widen", "int16", -5, 100),
    ]


@pytest.mark.usefixtures("files")
def test_rules_decide_how_shapes_join(capfd: pytest.CaptureFixture[str]) -> None:
    np.save("x.npy", np.zeros((2, 3), np.float32))
    np.save("y.npy", np.array([1, 2], np.float32))
    assert run(capfd, "sub", "x.npy", "y.npy")[0] == 2
    for rules in ("openvino:pdpd,axis=0", "openvino:1,auto_broadcast=PDPD,axis=0", "onnx:6,axis=0,broadcast=1"):
        assert run(capfd, "sub", "x.npy", "y.npy", "-o", "o.npy", "--as", rules)[0] == 0
        assert np.load("o.npy").tolist() == [[-1] * 3, [-2] * 3]


@pytest.mark.usefixtures("files")
def test_a_comparison_of_npy_files_imports_no_optional_package() -> None:
    code = (
        "import sys; from minuend.cli.program import main; status = main(); "
        "raise SystemExit(status or len({'onnx', 'safetensors', 'openvino', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run(minuend("sub", "a.npy", "b.npy", code=code), capture_output=True, check=False, timeout=60)
    assert done.returncode == 0


@pytest.mark.usefixtures("files")
def test_nodata_is_a_number_that_the_report_tells(capfd: pytest.CaptureFixture[str]) -> None:
    for out in ([], ["-o", "o.npy"]):
        status, told, err = run(capfd, "sub", "f.npy", "f.npy", *out, "--nodata", "nan", "--json")
        assert (status, err, json.loads(told)["nodata"]) == (0, "", "nan")
    status, told, _ = run(capfd, "sub", "a.npy", "b.npy", "-o", "o.npy", "--nodata", "7")
    assert (status, np.load("o.npy").tolist()) == (0, [251, 100, 7])
    assert "lowest 100, highest 251, 1 nodata" in told
    assert run(capfd, "sub", "f.npy", "f.npy", "--nodata", "-9999.0", "--json")[0] == 0
    status, _, err = run(capfd, "sub", "a.npy", "b.npy", "--nodata", "none")
    assert status == 2
    assert err == (
        "error: Invalid value for '--nodata': 'none' is no number; expected one such as 0, -9999, 1e20 or nan "
        "(minuend sub --help shows the options)\n"
    )
