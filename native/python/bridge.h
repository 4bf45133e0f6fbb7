// What the parts of the bridge to Python share.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION  // so that headers of any release give all of 2.0, and nothing newer
#define PY_ARRAY_UNIQUE_SYMBOL minuend_ARRAY_API
#ifndef MINUEND_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include "plan/compute.h"

namespace minuend {

// The kernel's operator, element type, or policy, of a Python string; -1 with an error set where there is none.
int find_operator(PyObject* name);
int find_element(PyObject* name);
int find_policy(PyObject* name);

// Calls f, without the GIL where the work is long.
template <class F>
size_t without_gil(const Work& work, F f) {
  if (!is_long(work)) return f();
  size_t result;
  Py_BEGIN_ALLOW_THREADS
  result = f();
  Py_END_ALLOW_THREADS
  return result;
}

// A new array, uninitialised, of the layout's sizes; its result strides are packed. Does not take the dtype's
// reference.
PyObject* new_result(PyArray_Descr* descr, const Layout& layout);
int init_results();

// learn(dtype, kernel, kind, widened dtype): lets the fast path take arrays of a dtype, after holding what Python says
// of it against this side's table.
PyObject* learn(PyObject*, PyObject* const* args, Py_ssize_t n);

// with_fast_path(operator, general): a callable that computes an operator of plain arrays itself and leaves all else to
// `general`.
PyObject* with_fast_path(PyObject*, PyObject* const* args, Py_ssize_t n);
int init_fast_path();

// The result of two plain arrays, a new reference: `out` where that is not nullptr. nullptr without an error set where
// the general function must look.
PyObject* compute_plain(Operator op, PyArrayObject* a, PyArrayObject* b, PyArrayObject* out, Policy policy);

// exchanged(operator, table, a, b, out, policy): the same for another library's arrays; see exchange.cc.
PyObject* exchanged(PyObject*, PyObject* const* args, Py_ssize_t n);

}  // namespace minuend
