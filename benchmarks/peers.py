"""Other libraries, each in the best form that it has for a cell.

An adapter answers with forms, statements ready to be timed, or says why its library cannot compute the cell. Where it
is not clear which of several forms is the fastest, all are given: the measurement tries them and keeps the best.
Operands are never copied: a peer that cannot take the layout does not take part. A statement is timed as it stands,
without a function around it, because a call costs as much as a small subtraction.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from benchmarks import policies
from benchmarks.operands import Array, Operands


@dataclass(frozen=True, slots=True)
class Form:
    """A statement that computes a cell.

    Attributes:
        statement: Python source. names: what it refers to.
        result: what makes a NumPy array of the statement's value, for a fresh result; elsewhere the result is in
            the operands' ``out``, whatever the value is.
    """

    statement: str
    names: Mapping[str, Any]
    result: Callable[[Any], Array] = np.asarray

    def once(self, operands: Operands) -> Array:
        """Run the statement and return the result."""
        names = dict(self.names)
        if operands.cell.memory == "fresh":
            *before, last = self.statement.split("; ")
            exec("; ".join(before), names)
            return self.result(eval(last, names))
        exec(self.statement, names)
        return operands.out


class Peer(Protocol):
    """A library that may take part."""

    name: str
    module: str

    def forms(self, operands: Operands, threads: int) -> list[Form] | str:
        """Return statements that compute the cell, or the reason why there is none."""


class Minuend:
    """What is measured."""

    name = "minuend"
    module = "minuend"

    def forms(self, operands: Operands, threads: int) -> list[Form] | str:
        import minuend

        minuend.set_num_threads(threads)
        cell = operands.cell
        if cell.function.startswith("directml"):
            return [_directml(operands)]
        given = {"fresh": "", "out": ", out=out", "in-place": ", out=a"}[cell.memory]
        policy = "" if cell.policy == "wrap" else f", overflow={cell.policy!r}"
        function = operator.attrgetter(cell.function)(minuend)
        names = {"subtract": function, "a": operands.a, "b": operands.b, "out": operands.out}
        return [Form(f"subtract(a, b{given}{policy})", names)]


def _directml(operands: Operands) -> Form:
    """DirectML's function: the descriptions are made once, as its operators are."""
    import minuend

    cell = operands.cell
    desc = minuend.directml.TensorDesc(cell.dtype, operands.a.shape)
    names = {
        "subtract": minuend.directml.element_wise_subtract,
        "desc": desc, "a": operands.a, "b": operands.b, "out": operands.out,
    }  # fmt: skip
    return Form(f"subtract(desc, desc, desc, a, b, {'a' if cell.memory == 'in-place' else 'out'})", names)


class NumPy:
    """NumPy, with ml_dtypes for bfloat16."""

    name = "numpy"
    module = "numpy"

    def forms(self, operands: Operands, threads: int) -> list[Form] | str:
        cell, element = operands.cell, operands.element
        names = {"subtract": np.subtract, "a": operands.a, "b": operands.b, "out": operands.out}
        if cell.policy == "wrap":
            return [Form({"fresh": "subtract(a, b)", "out": "subtract(a, b, out=out)"}.get(
                cell.memory, "subtract(a, b, out=a)"), names)]  # fmt: skip
        wide = element.widened.memory
        if cell.policy == "widen" and element.bits < 64:
            names |= {"wide": wide}
            return [Form(f"subtract(a, b{', out=out' if cell.memory == 'out' else ''}, dtype=wide)", names)]
        if cell.policy == "saturate" and element.kind == "unsigned" and cell.memory != "fresh":
            return [Form("maximum(a, b, out=out); subtract(out, b, out=out)", {**names, "maximum": np.maximum})]
        function = policies.function(
            cell.policy,
            element,
            np,
            lambda x, y, dtype: np.subtract(x, y, dtype=dtype),
            wide,
            lambda x: x.astype(element.memory),
        )
        names |= {"function": function}
        return [Form("function(a, b)" if cell.memory == "fresh" else "out[...] = function(a, b)", names)]


