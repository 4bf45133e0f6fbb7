// The bridge: Python objects to Work and back. It converts and refuses; it computes nothing.
#define MINUEND_IMPORTS_NUMPY
#include "python/bridge.h"

#include <cstdlib>
#include <cstring>
#include <iterator>

#include "system/container.h"
#include "system/memory.h"
#include "system/instruction_sets.h"
#include "system/threads.h"

namespace {

using namespace minuend;

// The place of a Python string in a table of n names; -1 with an error set where it is not there.
template <class NameOf>
int find_name(PyObject* name, size_t n, NameOf name_of, const char* what) {
  const char* text = PyUnicode_AsUTF8(name);
  if (text == nullptr) return -1;
  for (size_t i = 0; i < n; ++i) {
    if (std::strcmp(text, name_of(i)) == 0) return int(i);
  }
  PyErr_Format(PyExc_ValueError, "the kernel has no %s '%s'", what, text);
  return -1;
}

}  // namespace

int minuend::find_operator(PyObject* name) {
  return find_name(name, std::size(kOperators), [](size_t i) { return kOperators[i]; }, "operator");
}
int minuend::find_element(PyObject* name) {
  return find_name(name, std::size(kElements), [](size_t i) { return kElements[i].name; }, "element type");
}
int minuend::find_policy(PyObject* name) {
  return find_name(name, std::size(kPolicies), [](size_t i) { return kPolicies[i]; }, "policy");
}

