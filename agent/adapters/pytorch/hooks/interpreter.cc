#include "agent/adapters/pytorch/hooks/interpreter.h"

#include "agent/adapters/pytorch/hooks/source_stack.h"
#include "agent/adapters/pytorch/hooks/waits.h"

namespace graphdbg::hooks {
namespace {

// Runs in the middle of an op, which cannot raise: the exception comes to the
// main thread as soon as it is back in Python.
void Terminate() {
  if (!Py_IsInitialized()) return;
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyThreadState_SetAsyncExc(Global().main_thread, Global().terminated);
  PyGILState_Release(gil);
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
    case GRAPHDBG_TERMINATE: {
      PyObject* const exception = PyObject_CallNoArgs(Global().terminated);
      if (exception == nullptr) return false;
      PyErr_SetObject(Global().terminated, exception);
      Py_DECREF(exception);
      return false;
    }
    case GRAPHDBG_INTERRUPTED:
      return PyErr_CheckSignals() == 0;
    default:
      return true;
  }
}

}  // namespace graphdbg::hooks