class Torch:
    """PyTorch on the CPU. Its unsigned types of 16 bits and more cannot subtract; their bits can, as signed ones."""

    name = "torch"
    module = "torch"

    def forms(self, operands: Operands, threads: int) -> list[Form] | str:
        torch: Any = importlib.import_module("torch")
        torch.set_num_threads(threads)
        cell, element = operands.cell, operands.element
        stands_in = element.kind == "unsigned" and element.bits > 8
        if stands_in and cell.policy != "wrap":
            return f"no arithmetic in {element}"
        arrays = (operands.a, operands.b, operands.out)
        if any(stride < 0 for array in arrays for stride in array.strides):
            return "no negative strides"
        a, b, out = (self._tensor(torch, array, stands_in) for array in arrays)
        names = {"sub": torch.sub, "a": a, "b": b, "out": out}

        def back(tensor: Any) -> Array:
            if tensor.dtype == torch.bfloat16:
                return np.asarray(tensor.view(torch.int16).numpy().view(element.memory))
            return np.asarray(tensor.numpy().view(element.memory) if stands_in else tensor.numpy())

        if cell.policy == "wrap":
            statement = {"fresh": "sub(a, b)", "out": "sub(a, b, out=out)"}.get(cell.memory, "a.sub_(b)")
            return [Form(statement, names, back)]
        wide = getattr(torch, element.widened.name)
        function = policies.function(
            cell.policy, element, torch, lambda x, y, dtype: x.to(dtype) - y, wide, lambda x: x.to(a.dtype)
        )
        names |= {"function": function}
        return [Form("function(a, b)" if cell.memory == "fresh" else "out.copy_(function(a, b))", names, back)]

    @staticmethod
    def _tensor(torch: Any, array: Array, stands_in: bool) -> Any:
        if array.dtype.name == "bfloat16":
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(array.view(f"i{array.itemsize}") if stands_in else array)


class OnnxRuntime:
    """onnxruntime's CPU provider, a model of one Sub-14, operands bound once."""

    name = "onnxruntime"
    module = "onnxruntime"

    def forms(self, operands: Operands, threads: int) -> list[Form] | str:
        cell = operands.cell
        if cell.policy != "wrap":
            return "no such operator"
        if not all(array.flags.c_contiguous for array in (operands.a, operands.b, operands.out)):
            return "contiguous tensors only"
        ort: Any = importlib.import_module("onnxruntime")
        try:
            session = self._session(ort, operands, threads)
        except Exception as error:
            if "NOT_IMPLEMENTED" in str(error):
                return f"no kernel for {cell.dtype}"
            raise
        a, b, out = (ort.OrtValue.ortvalue_from_numpy(array) for array in (operands.a, operands.b, operands.out))
        if a.data_ptr() != operands.a.ctypes.data:
            return "copies such operands"
        binding = session.io_binding()
        binding.bind_ortvalue_input("a", a)
        binding.bind_ortvalue_input("b", b)
        names = {"session": session, "run": session.run_with_iobinding, "binding": binding}
        if cell.memory != "fresh":
            binding.bind_ortvalue_output("c", out)
            return [Form("run(binding)", {**names, "keep": (a, b, out)})]
        names |= {"bind": binding.bind_output, "feeds": {"a": operands.a, "b": operands.b}, "wanted": ["c"]}
        return [
            # An output that is bound by device is kept for the next run; bound anew it is a fresh one.
            Form("bind('c'); run(binding)", names, lambda _: binding.get_outputs()[0].numpy()),
            Form("session.run(wanted, feeds)", names, lambda results: results[0]),
        ]

    @staticmethod
    def _session(ort: Any, operands: Operands, threads: int) -> Any:
        helper: Any = importlib.import_module("onnx.helper")
        kind = helper.np_dtype_to_tensor_dtype(operands.a.dtype)
        shapes = {"a": operands.a.shape, "b": operands.b.shape, "c": operands.out.shape}
        infos = {name: helper.make_tensor_value_info(name, kind, shape) for name, shape in shapes.items()}
        node = helper.make_node("Sub", ["a", "b"], ["c"])
        graph = helper.make_graph([node], "subtract", [infos["a"], infos["b"]], [infos["c"]])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
        options = ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 4  # a missing kernel is an answer here
        return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


