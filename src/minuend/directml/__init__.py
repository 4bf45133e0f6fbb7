"""DirectML ``ELEMENT_WISE_SUBTRACT``, feature levels 1.0 to 6.4: on plain buffers, and as the C API describes it.

The levels are data in :mod:`minuend.directml.versions`, the C structures and enumerations in
:mod:`minuend.directml.api.structs` and :mod:`minuend.directml.api.enums`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minuend.lazy import members

if TYPE_CHECKING:
    from minuend.directml.api import enums, structs
    from minuend.directml.api.desc import TensorDesc, calc_buffer_tensor_size
    from minuend.directml.api.enums import (
        DML_FEATURE_LEVEL,
        DML_OPERATOR_TYPE,
        DML_TENSOR_DATA_TYPE,
        DML_TENSOR_FLAGS,
        DML_TENSOR_TYPE,
    )
    from minuend.directml.api.structs import (
        DML_BUFFER_TENSOR_DESC,
        DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC,
        DML_OPERATOR_DESC,
        DML_TENSOR_DESC,
    )
    from minuend.directml.model import Model
    from minuend.directml.operator import element_wise_subtract

__all__ = [
    "DML_BUFFER_TENSOR_DESC",
    "DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC",
    "DML_FEATURE_LEVEL",
    "DML_OPERATOR_DESC",
    "DML_OPERATOR_TYPE",
    "DML_TENSOR_DATA_TYPE",
    "DML_TENSOR_DESC",
    "DML_TENSOR_FLAGS",
    "DML_TENSOR_TYPE",
    "Model",
    "TensorDesc",
    "calc_buffer_tensor_size",
    "element_wise_subtract",
    "enums",
    "structs",
]

__getattr__ = members(
    __name__,
    {
        "DML_BUFFER_TENSOR_DESC": ".api.structs:DML_BUFFER_TENSOR_DESC",
        "DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC": ".api.structs:DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC",
        "DML_FEATURE_LEVEL": ".api.enums:DML_FEATURE_LEVEL",
        "DML_OPERATOR_DESC": ".api.structs:DML_OPERATOR_DESC",
        "DML_OPERATOR_TYPE": ".api.enums:DML_OPERATOR_TYPE",
        "DML_TENSOR_DATA_TYPE": ".api.enums:DML_TENSOR_DATA_TYPE",
        "DML_TENSOR_DESC": ".api.structs:DML_TENSOR_DESC",
        "DML_TENSOR_FLAGS": ".api.enums:DML_TENSOR_FLAGS",
        "DML_TENSOR_TYPE": ".api.enums:DML_TENSOR_TYPE",
        "Model": ".model:Model",
        "TensorDesc": ".api.desc:TensorDesc",
        "calc_buffer_tensor_size": ".api.desc:calc_buffer_tensor_size",
        "element_wise_subtract": ".operator:element_wise_subtract",
        "enums": ".api.enums",
        "structs": ".api.structs",
    },
)
