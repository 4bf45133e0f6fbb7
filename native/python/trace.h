// Tells tracemalloc of an array's memory.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C"
#endif
    void minuend_trace(const void* data, size_t bytes);
