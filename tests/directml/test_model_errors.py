"""Across modules: every wrong field of a DxDispatch model, with its message, JSON path, line and column."""

import copy
import json

import pytest

from minuend.directml import Model
from minuend.errors import DTypeError, FileFormatError, MinuendError, ShapeError, SpecError, Unsupported

GOOD = {
    "resources": {
        "A": {"initialValuesDataType": "INT16", "initialValues": [1, 2]},
        "B": {"initialValuesDataType": "INT16", "initialValues": [3, 4]},
        "Out": {"initialValuesDataType": "INT16", "initialValues": {"value": 0, "valueCount": 2}},
    },
    "dispatchables": {
        "sub": {
            "type": "ELEMENT_WISE_SUBTRACT",
            "desc": {t: {"DataType": "INT16", "Sizes": [2]} for t in ("ATensor", "BTensor", "OutputTensor")},
        }
    },
    "commands": [
        {
            "type": "dispatch",
            "dispatchable": "sub",
            "bindings": {"ATensor": "A", "BTensor": "B", "OutputTensor": "Out"},
        }
    ],
}
DELETE = object()
A = ("resources", "A")
VALUES = (*A, "initialValues")
SUB = ("dispatchables", "sub")
B_DESC = (*SUB, "desc", "BTensor")
DISPATCH = ("commands", 0)
BOUND = (*DISPATCH, "bindings")

