"""Across modules: the public names; nobody adds or loses one unawares."""

import importlib

import pytest

import minuend as mn


def test_the_public_names_are_these():
    assert mn.__all__ == sorted(mn.__all__, key=lambda name: (name.lower() == name, name))
    assert all(hasattr(mn, name) for name in mn.__all__)
    assert dir(mn) == sorted(mn.__all__)
    assert set(mn.__all__) == {
        "ConversionRefused",
        "DTypeError",
        "FileFormatError",
        "MinuendError",
        "OverflowFound",
        "ScalarRangeError",
        "ShapeError",
        "SpecError",
        "TensorType",
        "Unsupported",
        "check",
        "clear_cache",
        "convert",
        "count_overflows",
        "diff",
        "directml",
        "fix",
        "get_num_threads",
        "infer",
        "onnx",
        "openvino",
        "prove",
        "run",
        "set_cache_limit",
        "set_num_threads",
        "spec",
        "subtract",
    }


def test_a_public_function_stays_one_after_its_module_was_imported():
    for name in mn.__all__:
        if (module := getattr(getattr(mn, name), "__module__", None)) and module.startswith("minuend."):
            importlib.import_module(module)
    assert mn.spec("onnx", 13).version == 13
    assert callable(mn.diff)
    assert callable(mn.infer)


def test_operators_that_there_are_no_functions_for_yet_are_named():
    for name in ("add", "multiply", "divide", "negative"):
        with pytest.raises(AttributeError) as caught:
            getattr(mn, name)
        assert str(caught.value) == (
            f"minuend {mn.__version__} has no {name!r}: it computes subtraction alone (minuend.subtract)"
        )
    assert not hasattr(mn, "power")
