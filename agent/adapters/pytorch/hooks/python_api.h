#ifndef AGENT_ADAPTERS_PYTORCH_HOOKS_PYTHON_API_H_
#define AGENT_ADAPTERS_PYTORCH_HOOKS_PYTHON_API_H_

// Python's C API, as every file of the extension includes it.
//
// The extension is compiled once for CPython 3.10 and all later versions
// (`_hooks.abi3.so`): against the limited API, whose functions and structures
// stay as they are. Six public functions that the hooks need are not part of
// it; LoadPythonApi() looks them up by name in the running interpreter, so that
// one that lacks them is an ImportError and not a crash.

#define PY_SSIZE_T_CLEAN
// Says whether this Python has no global lock, and with that no limited API.
#include <pyconfig.h>
#ifndef Py_GIL_DISABLED
#define Py_LIMITED_API 0x030A0000
#endif
#include <Python.h>

#include <cstddef>

namespace graphdbg::hooks {

// A function that takes its arguments as an array (PEP 590).
using Vectorcall = PyObject* (*)(PyObject* callable, PyObject* const* args,
                                 size_t flagged_count, PyObject* names);

// The functions have the contracts of Python's documentation.
struct PythonApi {
  // PyGILState_Check.
  int (*holds_lock)();
  // PyFrame_GetBack.
  PyFrameObject* (*outer_frame)(PyFrameObject* frame);
  // PyMethod_New.
  PyObject* (*new_method)(PyObject* function, PyObject* self);
  // Py_IsFinalizing; _Py_IsFinalizing before Python 3.13.
  int (*is_finalizing)();
  // PyVectorcall_Call.
  PyObject* (*call_vectorcall)(PyObject* callable, PyObject* args,
                               PyObject* keywords);
  // PyObject_Vectorcall; a substitute in Python 3.10, which has it only inline.
  Vectorcall vectorcall;
};

// Returns false with an ImportError set if the interpreter lacks a function.
bool LoadPythonApi();

// Valid after LoadPythonApi().
const PythonApi& Python();

// The number of positional arguments of a vectorcall.
inline size_t PositionalCount(size_t flagged_count) {
  constexpr size_t kFlag = ~(~size_t{0} >> 1);
  return flagged_count & ~kFlag;
}

}  // namespace graphdbg::hooks

#endif  // AGENT_ADAPTERS_PYTORCH_HOOKS_PYTHON_API_H_
