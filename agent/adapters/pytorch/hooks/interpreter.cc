#include "agent/adapters/pytorch/hooks/interpreter.h"

#include "agent/adapters/pytorch/hooks/source_stack.h"
#include "agent/adapters/pytorch/hooks/waits.h"

namespace graphdbg::hooks {
namespace {

// Sets an exception and returns false.
bool RaiseTerminated() {
  PyObject* const exception = PyObject_CallNoArgs(Global().terminated);
  if (exception == nullptr) return false;
  PyErr_SetObject(Global().terminated, exception);
  Py_DECREF(exception);
  return false;
}

// Called during an op, which cannot raise: the exception is raised in the main
// thread when it returns to Python code. (An asynchronous exception would
// behave similarly, but may lose its exit code.)
void Terminate() {
  Py_AddPendingCall([](void*) { return RaiseTerminated() ? 0 : -1; }, nullptr);
}

// Disables the hooks permanently.
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