namespace {

// Fills `to` from a tuple of ints; all tuples of one call have the same length.
template <class T>
bool read_tuple(PyObject* from, int rank, T* to) {
  if (!PyTuple_Check(from) || PyTuple_GET_SIZE(from) != rank) {
    PyErr_Format(PyExc_ValueError, "expected a tuple of %d sizes or strides", rank);
    return false;
  }
  for (int i = 0; i < rank; ++i) {
    const Py_ssize_t value = PyLong_AsSsize_t(PyTuple_GET_ITEM(from, i));
    if (value == -1 && PyErr_Occurred()) return false;
    to[i] = T(value);
  }
  return true;
}

bool read_operand(PyObject* array, PyObject* strides, int rank, char** data, ptrdiff_t* to) {
  if (!PyArray_Check(array)) {
    PyErr_SetString(PyExc_TypeError, "expected a NumPy array");
    return false;
  }
  *data = PyArray_BYTES(reinterpret_cast<PyArrayObject*>(array));
  return read_tuple(strides, rank, to);
}

bool read_table(PyObject* table, Work& work) {
  work.table = nullptr;
  if (work.element != Element::table) return true;
  if (!PyBytes_Check(table) || PyBytes_GET_SIZE(table) != 2 * 65536) {
    PyErr_SetString(PyExc_ValueError, "expected a table of 65,536 answers and as many flags");
    return false;
  }
  work.table = PyBytes_AS_STRING(table);
  return true;
}

// operator, element type, policy, sizes, a, a strides, b, b strides
bool read_work(PyObject* const* args, Work& work) {
  const int op = find_operator(args[0]);
  const int element = op < 0 ? -1 : find_element(args[1]);
  const int policy = element < 0 ? -1 : find_policy(args[2]);
  if (policy < 0) return false;
  work.op = Operator(op);
  work.element = Element(element);
  work.policy = Policy(policy);
  if (routines().find(work.op, work.element, work.policy, Accesses{}) == nullptr) {
    PyErr_Format(PyExc_ValueError, "the kernel has no policy '%s' for %s", kPolicies[policy], kElements[element].name);
    return false;
  }
  if (!PyTuple_Check(args[3]) || PyTuple_GET_SIZE(args[3]) > kMaxRank) {
    PyErr_Format(PyExc_ValueError, "expected a tuple of at most %d sizes", kMaxRank);
    return false;
  }
  const int rank = work.layout.rank = int(PyTuple_GET_SIZE(args[3]));
  char *a, *b;
  if (!read_tuple(args[3], rank, work.layout.size) || !read_operand(args[4], args[5], rank, &a, work.layout.a) ||
      !read_operand(args[6], args[7], rank, &b, work.layout.b)) {
    return false;
  }
  work.a = a;
  work.b = b;
  return true;
}

bool check_count(const char* name, Py_ssize_t n, Py_ssize_t wanted) {
  if (n == wanted) return true;
  PyErr_Format(PyExc_TypeError, "%s takes %zd arguments; %zd given", name, wanted, n);
  return false;
}

// execute(operator, element type, policy, sizes, a, a strides, b, b strides, table, out, out strides): what the kernel
// says of overflow
PyObject* execute_call(PyObject*, PyObject* const* args, Py_ssize_t n) {
  Work work;
  if (!check_count("execute", n, 11) || !read_work(args, work) || !read_table(args[8], work) ||
      !read_operand(args[9], args[10], work.layout.rank, &work.out, work.layout.out)) {
    return nullptr;
  }
  const size_t found = without_gil(work, [&] { return compute(work); });
  return found == kNoMemory ? PyErr_NoMemory() : PyLong_FromSize_t(found);
}

PyObject* first(PyObject*, PyObject* const* args, Py_ssize_t n) {
  Work work;
  if (!check_count("first_overflow", n, 9) || !read_work(args, work) || !read_table(args[8], work)) return nullptr;
  return PyLong_FromSize_t(without_gil(work, [&] { return first_overflow(work); }));
}

// result(dtype, sizes, a strides, b strides): a new array, packed in the order in which the operands lie.
PyObject* result(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (!check_count("result", n, 4)) return nullptr;
  if (!PyArray_DescrCheck(args[0]) || !PyTuple_Check(args[1]) || PyTuple_GET_SIZE(args[1]) > kMaxRank) {
    PyErr_Format(PyExc_TypeError, "result takes a dtype and a tuple of at most %d sizes", kMaxRank);
    return nullptr;
  }
  auto* descr = reinterpret_cast<PyArray_Descr*>(args[0]);
  Layout l;
  l.rank = int(PyTuple_GET_SIZE(args[1]));
  if (!read_tuple(args[1], l.rank, l.size) || !read_tuple(args[2], l.rank, l.a) || !read_tuple(args[3], l.rank, l.b)) {
    return nullptr;
  }
  pack_like(l, l.a, l.b, size_t(PyDataType_ELSIZE(descr)));
  return new_result(descr, l);
}

PyObject* tuple_of(const Names& names) {
  PyObject* tuple = PyTuple_New(Py_ssize_t(names.count));
  for (size_t i = 0; tuple != nullptr && i < names.count; ++i) {
    PyObject* name = PyUnicode_FromString(names.first[i]);
    if (name == nullptr) {
      Py_CLEAR(tuple);
    } else {
      PyTuple_SET_ITEM(tuple, Py_ssize_t(i), name);
    }
  }
  return tuple;
}
PyObject* list_instruction_sets(PyObject*, PyObject*) { return tuple_of(instruction_sets()); }
PyObject* list_built_instruction_sets(PyObject*, PyObject*) { return tuple_of(built_instruction_sets()); }

PyObject* get_instruction_set(PyObject*, PyObject*) { return PyUnicode_FromString(instruction_set()); }

PyObject* force_instruction_set(PyObject*, PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (text == nullptr) return nullptr;
  if (!set_instruction_set(text)) {
    return PyErr_Format(PyExc_ValueError, "this CPU does not run the instruction set '%s'", text);
  }
  Py_RETURN_NONE;
}

PyObject* get_num_threads(PyObject*, PyObject*) { return PyLong_FromLong(num_threads()); }

PyObject* force_num_threads(PyObject*, PyObject* number) {
  const long n = PyLong_AsLong(number);
  if (n == -1 && PyErr_Occurred()) return nullptr;
  if (n < 1 || n > kMostThreads) {
    return PyErr_Format(PyExc_ValueError, "the number of threads is %ld; expected 1 to %d", n, kMostThreads);
  }
  set_num_threads(int(n));
  Py_RETURN_NONE;
}

PyObject* get_cache_limit(PyObject*, PyObject*) { return PyLong_FromSize_t(cache_limit()); }
PyObject* get_cached_bytes(PyObject*, PyObject*) { return PyLong_FromSize_t(cached_bytes()); }
PyObject* drop_cache(PyObject*, PyObject*) { return PyLong_FromSize_t(clear_cache()); }

PyObject* force_cache_limit(PyObject*, PyObject* number) {
  const Py_ssize_t bytes = PyLong_AsSsize_t(number);
  if (bytes == -1 && PyErr_Occurred()) return nullptr;
  if (bytes < 0) return PyErr_Format(PyExc_ValueError, "the cache's limit is %zd bytes; expected 0 or more", bytes);
  set_cache_limit(size_t(bytes));
  Py_RETURN_NONE;
}

// container(): the CPUs and bytes that the container allows, and the bytes that are left; None where it has no limit.
PyObject* ask_container(PyObject*, PyObject*) {
  const int cpus = container().cpus();
  Container::Memory memory;
  if (cpus == 0 || !container().read(memory)) {
    PyErr_SetString(PyExc_OSError, "a file of the container's limits cannot be read");
    return nullptr;
  }
  const bool limited = memory.limit != SIZE_MAX;
  return Py_BuildValue("(NNN)", cpus != INT_MAX ? PyLong_FromLong(cpus) : Py_NewRef(Py_None),
                       limited ? PyLong_FromSize_t(memory.limit) : Py_NewRef(Py_None),
                       limited ? PyLong_FromLongLong(memory.left) : Py_NewRef(Py_None));
}

// enter_container(root): takes the groups below a root for those of this process, and as many threads and as much memory
// as fit them. For tests.
PyObject* go_into_container(PyObject*, PyObject* root) {
  const char* text = PyUnicode_AsUTF8(root);
  if (text == nullptr) return nullptr;
  enter_container(text);
  fit_threads();
  fit_cache();
  Py_RETURN_NONE;
}

PyDoc_STRVAR(kClearCacheDoc,
             "clear_cache()\n--\n\n"
             "Return the memory that is kept for large results to the system; say how many bytes it was.");
PyDoc_STRVAR(
    kSetCacheLimitDoc,
    "set_cache_limit(n, /)\n--\n\n"
    "Keep at most n bytes of memory of past results for coming ones; 0 keeps none.\n\n"
    "Results of 256 KiB and more come from that memory: fresh memory costs more in page faults than the\n"
    "subtraction does. Without this call the bound is 1 GiB, an eighth of the machine's memory or of what its\n"
    "container allows, or half of what the container has left, whichever is least; the container is asked again\n"
    "as memory comes and goes.\n\n"
    "Raises:\n    ValueError: n is negative.");
PyDoc_STRVAR(kGetNumThreadsDoc,
             "get_num_threads()\n--\n\n"
             "Return how many threads large work is shared among.");
PyDoc_STRVAR(kSetNumThreadsDoc,
             "set_num_threads(n, /)\n--\n\n"
             "Share large work among n threads, from 1 to 4096.\n\n"
             "Without this call: what MINUEND_NUM_THREADS says, else the CPUs that the process may run on, by its\n"
             "affinity and by its container's quota, which is looked at again once a second.\n\n"
             "Raises:\n    ValueError: n is out of range.");

using Fast = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t);
PyCFunction cast(Fast f) { return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f)); }

