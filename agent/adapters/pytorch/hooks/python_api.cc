#include "agent/adapters/pytorch/hooks/python_api.h"

#include <dlfcn.h>

namespace graphdbg::hooks {
namespace {

// PyObject_VectorcallDict, which CPython 3.10 exports.
PyObject* (*vectorcall_dict)(PyObject* callable, PyObject* const* args,
                             size_t flagged_count, PyObject* keywords);

// PyObject_Vectorcall for CPython 3.10: the same call, except that keyword
// arguments go through a dict.
PyObject* VectorcallWithDict(PyObject* callable, PyObject* const* args,
                             size_t flagged_count, PyObject* names) {
  const Py_ssize_t keywords = names == nullptr ? 0 : PyTuple_Size(names);
  if (keywords == 0) {
    return vectorcall_dict(callable, args, flagged_count, nullptr);
  }
  PyObject* const dict = PyDict_New();
  if (dict == nullptr) return nullptr;
  PyObject* const* const values = args + PositionalCount(flagged_count);
  PyObject* result = nullptr;
  Py_ssize_t i = 0;
  while (i < keywords &&
         PyDict_SetItem(dict, PyTuple_GetItem(names, i), values[i]) == 0) {
    ++i;
  }
  if (i == keywords) {
    result = vectorcall_dict(callable, args, flagged_count, dict);
  }
  Py_DECREF(dict);
  return result;
}

PythonApi api;

template <typename Function>
bool Find(const char* name, Function* out) {
  *out = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return *out != nullptr;
}

template <typename Function>
bool Require(const char* name, Function* out) {
  if (Find(name, out)) return true;
  PyErr_Format(PyExc_ImportError, "this Python has no %s", name);
  return false;
}

}  // namespace

bool LoadPythonApi() {
  if (!Find("Py_IsFinalizing", &api.is_finalizing) &&
      !Require("_Py_IsFinalizing", &api.is_finalizing)) {
    return false;
  }
  if (!Find("PyObject_Vectorcall", &api.vectorcall)) {
    if (!Require("PyObject_VectorcallDict", &vectorcall_dict)) return false;
    api.vectorcall = VectorcallWithDict;
  }
  return Require("PyGILState_Check", &api.holds_lock) &&
         Require("PyFrame_GetBack", &api.outer_frame) &&
         Require("PyMethod_New", &api.new_method) &&
         Require("PyVectorcall_Call", &api.call_vectorcall);
}

const PythonApi& Python() { return api; }

}  // namespace graphdbg::hooks
