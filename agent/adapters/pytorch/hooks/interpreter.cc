#include "agent/adapters/pytorch/hooks/interpreter.h"

#include "agent/adapters/pytorch/hooks/source_stack.h"
#include "agent/adapters/pytorch/hooks/waits.h"

namespace graphdbg::hooks {
namespace {

// Always false: an exception is set.
bool RaiseTerminated() {
  PyObject* const exception = PyObject_CallNoArgs(Global().terminated);
  if (exception == nullptr) return false;
  PyErr_SetObject(Global().terminated, exception);
  Py_DECREF(exception);
  return false;
}

// Runs in the middle of an op, which cannot raise: the exception comes to the
// main thread as soon as it is back in Python. (An asynchronous exception would
// do so too, but may reach Python's exit without its code.)
void Terminate() {
  Py_AddPendingCall([](void*) { return RaiseTerminated() ? 0 : -1; }, nullptr);
}

// For good: from now on module calls go straight through.
void Detach() {
  if (!Global().enabled) return;
  Global().enabled = false;
  PyObject* const result = PyObject_CallNoArgs(Global().on_detached);
  if (result == nullptr) PyErr_WriteUnraisable(Global().on_detached);
  Py_XDECREF(result);
}

}  // namespace

const graphdbg_interpreter* Interpreter() {
  static const graphdbg_interpreter interpreter = {
      SourceStack, BeginWait, EndWait, Interrupted, Terminate,
  };
  return &interpreter;
}

bool CheckStatus(graphdbg_status status) {
  switch (status) {
    case GRAPHDBG_TERMINATE:
      return RaiseTerminated();
    case GRAPHDBG_DETACHED:
      Detach();
      return true;
    case GRAPHDBG_INTERRUPTED:
      return PyErr_CheckSignals() == 0;
    default:
      return true;
  }
}

}  // namespace graphdbg::hooks