PyMethodDef kMethods[] = {
    {"execute", cast(execute_call), METH_FASTCALL, nullptr},
    {"first_overflow", cast(first), METH_FASTCALL, nullptr},
    {"learn", cast(learn), METH_FASTCALL, nullptr},
    {"with_fast_path", cast(with_fast_path), METH_FASTCALL, nullptr},
    {"exchanged", cast(exchanged), METH_FASTCALL, nullptr},
    {"result", cast(result), METH_FASTCALL, nullptr},
    {"container", ask_container, METH_NOARGS, nullptr},
    {"enter_container", go_into_container, METH_O, nullptr},
    {"cache_limit", get_cache_limit, METH_NOARGS, nullptr},
    {"cached_bytes", get_cached_bytes, METH_NOARGS, nullptr},
    {"clear_cache", drop_cache, METH_NOARGS, kClearCacheDoc},
    {"set_cache_limit", force_cache_limit, METH_O, kSetCacheLimitDoc},
    {"instruction_sets", list_instruction_sets, METH_NOARGS, nullptr},
    {"built_instruction_sets", list_built_instruction_sets, METH_NOARGS, nullptr},
    {"get_instruction_set", get_instruction_set, METH_NOARGS, nullptr},
    {"set_instruction_set", force_instruction_set, METH_O, nullptr},
    {"get_num_threads", get_num_threads, METH_NOARGS, kGetNumThreadsDoc},
    {"set_num_threads", force_num_threads, METH_O, kSetNumThreadsDoc},
    {nullptr, nullptr, 0, nullptr},
};

int exec_module(PyObject*) {
  // Once, however often the module is imported: a lock that is taken twice before a fork never opens.
  [[maybe_unused]] static const bool begun = (init_threads(), init_memory(), true);
  if (PyArray_ImportNumPyAPI() < 0 || init_fast_path() < 0 || init_results() < 0) return -1;
  const char* requested = requested_instruction_set();
  if (requested != nullptr && std::strcmp(requested, instruction_set()) != 0) {
    PyErr_Format(PyExc_ImportError,
                 "MINUEND_ISA is '%s', an instruction set that this CPU does not run; the best is '%s'", requested,
                 instruction_set());
    return -1;
  }
  if (!environment_is_valid()) {
    PyErr_Format(PyExc_ImportError, "MINUEND_NUM_THREADS is '%s'; expected a number from 1 to %d",
                 std::getenv("MINUEND_NUM_THREADS"), kMostThreads);
    return -1;
  }
  return 0;
}

PyModuleDef_Slot kSlots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(exec_module)},
#if PY_VERSION_HEX >= 0x030c0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030d0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, nullptr},
};

PyModuleDef kModule = {PyModuleDef_HEAD_INIT, "_native", "The kernel; see plan.py.", 0, kMethods, kSlots,
                       nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__native() { return PyModuleDef_Init(&kModule); }