CASES = [
    (("resources",), DELETE, FileFormatError, "there is no 'resources'; it is required, at the top (line 1, column 1)"),
    (("dispatchables",), [], FileFormatError,
     "a list came; expected an object of dispatchables, at dispatchables (line 1, column 257)"),
    (("commands",), {}, FileFormatError,
     "an object came; expected a list of commands, at commands (line 1, column 472)"),
    (A, 3, FileFormatError,
     "the number 3 came; expected a resource: an object with initialValues, at resources.A (line 1, column 21)"),
    (VALUES, DELETE, FileFormatError,
     "there is no 'initialValues'; it is required, at resources.A (line 1, column 21)"),
    (VALUES, "later", FileFormatError,
     ("the string 'later' came; expected a list of numbers, an object or \"deferred\", at "
      "resources.A.initialValues (line 1, column 73)")),
    (VALUES, [], FileFormatError,
     "there are no values; a resource holds at least one, at resources.A.initialValues (line 1, column 73)"),
    (VALUES, None, FileFormatError,
     ('null came; expected a list of numbers, an object or "deferred", at '
      "resources.A.initialValues (line 1, column 73)")),
    (VALUES, {}, FileFormatError,
     "of value, valueStart and sourcePath none came; expected one, at resources.A.initialValues (line 1, column 73)"),
    (VALUES, {"value": 1, "valueStart": 2}, FileFormatError,
     ("of value, valueStart and sourcePath value and valueStart came; expected one, at "
      "resources.A.initialValues (line 1, column 73)")),
    (VALUES, {"value": 1}, FileFormatError,
     "there is no 'valueCount'; it is required, at resources.A.initialValues (line 1, column 73)"),
    (VALUES, {"value": 1, "valueCount": 0}, FileFormatError,
     ("the number 0 came; expected an integer from 1 to 4294967295, at "
      "resources.A.initialValues.valueCount (line 1, column 100)")),
    (VALUES, {"value": 1, "valueCount": 4294967296}, FileFormatError,
     ("the number 4294967296 came; expected an integer from 1 to 4294967295, at "
      "resources.A.initialValues.valueCount (line 1, column 100)")),
    (VALUES, {"valueStart": 1, "valueCount": 2}, FileFormatError,
     "there is no 'valueDelta'; it is required, at resources.A.initialValues (line 1, column 73)"),
    (VALUES, [1, 2.0], FileFormatError,
     ("the number 2.0 is no INT16; expected an integer from -32768 to 32767, at "
      "resources.A.initialValues[1] (line 1, column 77)")),
    (VALUES, [1, 32768], FileFormatError,
     ("the number 32768 is no INT16; expected an integer from -32768 to 32767, at "
      "resources.A.initialValues[1] (line 1, column 77)")),
    (VALUES, [True, 1], FileFormatError,
     "true is no INT16; expected an integer from -32768 to 32767, at resources.A.initialValues[0] (line 1, column 74)"),
    (VALUES, ["nan"], FileFormatError,
     ("the string 'nan' is no INT16; expected an integer from -32768 to 32767, at "
      "resources.A.initialValues[0] (line 1, column 74)")),
    (VALUES, {"value": 70000, "valueCount": 2}, FileFormatError,
     ("the number 70000 is no INT16; expected an integer from -32768 to 32767, at "
      "resources.A.initialValues.value (line 1, column 83)")),
    ((*A, "initialValuesDataType"), "int16", FileFormatError,
     ("the string 'int16' came; expected UNKNOWN, FLOAT32, FLOAT16, UINT32, UINT16, UINT8, INT32, INT16, INT8, "
      "FLOAT64, UINT64, INT64, UINT4 or INT4, with or without DML_TENSOR_DATA_TYPE_ before it, at "
      "resources.A.initialValuesDataType (line 1, column 47)")),
    ((*A, "initialValuesDataType"), "INT4", FileFormatError,
     ("the string 'INT4' came; expected a type that values can be given in: FLOAT32, FLOAT16, UINT32, UINT16, "
      "UINT8, INT32, INT16, INT8, FLOAT64, UINT64 or INT64, at resources.A.initialValuesDataType (line 1, column 47)")),
    ((*A, "initialValuesDataType"), 5, FileFormatError,
     ("the number 5 came; expected a name of DML_TENSOR_DATA_TYPE, at "
      "resources.A.initialValuesDataType (line 1, column 47)")),
    (A, {"initialValues": [1, 2]}, FileFormatError,
     ('the number 1 came; expected an object with "type" and "value" (initialValuesDataType is '
      "for a list of plain numbers), at resources.A.initialValues[0] (line 1, column 40)")),
    (A, {"initialValues": [{"type": "FLOAT16", "value": 1}]}, FileFormatError,
     ("the string 'FLOAT16' came; expected FLOAT32, UINT32, UINT16, UINT8, INT32, INT16, INT8, FLOAT64, UINT64 or "
      "INT64, each value of several types, at resources.A.initialValues[0].type (line 1, column 49)")),
    (A, {"initialValues": [{"type": "UINT8"}]}, FileFormatError,
     "there is no 'value'; it is required, at resources.A.initialValues[0] (line 1, column 40)"),
    (A, {"initialValues": [{"type": "UINT8", "value": 1, "name": 2}]}, FileFormatError,
     "the number 2 came; expected a string, at resources.A.initialValues[0].name (line 1, column 78)"),
    (A, {"initialValues": {"value": 1, "valueCount": 2}}, FileFormatError,
     "generated values need a type; state initialValuesDataType, at resources.A.initialValues (line 1, column 39)"),
    ((*A, "sizeInBytes"), 2, FileFormatError,
     ("sizeInBytes is 2, but 4 bytes of values at initialValuesOffsetInBytes 0 end at 4; set "
      "sizeInBytes to at least that, at resources.A.sizeInBytes (line 1, column 96)")),
    ((*A, "initialValuesOffsetInBytes"), 4, FileFormatError,
     ("sizeInBytes is 4 (by default), but 4 bytes of values at initialValuesOffsetInBytes 4 end"
      " at 8; set sizeInBytes to at least that, at resources.A (line 1, column 21)")),
    ((*A, "sizeInBytes"), -1, FileFormatError,
     ("the number -1 came; expected an integer from 0 to 18446744073709551615, at "
      "resources.A.sizeInBytes (line 1, column 96)")),
    (VALUES, {"sourcePath": "a.npy"}, FileFormatError,
     ("the model came without a folder to read files from; read it by its path, or pass "
      "folder=, at resources.A.initialValues.sourcePath (line 1, column 88)")),
    (A, {"initialValuesDataType": "FLOAT16", "initialValues": [1, 65520]}, FileFormatError,
     ('the number 65520 is beyond the range of FLOAT16; write "inf" or "-inf" if that is meant,'
      " at resources.A.initialValues[1] (line 1, column 79)")),
    (A, {"initialValuesDataType": "FLOAT32", "initialValues": ["nan", "infinity"]}, FileFormatError,
     ('the string \'infinity\' is no FLOAT32; expected a number, "nan", "inf" or "-inf", at '
      "resources.A.initialValues[1] (line 1, column 83)")),
    (A, {"initialValuesDataType": "FLOAT32", "initialValues": [None]}, FileFormatError,
     ('null is no FLOAT32; expected a number, "nan", "inf" or "-inf", at '
      "resources.A.initialValues[0] (line 1, column 76)")),
    (SUB, "sub", FileFormatError,
     ("the string 'sub' came; expected a dispatchable: an object with a type, at "
      "dispatchables.sub (line 1, column 265)")),
    ((*SUB, "type"), DELETE, FileFormatError,
     "there is no 'type'; it is required, at dispatchables.sub (line 1, column 265)"),
    ((*SUB, "type"), 1, FileFormatError,
     "the number 1 came; expected a string, at dispatchables.sub.type (line 1, column 274)"),
    ((*SUB, "desc"), DELETE, FileFormatError,
     "there is no 'ATensor'; it is required, at dispatchables.sub (line 1, column 265)"),
    ((*SUB, "desc"), [], FileFormatError,
     "a list came; expected an object, at dispatchables.sub.desc (line 1, column 307)"),
    (B_DESC, DELETE, FileFormatError,
     "there is no 'BTensor'; it is required, at dispatchables.sub.desc (line 1, column 307)"),
    (B_DESC, 7, FileFormatError,
     ("the number 7 came; expected a tensor: an object with DataType and Sizes, at "
      "dispatchables.sub.desc.BTensor (line 1, column 367)")),
    ((*B_DESC, "Sizes"), DELETE, FileFormatError,
     "there is no 'Sizes'; it is required, at dispatchables.sub.desc.BTensor (line 1, column 367)"),
    ((*B_DESC, "Sizes"), 2, FileFormatError,
     "the number 2 came; expected a list of integers, at dispatchables.sub.desc.BTensor.Sizes (line 1, column 398)"),
    ((*B_DESC, "Sizes"), [2.0], FileFormatError,
     ("the number 2.0 came; expected an integer from 0 to 4294967295, at "
      "dispatchables.sub.desc.BTensor.Sizes[0] (line 1, column 399)")),
    ((*B_DESC, "Sizes"), [0], ShapeError,
     ("Sizes[0] is 0; DirectML has no empty tensors, leave the operator out, at "
      "dispatchables.sub.desc.BTensor (line 1, column 367)")),
    ((*B_DESC, "Sizes"), [], ShapeError,
     "DimensionCount is 0; expected 1 to 8 (a scalar is (1,)), at dispatchables.sub.desc.BTensor (line 1, column 367)"),
    ((*B_DESC, "DataType"), "SHORT", FileFormatError,
     ("the string 'SHORT' came; expected UNKNOWN, FLOAT32, FLOAT16, UINT32, UINT16, UINT8, INT32, INT16, INT8, "
      "FLOAT64, UINT64, INT64, UINT4 or INT4, with or without DML_TENSOR_DATA_TYPE_ before it, at "
      "dispatchables.sub.desc.BTensor.DataType (line 1, column 380)")),
    ((*B_DESC, "DataType"), "UNKNOWN", DTypeError,
     ("DataType: element type 'UNKNOWN': it stands for no type; a tensor has to say what its elements are; expected "
      "FLOAT32, FLOAT16, UINT32, UINT16, UINT8, INT32, INT16, INT8, FLOAT64, UINT64, INT64, UINT4 or INT4, at "
      "dispatchables.sub.desc.BTensor (line 1, column 367)")),
    ((*B_DESC, "Strides"), [1, 1], ShapeError,
     "Strides has 2 entries and Sizes 1; expected one each, at dispatchables.sub.desc.BTensor (line 1, column 367)"),
    ((*B_DESC, "Strides"), [-1], FileFormatError,
     ("the number -1 came; expected an integer from 0 to 4294967295, at "
      "dispatchables.sub.desc.BTensor.Strides[0] (line 1, column 415)")),
    ((*B_DESC, "DimensionCount"), 2, ShapeError,
     ("DimensionCount is 2; expected 1, as Sizes has, at "
      "dispatchables.sub.desc.BTensor.DimensionCount (line 1, column 421)")),
    ((*B_DESC, "Flags"), "OWNED", FileFormatError,
     ("the string 'OWNED' came; expected NONE or OWNED_BY_DML, with or without DML_TENSOR_FLAG_"
      " before it, at dispatchables.sub.desc.BTensor.Flags (line 1, column 412)")),
    ((*B_DESC, "Flags"), 3, FileFormatError,
     ("the number 3 came; expected a name of DML_TENSOR_FLAGS, or a list of them, at "
      "dispatchables.sub.desc.BTensor.Flags (line 1, column 412)")),
    ((*B_DESC, "Type"), "INVALID", FileFormatError,
     ("the string 'INVALID' came; expected BUFFER, the one type of tensor there is, at "
      "dispatchables.sub.desc.BTensor.Type (line 1, column 411)")),
    ((*B_DESC, "TotalTensorSizeInBytes"), 2, SpecError,
     ("TotalTensorSizeInBytes is 2; expected at least 4, what these Sizes and Strides reach to,"
      " at dispatchables.sub.desc.BTensor (line 1, column 367)")),
    ((*B_DESC, "GuaranteedBaseOffsetAlignment"), 3, SpecError,
     ("GuaranteedBaseOffsetAlignment is 3; expected 0 or a power of two from 2 (the size of "
      "INT16) to 2147483648, at dispatchables.sub.desc.BTensor (line 1, column 367)")),
    ((*B_DESC, "Desc"), {}, FileFormatError,
     "there is no 'Sizes'; it is required, at dispatchables.sub.desc.BTensor.Desc (line 1, column 411)"),
    ((*SUB, "executionFlags"), ["FAST"], FileFormatError,
     ("the string 'FAST' came; expected NONE, ALLOW_HALF_PRECISION_COMPUTATION, "
      "DISABLE_META_COMMANDS or DESCRIPTORS_VOLATILE, with or without DML_EXECUTION_FLAG_ "
      "before it, at dispatchables.sub.executionFlags[0] (line 1, column 477)")),
    ((*SUB, "dmlCompileType"), "Graph", FileFormatError,
     ("the string 'Graph' came; expected DmlCompileOp or DmlCompileGraph, at "
      "dispatchables.sub.dmlCompileType (line 1, column 476)")),
    ((*SUB, "bindings"), ["A"], FileFormatError,
     "a list came; expected an object of bind points, at dispatchables.sub.bindings (line 1, column 470)"),
    ((*SUB, "bindings"), {"CTensor": "A"}, FileFormatError,
     ("there is no bind point 'CTensor'; expected ATensor, BTensor and OutputTensor, at "
      "dispatchables.sub.bindings.CTensor (line 1, column 482)")),
    ((*SUB, "bindings"), {"BTensor": "B"}, SpecError,
     ("BTensor is bound when 'sub' is initialised and is not OWNED_BY_DML; bind it in dispatch,"
      " at dispatchables.sub.bindings.BTensor (line 1, column 482)")),
    ((*B_DESC, "Flags"), "OWNED_BY_DML", SpecError,
     ("BTensor of 'sub' is OWNED_BY_DML; bind it in the dispatchable's own bindings, at "
      "dispatchables.sub (line 1, column 265)")),
    ((*SUB, "desc", "OutputTensor", "Flags"), "DML_TENSOR_FLAG_OWNED_BY_DML", SpecError,
     ("Flags is OWNED_BY_DML, which is for inputs alone; expected 0, at OutputTensor.Flags of "
      "dispatchables.sub (line 1, column 265)")),
    ((*B_DESC, "DataType"), "INT32", DTypeError,
     ("DataType is INT32 and ATensor's is INT16; expected one DataType in all three, at "
      "BTensor.DataType of dispatchables.sub (line 1, column 265)")),
    ((*B_DESC, "Sizes"), [1], ShapeError,
     ("Sizes is (1,) and ATensor's is (2,); expected one Sizes in all three (a size of 1 does not broadcast, give "
      "the full size and a stride of 0), at BTensor.Sizes of dispatchables.sub (line 1, column 265)")),
    ((*SUB, "desc", "OutputTensor", "Strides"), [0], ShapeError,
     ("Strides[0] = 0 (of Sizes[0] = 2) lets elements (1,) and (0,) share one address, 0 elements from the start; "
      "each output element needs its own, at OutputTensor.Strides of dispatchables.sub (line 1, column 265)")),
    (DISPATCH, "dispatch", FileFormatError,
     "the string 'dispatch' came; expected a command: an object with a type, at commands[0] (line 1, column 473)"),
    ((*DISPATCH, "type"), "execute", FileFormatError,
     "the string 'execute' came; expected dispatch, print or writeFile, at commands[0].type (line 1, column 482)"),
    ((*DISPATCH, "dispatchable"), "add", FileFormatError,
     "there is no dispatchable 'add'; expected 'sub', at commands[0].dispatchable (line 1, column 510)"),
    (BOUND, DELETE, FileFormatError, "there is no 'bindings'; it is required, at commands[0] (line 1, column 473)"),
    ((*BOUND, "ATensor"), "X", FileFormatError,
     "there is no resource 'X'; expected 'A', 'B' or 'Out', at commands[0].bindings.ATensor (line 1, column 541)"),
    ((*BOUND, "ATensor"), 1, FileFormatError,
     ("the number 1 came; expected a resource's name, or an object with one, at "
      "commands[0].bindings.ATensor (line 1, column 541)")),
    ((*BOUND, "ATensor"), ["A", "A"], FileFormatError,
     "2 resources are bound to ATensor; expected 1, at commands[0].bindings.ATensor (line 1, column 541)"),
    ((*BOUND, "ATensor"), [], FileFormatError,
     "0 resources are bound to ATensor; expected 1, at commands[0].bindings.ATensor (line 1, column 541)"),
    ((*BOUND, "ATensor"), DELETE, SpecError,
     "nothing is bound to ATensor of 'sub', at commands[0] (line 1, column 473)"),
    ((*BOUND, "Atensor"), "A", FileFormatError,
     ("there is no bind point 'Atensor'; expected ATensor, BTensor and OutputTensor, at "
      "commands[0].bindings.Atensor (line 1, column 596)")),
    ((*BOUND, "ATensor"), {"elementOffset": 1}, FileFormatError,
     "there is no 'name'; it is required, at commands[0].bindings.ATensor (line 1, column 541)"),
    ((*BOUND, "ATensor"), {"name": "A", "elementOffset": 4}, SpecError,
     ("ATensor begins 8 bytes into 'A'; expected a multiple of 16, at "
      "commands[0].bindings.ATensor (line 1, column 541)")),
    ((*BOUND, "ATensor"), {"name": "A", "elementOffset": 1, "elementSizeInBytes": 16}, SpecError,
     ("'A' has 0 bytes for ATensor from byte 16 on; expected at least 4, its "
      "TotalTensorSizeInBytes, at commands[0].bindings.ATensor (line 1, column 541)")),
    ((*BOUND, "ATensor"), {"name": "A", "elementOffset": -1}, FileFormatError,
     ("the number -1 came; expected an integer from 0 to 18446744073709551615, at "
      "commands[0].bindings.ATensor.elementOffset (line 1, column 572)")),
    ((*BOUND, "ATensor"), {"name": "A", "format": 1}, FileFormatError,
     "the number 1 came; expected a string, at commands[0].bindings.ATensor.format (line 1, column 565)"),
    ((*BOUND, "ATensor"), {"name": "A", "counter": "N"}, FileFormatError,
     ("there is no resource 'N'; expected 'A', 'B' or 'Out', at "
      "commands[0].bindings.ATensor.counter (line 1, column 566)")),
    ((*BOUND, "ATensor"), {"name": "A", "shape": ["2"]}, FileFormatError,
     ("the string '2' came; expected an integer from -9223372036854775808 to "
      "9223372036854775807, at commands[0].bindings.ATensor.shape[0] (line 1, column 565)")),
    ((*DISPATCH, "threadGroupCount"), [1, 1], FileFormatError,
     "there are 2 entries; expected 3, at commands[0].threadGroupCount (line 1, column 606)"),
    (DISPATCH, {"type": "print", "resource": "Q"}, FileFormatError,
     "there is no resource 'Q'; expected 'A', 'B' or 'Out', at commands[0].resource (line 1, column 503)"),
    (DISPATCH, {"type": "print", "resource": "A", "verbose": 1}, FileFormatError,
     "the number 1 came; expected true or false, at commands[0].verbose (line 1, column 519)"),
    (DISPATCH, {"type": "writeFile", "resource": "A"}, FileFormatError,
     "there is no 'targetPath'; it is required, at commands[0] (line 1, column 473)"),
    (DISPATCH, {"type": "writeFile", "resource": "A", "targetPath": "a.npy"}, MinuendError,
     "this writes 'a.npy'; say which folder it may write within (output_dir), at commands[0] (line 1, column 473)"),
    (DISPATCH, {"type": "writeFile", "resource": "A", "targetPath": "a.npy", "dimensions": [0]}, FileFormatError,
     "the number 0 came; expected an integer from 1 to 4294967295, at commands[0].dimensions[0] (line 1, column 550)"),
    ((*SUB, "type"), "DML_OPERATOR_ELEMENT_WISE_ADD", Unsupported,
     ("these dispatchables are no ELEMENT_WISE_SUBTRACT, the one operator that runs here:\n"
      "  'sub': DML_OPERATOR_ELEMENT_WISE_ADD, at dispatchables.sub (line 1, column 265)")),
    (VALUES, "deferred", MinuendError,
     ("'A' is deferred and nothing has been written to it; pass it as an input, at "
      "commands[0].bindings.ATensor (line 1, column 545)")),
    (("commands",), [{"type": "print", "resource": "Out"}, 5], FileFormatError,
     "the number 5 came; expected a command: an object with a type, at commands[1] (line 1, column 511)"),
]  # fmt: skip


