// New arrays for results: NumPy's own memory for small ones, the cache's blocks for large ones.
#include <algorithm>
#include <cstring>

#include "python/bridge.h"
#include "system/memory.h"
#include "python/trace.h"

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

// NumPy's own way through PyDataMem_SetHandler() sets a context variable twice, which takes as long as subtracting 32
// KiB; so the array gets its memory and its handler here.
PyObject* new_result(PyArray_Descr* descr, const Layout& layout) {
  npy_intp sizes[kMaxRank], strides[kMaxRank];
  size_t bytes = size_t(PyDataType_ELSIZE(descr));
  bool too_large = false;     // for this; NumPy has the message
  bool is_c_ordered = true;  // NumPy is quicker where it gets no strides
  for (int i = layout.rank - 1; i >= 0; --i) {
    sizes[i] = npy_intp(layout.size[i]);
    strides[i] = layout.out[i];
    is_c_ordered &= layout.out[i] == ptrdiff_t(bytes);
    too_large |= __builtin_mul_overflow(bytes, layout.size[i], &bytes);
  }
  void* block = bytes < kLeastCached || too_large || cache_limit() == 0 ? nullptr : take_block(bytes);
  Py_INCREF(descr);
  PyObject* result = PyArray_NewFromDescr(&PyArray_Type, descr, layout.rank, sizes,
                                          is_c_ordered || too_large ? nullptr : strides, block,
                                          block != nullptr ? NPY_ARRAY_CARRAY : 0, nullptr);
  if (block == nullptr) return result;
  if (result == nullptr) {
    give_block(block);
    return nullptr;
  }
  auto* array = reinterpret_cast<PyArrayObject*>(result);
  reinterpret_cast<PyArrayObject_fields*>(result)->mem_handler = Py_NewRef(capsule);
  PyArray_ENABLEFLAGS(array, NPY_ARRAY_OWNDATA);
  minuend_trace(block, bytes);
  return result;
}

}  // namespace minuend
