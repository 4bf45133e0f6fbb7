"""LiteRT, TensorFlow Lite's successor, on the CPU. Stands alone: a worker loads it where minuend is not installed.

It is queried with operands that are not quantised, through its default delegate (XNNPACK); the adjacent files
query it without the delegate, and with quantised operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

NAME = "litert"
PACKAGE = "ai-edge-litert"
ALIASES = ("tflite",)
DIALECTS = ("openvino",)
JOINS = False
ARRAYS = True
CONSTANTS = ("none",)
RULES = ("numpy",)
INSTEAD = "convert the model to ONNX (tf2onnx --tflite), and check that on what is to run it"


_QUANTISED = ("int8", "uint8", "int16")


def prepare(head: dict[str, Any], model: bytes, weights: bytes) -> Callable[[list[Any]], list[Any]]:
    """Return what subtracts arrays through the delegate."""
    return subtracting()


def subtracting(delegate: bool = True, quantised: bool = False) -> Callable[[list[Any]], list[Any]]:
    """Return what subtracts arrays; a model of one SUB is made for each pair."""
    import numpy as np
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    options = {} if delegate else {"experimental_op_resolver_type": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES}

    def subtract(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[str, tuple[int, ...], bytes]:
        _, dtype, shape_a, data_a = a
        _, _, shape_b, data_b = b
        content = _model(dtype, shape_a, shape_b, list(np.broadcast_shapes(shape_a, shape_b)), quantised)
        interpreter = Interpreter(model_content=content, num_threads=1, **options)
        interpreter.allocate_tensors()
        for details, shape, data in zip(
            interpreter.get_input_details(), (shape_a, shape_b), (data_a, data_b), strict=True
        ):
            array = np.frombuffer(data, details["dtype"]).reshape(shape)
            interpreter.set_tensor(details["index"], (array ^ 8) - 8 if dtype == "int4" else array)  # it wants the sign
        interpreter.invoke()
        found = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        codes = found & 15 if dtype == "int4" else found
        return dtype, found.shape, codes.tobytes()  # narrow types are in arrays of 8-bit ones

    def run(inputs: list[Any]) -> list[Any]:
        return [subtract(a, b) for a, b in zip(inputs[::2], inputs[1::2], strict=True)]

    return run


def _model(dtype: str, a: list[int], b: list[int], result: list[int], quantised: bool) -> bytes:
    """A model of one SUB, as the bytes of a flatbuffer; quantised numbers are of a scale of 1 and a zero point of 0."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    kind = getattr(schema.TensorType, dtype.upper(), None)
    if kind is None:
        raise TypeError(f"LiteRT has no type {dtype}")
    if quantised and dtype not in _QUANTISED:
        raise TypeError(f"LiteRT quantises {', '.join(_QUANTISED)} alone, not {dtype}")
    graph = schema.SubGraphT()
    graph.tensors = []
    for name, shape in (("a", a), ("b", b), ("c", result)):
        tensor = schema.TensorT()
        tensor.name, tensor.type, tensor.shape, tensor.buffer = name, kind, shape, 0
        if quantised:
            tensor.quantization = schema.QuantizationParametersT()
            tensor.quantization.scale, tensor.quantization.zeroPoint = [1.0], [0]
        graph.tensors.append(tensor)
    node = schema.OperatorT()
    node.opcodeIndex, node.inputs, node.outputs = 0, [0, 1], [2]
    node.builtinOptionsType, node.builtinOptions = schema.BuiltinOptions.SubOptions, schema.SubOptionsT()
    graph.inputs, graph.outputs, graph.operators = [0, 1], [2], [node]
    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.SUB
    whole = schema.ModelT()
    whole.version, whole.operatorCodes, whole.subgraphs, whole.buffers = 3, [code], [graph], [schema.BufferT()]
    builder = flatbuffers.Builder(256)
    builder.Finish(whole.Pack(builder), b"TFL3")
    return bytes(builder.Output())