def changed(path, value):
    """The good model with one value put in, or taken out."""
    document = copy.deepcopy(GOOD)
    at = document
    for key in path[:-1]:
        at = at[key]
    if value is DELETE:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return document


def test_the_model_that_the_cases_change_is_good():
    assert Model.read(json.dumps(GOOD)).run()["Out"].tolist() == [-2, -2]


@pytest.mark.parametrize(("path", "value", "kind", "message"), CASES)
def test_a_wrong_field_is_told_with_its_place(path, value, kind, message):
    with pytest.raises(kind) as caught:
        Model.read(json.dumps(changed(path, value))).run()
    assert type(caught.value) is kind
    assert str(caught.value) == message


def test_a_document_that_was_built_has_paths_without_lines():
    with pytest.raises(FileFormatError) as caught:
        Model(changed((*VALUES, 0), "one"))
    assert str(caught.value) == (
        "the string 'one' is no INT16; expected an integer from -32768 to 32767, at resources.A.initialValues[0]"
    )


def test_a_file_is_named_with_line_and_column(tmp_path):
    path = tmp_path / "model.json"
    path.write_text('{ "resources": {},\n  "dispatchables": {},\n  "commands": [ { "type": "dance" } ] }')
    with pytest.raises(FileFormatError) as caught:
        Model.read(path)
    assert str(caught.value) == (
        "the string 'dance' came; expected dispatch, print or writeFile, "
        f"at commands[0].type ({path}, line 3, column 27)"
    )
