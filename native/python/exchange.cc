// The call of an array function on another library's arrays, through the table of functions that DLPack 1.2 gives its
// classes (`__dlpack_c_exchange_api__`): a tenth of what their own way to NumPy and back takes.
//
// It only ever succeeds, as the call on plain arrays: where anything is unusual it gives None, and Python decides.
#include <algorithm>
#include <cstdlib>

#include "python/bridge.h"

namespace minuend {

namespace {

// ---- what dlpack.h defines, of version 1 ---------------------------------------------------------------------

struct DLTensor {
  void* data;
  int32_t device_type, device_id;
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t* shape;
  int64_t* strides;  // in elements
  uint64_t byte_offset;
};

struct DLVersion {
  uint32_t major, minor;
};

struct DLManaged {
  DLVersion version;
  void* context;
  void (*deleter)(DLManaged*);
  uint64_t flags;
  DLTensor tensor;
};

struct DLExchange {
  DLVersion version;
  const DLExchange* previous;
  void* allocator;
  void* from_object;
  int (*to_object)(DLManaged*, void** object);
  int (*borrow)(void* object, DLTensor*);  // what may be a null pointer
  void* stream;
};

constexpr DLVersion kVersion = {1, 1};
constexpr int32_t kCpu = 1;
enum Code : uint8_t { kInt = 0, kUInt = 1, kFloat = 2 };

// ---- both ways -----------------------------------------------------------------------------------------------

struct Type {
  int number;  // NumPy's
  Code code;
  uint8_t bits;
};
constexpr Type kTypes[] = {
    {NPY_INT8, kInt, 8},     {NPY_INT16, kInt, 16},   {NPY_INT32, kInt, 32},     {NPY_INT64, kInt, 64},
    {NPY_UINT8, kUInt, 8},   {NPY_UINT16, kUInt, 16}, {NPY_UINT32, kUInt, 32},   {NPY_UINT64, kUInt, 64},
    {NPY_HALF, kFloat, 16},  {NPY_FLOAT, kFloat, 32}, {NPY_DOUBLE, kFloat, 64},
};

const Type* type_of(const DLTensor& x) {
  for (const Type& type : kTypes) {
    if (type.code == x.code && type.bits == x.bits && x.lanes == 1) return &type;
  }
  return nullptr;
}

const Type* type_of(PyArrayObject* x) {
  const PyArray_Descr* descr = PyArray_DESCR(x);
  for (const Type& type : kTypes) {
    if (type.number == descr->type_num) return &type;
  }
  return nullptr;
}

// An array of the same memory, which lives as long as the object does; nullptr where there is none.
PyArrayObject* borrow(const DLExchange* api, PyObject* object) {
  DLTensor x;
  if (api->borrow(object, &x) != 0) {
    PyErr_Clear();
    return nullptr;
  }
  const Type* type = type_of(x);
  if (type == nullptr || x.device_type != kCpu || x.data == nullptr || x.ndim > kMaxRank || x.strides == nullptr) {
    return nullptr;
  }
  npy_intp sizes[kMaxRank], strides[kMaxRank];
  for (int i = 0; i < x.ndim; ++i) {
    sizes[i] = npy_intp(x.shape[i]);
    strides[i] = npy_intp(x.strides[i]) * (type->bits / 8);
  }
  char* data = static_cast<char*>(x.data) + x.byte_offset;
  PyArray_Descr* descr = PyArray_DescrFromType(type->number);
  return reinterpret_cast<PyArrayObject*>(
      PyArray_NewFromDescr(&PyArray_Type, descr, x.ndim, sizes, strides, data, NPY_ARRAY_WRITEABLE, nullptr));
}

// Whether all libraries lay a result out in one way: operands of one order, or C's.
bool have_one_layout(PyArrayObject* a, PyArrayObject* b) {
  if (PyArray_IS_C_CONTIGUOUS(a) && PyArray_IS_C_CONTIGUOUS(b)) return true;
  const npy_intp* strides = PyArray_STRIDES(a);
  return PyArray_NDIM(a) == PyArray_NDIM(b) &&
         std::equal(strides, strides + PyArray_NDIM(a), PyArray_STRIDES(b));
}

struct Result {
  DLManaged managed;
  int64_t dims[2 * kMaxRank];
};

void release(DLManaged* managed) {
  if (Py_IsInitialized()) {  // else the array goes with the process
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(static_cast<PyObject*>(managed->context));
    PyGILState_Release(state);
  }
  std::free(reinterpret_cast<Result*>(managed));
}

// An array as the other library's; takes the reference.
PyObject* hand_on(const DLExchange* api, PyObject* object) {
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  const Type* type = type_of(array);
  const int rank = PyArray_NDIM(array);
  auto* result = static_cast<Result*>(std::malloc(sizeof(DLManaged) + 2 * sizeof(int64_t) * size_t(rank)));
  if (type == nullptr || result == nullptr) {
    std::free(result);
    Py_DECREF(object);
    return type == nullptr ? nullptr : PyErr_NoMemory();
  }
  int64_t *shape = result->dims, *strides = result->dims + rank;
  for (int i = 0; i < rank; ++i) {
    shape[i] = PyArray_DIM(array, i);
    strides[i] = PyArray_STRIDE(array, i) / (type->bits / 8);
  }
  result->managed = {kVersion, object, release, 0,
                     {PyArray_DATA(array), kCpu, 0, rank, type->code, type->bits, 1, shape, strides, 0}};
  void* made = nullptr;
  return api->to_object(&result->managed, &made) == 0 ? static_cast<PyObject*>(made) : nullptr;
}

const DLExchange* table_of(PyObject* capsule) {
  auto* api = static_cast<const DLExchange*>(PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
  while (api != nullptr && api->version.major > kVersion.major) api = api->previous;
  return api;
}

}  // namespace

// exchanged(operator, table, a, b, out, policy): `out` where that is not None, else the result as the library's own
// array; None where Python has to look. `out` is of no operand's memory.
PyObject* exchanged(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 6) {
    PyErr_SetString(PyExc_TypeError, "exchanged takes an operator, a table, two operands, out and a policy");
    return nullptr;
  }
  const int op = find_operator(args[0]), policy = op < 0 ? -1 : find_policy(args[5]);
  const DLExchange* api = policy < 0 ? nullptr : table_of(args[1]);
  if (PyErr_Occurred()) return nullptr;
  if (api == nullptr || api->version.major != kVersion.major || api->borrow == nullptr) Py_RETURN_NONE;
  const bool has_out = args[4] != Py_None;
  PyArrayObject *a = borrow(api, args[2]), *b = a == nullptr ? nullptr : borrow(api, args[3]);
  PyArrayObject* out = b == nullptr || !has_out ? nullptr : borrow(api, args[4]);
  PyObject* result = nullptr;
  if (b != nullptr && (has_out ? out != nullptr : have_one_layout(a, b))) {
    result = compute_plain(Operator(op), a, b, out, Policy(policy));
  }
  Py_XDECREF(a);
  Py_XDECREF(b);
  Py_XDECREF(out);
  if (result != nullptr && has_out) {
    Py_DECREF(result);  // which is of the memory of the library's own
    return Py_NewRef(args[4]);
  }
  if (result != nullptr) result = hand_on(api, result);
  if (result != nullptr || PyErr_Occurred()) return result;
  Py_RETURN_NONE;
}

}  // namespace minuend
