"""Across modules: environment variables are obeyed, or refused when the package is imported."""

import os
import subprocess
import sys

import pytest

from minuend import _native


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_minuend_num_threads_sets_the_number_of_threads():
    done = run("import minuend; print(minuend.get_num_threads())", MINUEND_NUM_THREADS="3")
    assert (done.stdout, done.stderr) == ("3\n", "")


@pytest.mark.parametrize("value", ["x", "0", "-1", "4097", "2 "])
def test_another_minuend_num_threads_is_an_error_before_anything_is_computed(value):
    done = run("import minuend; minuend.subtract", MINUEND_NUM_THREADS=value)
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: MINUEND_NUM_THREADS is '{value}'; expected a number from 1 to 4096"
    )


@pytest.mark.parametrize("isa", _native.instruction_sets())
def test_minuend_isa_chooses_the_instruction_set(isa):
    done = run("from minuend import _native; print(_native.get_instruction_set())", MINUEND_ISA=isa)
    assert (done.stdout, done.stderr) == (f"{isa}\n", "")


def test_the_variable_s_name_before_is_read_as_well():
    done = run("from minuend import _native; print(_native.get_instruction_set())", MINUEND_TARGET="baseline")
    assert (done.stdout, done.stderr) == ("baseline\n", "")


def test_an_instruction_set_that_the_cpu_does_not_run_is_an_import_error():
    done = run("import minuend; minuend.subtract", MINUEND_ISA="sse9")
    best = _native.instruction_sets()[-1]
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: MINUEND_ISA is 'sse9', an instruction set that this CPU does not run; the best is '{best}'"
    )


@pytest.mark.parametrize("n", [0, -1, 4097])
def test_set_num_threads_refuses_what_is_no_number_of_threads(n):
    with pytest.raises(ValueError, match="threads") as caught:
        _native.set_num_threads(n)
    assert str(caught.value) == f"the number of threads is {n}; expected 1 to 4096"


def test_set_instruction_set_refuses_one_that_the_cpu_does_not_run():
    with pytest.raises(ValueError, match="instruction set") as caught:
        _native.set_instruction_set("sse9")
    assert str(caught.value) == "this CPU does not run the instruction set 'sse9'"


def test_import_brings_in_nothing_optional():
    code = (
        "import sys, minuend; "
        "print(sorted({'onnx', 'openvino', 'onnxruntime', 'torch', 'safetensors', 'dask', 'rich', 'click'}"
        " & set(sys.modules)))"
    )
    assert run(code).stdout == "[]\n"
