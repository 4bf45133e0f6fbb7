// New arrays for results: NumPy's own memory for small ones, the cache's blocks for large ones.
#include <algorithm>
#include <cstring>

#include "bridge.h"
#include "memory.h"

namespace minuend {

namespace {

void* allocate(void*, size_t size) { return take_block(size); }
void release(void*, void* p, size_t) { give_block(p); }

void* allocate_zeroed(void*, size_t count, size_t item) {
  void* p = item != 0 && count > SIZE_MAX / item ? nullptr : take_block(count * item);
  if (p != nullptr) std::memset(p, 0, count * item);
  return p;
}

void* reallocate(void*, void* old, size_t size) {
  void* p = take_block(size);
  if (p == nullptr || old == nullptr) return p;
  std::memcpy(p, old, std::min(size, block_size(old)));
  give_block(old);
  return p;
}

PyDataMem_Handler handler = {"minuend", 1, {nullptr, allocate, allocate_zeroed, reallocate, release}};
PyObject* capsule;

}  // namespace

int init_results() {
  capsule = PyCapsule_New(&handler, "mem_handler", nullptr);
  return capsule != nullptr ? 0 : -1;
}

PyObject* new_result(PyArray_Descr* descr, int rank, const npy_intp* sizes) {
  size_t bytes = size_t(PyDataType_ELSIZE(descr));
  for (int i = 0; i < rank && bytes < kLeastCached; ++i) bytes *= size_t(sizes[i]);
  auto make = [&] {
    Py_INCREF(descr);
    return PyArray_NewFromDescr(&PyArray_Type, descr, rank, sizes, nullptr, nullptr, 0, nullptr);
  };
  if (bytes < kLeastCached || cache_limit() == 0) return make();
  PyObject* previous = PyDataMem_SetHandler(capsule);
  if (previous == nullptr) return nullptr;
  PyObject* result = make();
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyObject* ours = PyDataMem_SetHandler(previous);
  Py_DECREF(previous);
  if (ours == nullptr) Py_CLEAR(result);
  Py_XDECREF(ours);
  if (type != nullptr) PyErr_Restore(type, value, traceback);
  return result;
}

}  // namespace minuend
