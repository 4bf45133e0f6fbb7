"""The public names: nobody adds or loses one unawares."""

import minuend as mn


def test_the_public_names_are_these():
    assert mn.__all__ == sorted(mn.__all__, key=lambda name: (name.lower() == name, name))
    assert {name for name in vars(mn) if not name.startswith("_")} >= set(mn.__all__)
    assert set(mn.__all__) == {
        "DTypeError",
        "FileFormatError",
        "MinuendError",
        "OverflowFound",
        "ScalarRangeError",
        "ShapeError",
        "SpecError",
        "TensorType",
        "Unsupported",
        "clear_cache",
        "count_overflows",
        "diff",
        "directml",
        "get_num_threads",
        "infer",
        "onnx",
        "openvino",
        "set_cache_limit",
        "set_num_threads",
        "spec",
        "subtract",
    }