class OpenVino:
    """OpenVINO's CPU plugin, a model of one Subtract-1, compiled for the very shapes, tensors set once."""

    name = "openvino"
    module = "openvino"

    def forms(self, operands: Operands, threads: int) -> list[Form] | str:
        cell = operands.cell
        if cell.policy != "wrap":
            return "no such operator"
        if not all(array.flags.c_contiguous for array in (operands.a, operands.b, operands.out)):
            return "contiguous tensors only"
        ov: Any = importlib.import_module("openvino")
        request = self._compiled(ov, operands, threads).create_infer_request()
        kind = self._type(ov, cell.dtype)
        a, b, out = (self._tensor(ov, array, kind) for array in (operands.a, operands.b, operands.out))
        request.set_input_tensor(0, a)
        request.set_input_tensor(1, b)
        names = {"infer": request.infer, "start": request.start_async, "wait": request.wait, "keep": (a, b, out)}
        shape = list(operands.out.shape)

        def taken(_: Any) -> Array:
            data = request.get_output_tensor(0).data
            return np.asarray(data.view(operands.out.dtype)).reshape(shape).copy()

        if cell.memory == "fresh":
            names |= {"set": request.set_output_tensor, "Tensor": ov.Tensor, "kind": kind, "shape": shape}
            return [
                Form("set(0, Tensor(kind, shape)); start(); wait()", names, taken),
                Form("infer()", names, taken),  # copies the request's own output into a new array
            ]
        request.set_output_tensor(0, out)
        return [Form("start(); wait()", names), Form("infer(share_outputs=True)", names)]

    @staticmethod
    def _type(ov: Any, dtype: str) -> Any:
        spelling = {"float": "f", "int": "i", "uint": "u", "bfloat": "bf"}
        letters = dtype.rstrip("0123456789")
        return getattr(ov.Type, spelling[letters] + dtype[len(letters) :])

    @staticmethod
    def _tensor(ov: Any, array: Array, kind: Any) -> Any:
        if array.dtype.name == "bfloat16":
            return ov.Tensor(array.view(np.uint16), list(array.shape), kind)
        return ov.Tensor(array, shared_memory=True)

    def _compiled(self, ov: Any, operands: Operands, threads: int) -> Any:
        ops: Any = importlib.import_module("openvino.opset13")
        kind = self._type(ov, operands.cell.dtype)
        a, b = (ops.parameter(list(array.shape), kind) for array in (operands.a, operands.b))
        settings = {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": threads,
            "INFERENCE_PRECISION_HINT": ov.Type.f32,  # the default may be bfloat16
            "ENABLE_CPU_PINNING": False,  # it would pin the thread that all contenders share
        }
        return ov.Core().compile_model(ov.Model([ops.subtract(a, b)], [a, b]), "CPU", settings)


class NumExpr:
    """numexpr, the expression compiled once. It knows four types; unsigned integers have the bits of signed ones."""

    name = "numexpr"
    module = "numexpr"

    def forms(self, operands: Operands, threads: int) -> list[Form] | str:
        cell, element = operands.cell, operands.element
        kinds: dict[str, type] = {"float32": float, "float64": np.double, "int32": np.int32, "int64": np.int64}
        name = cell.dtype.removeprefix("u")
        if name not in kinds:
            return f"no {cell.dtype}: it would be computed in a wider type"
        if cell.policy != "wrap":
            return "no such operator"
        numexpr: Any = importlib.import_module("numexpr")
        numexpr.set_num_threads(threads)
        compiled = numexpr.NumExpr("a - b", [("a", kinds[name]), ("b", kinds[name])])
        a, b, out = (array.view(name) for array in (operands.a, operands.b, operands.out))
        names = {"evaluate": compiled, "a": a, "b": b, "out": out}
        given = "" if cell.memory == "fresh" else ", out=out"
        return [Form(f"evaluate(a, b{given}, ex_uses_vml=False)", names, lambda x: x.view(element.memory))]


PEERS: dict[str, Peer] = {peer.name: peer for peer in (NumPy(), Torch(), OnnxRuntime(), OpenVino(), NumExpr())}
"""The libraries that minuend is measured beside, in the order of the report's columns."""

NEEDS = {"onnxruntime": ("onnx",)}
"""What an adapter needs besides its library: onnxruntime's model is built with onnx."""


def installed(name: str) -> bool:
    """Whether a peer's library can be imported."""
    return all(importlib.util.find_spec(module) for module in (PEERS[name].module, *NEEDS.get(name, ())))


def versions(names: list[str]) -> dict[str, str]:
    """Return the release of minuend, of each peer named, and of what they stand on."""
    wanted = ["minuend", *names, "ml_dtypes"]
    found = {}
    for name in wanted:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:  # a clone whose package is not installed
            found[name] = "of this clone"
    return found
