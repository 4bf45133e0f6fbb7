// In C, because the header of some Python releases declares the function without saying that it is C's.
#include <Python.h>

#include "python/trace.h"

enum { kDomain = 389047 };  // NumPy's, which its deallocation names: numpy.lib.tracemalloc_domain

void minuend_trace(const void* data, size_t bytes) { PyTraceMalloc_Track(kDomain, (uintptr_t)data, bytes); }
