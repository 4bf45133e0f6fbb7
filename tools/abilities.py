"""Each file of a dialect beside the protocol of its ability: mypy compares them, and nothing runs this module."""

from __future__ import annotations

import minuend.directml.declared
import minuend.directml.formats
import minuend.directml.lifting
import minuend.directml.lowering
import minuend.directml.model
import minuend.directml.occurrences
import minuend.onnx.fixing
import minuend.onnx.formats
import minuend.onnx.lifting
import minuend.onnx.loading
import minuend.onnx.lowering
import minuend.onnx.model
import minuend.onnx.occurrences
import minuend.onnx.probing
import minuend.onnx.tracing
import minuend.onnx.vectors
import minuend.onnx.versioning
import minuend.openvino.fixing
import minuend.openvino.formats
import minuend.openvino.lifting
import minuend.openvino.lowering
import minuend.openvino.model
import minuend.openvino.occurrences
import minuend.openvino.probing
import minuend.openvino.tracing
from minuend.cli.runtimes import Vectors
from minuend.models.converting import Lifting, Loading, Lowering, Versioning
from minuend.models.occurrences import Occurring
from minuend.models.opening import Formats, Model, Reader
from minuend.models.tracing import Tracing
from minuend.rewriting.work import Fixing
from minuend.runtimes.probing import GraphProbing, Probing
from minuend.runtimes.targets import Declared

onnx_own_model: type[Model] = minuend.onnx.model.Model
onnx_formats: Formats = minuend.onnx.formats
onnx_model: Reader = minuend.onnx.model
onnx_occurrences: Occurring[minuend.onnx.model.Model] = minuend.onnx.occurrences
onnx_lifting: Lifting[minuend.onnx.model.Model] = minuend.onnx.lifting
onnx_lowering: Lowering = minuend.onnx.lowering
onnx_versioning: Versioning[minuend.onnx.model.Model] = minuend.onnx.versioning
onnx_loading: Loading[minuend.onnx.model.Model, minuend.onnx.loading.NewestVersion] = minuend.onnx.loading
onnx_tracing: Tracing[minuend.onnx.model.Model] = minuend.onnx.tracing
onnx_fixing: Fixing[minuend.onnx.model.Model] = minuend.onnx.fixing
onnx_probing: Probing[minuend.onnx.model.Model] = minuend.onnx.probing
onnx_graphs: GraphProbing = minuend.onnx.probing
onnx_vectors: Vectors = minuend.onnx.vectors

openvino_own_model: type[Model] = minuend.openvino.model.Model
openvino_formats: Formats = minuend.openvino.formats
openvino_model: Reader = minuend.openvino.model
openvino_occurrences: Occurring[minuend.openvino.model.Model] = minuend.openvino.occurrences
openvino_lifting: Lifting[minuend.openvino.model.Model] = minuend.openvino.lifting
openvino_lowering: Lowering = minuend.openvino.lowering
openvino_tracing: Tracing[minuend.openvino.model.Model] = minuend.openvino.tracing
openvino_fixing: Fixing[minuend.openvino.model.Model] = minuend.openvino.fixing
openvino_probing: Probing[minuend.openvino.model.Model] = minuend.openvino.probing

directml_own_model: type[Model] = minuend.directml.model.Model
directml_formats: Formats = minuend.directml.formats
directml_model: Reader = minuend.directml.model
directml_occurrences: Occurring[minuend.directml.model.Model] = minuend.directml.occurrences
directml_lifting: Lifting[minuend.directml.model.Model] = minuend.directml.lifting
directml_lowering: Lowering = minuend.directml.lowering
directml_declared: Declared = minuend.directml.declared
