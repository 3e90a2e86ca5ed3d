#include "agent/adapters/pytorch/hooks/waits.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "agent/adapters/pytorch/hooks/python_api.h"
#include "agent/base/chained_signals.h"

namespace graphdbg::hooks {
namespace {

std::atomic<bool> runs_pending_calls{false};

struct Wait {
  PyThreadState* python = nullptr;
  int signals_seen_before = 0;
};

// During finalization, Python unwinds threads that take its lock, which makes
// C++ abort the process. Such a thread can only wait for the process to exit.
void AcquireInterpreterLock(PyThreadState* state) {
  while (Python().is_finalizing() != 0) ::pause();
  PyEval_RestoreThread(state);
}

// An exception that a pending call raises is for the program, which runs on
// only after the wait.
int RaiseLater(void* exception) {
  PyObject* const raised = static_cast<PyObject*>(exception);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised)), raised);
  Py_DECREF(raised);
  return -1;
}

bool IsMainThread() { return syscall(SYS_gettid) == getpid(); }

// Returns whether one of them has raised an exception.
bool RunPendingCalls() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  const bool raised = Py_MakePendingCalls() < 0;
  if (raised) {
    PyObject *new_type, *exception, *new_traceback;
    PyErr_Fetch(&new_type, &exception, &new_traceback);
    PyErr_NormalizeException(&new_type, &exception, &new_traceback);
    Py_AddPendingCall(RaiseLater, exception);
    Py_XDECREF(new_type);
    Py_XDECREF(new_traceback);
  }
  PyErr_Restore(type, value, traceback);
  return raised;
}

}  // namespace

void* BeginWait() {
  Wait* const wait = new Wait;
  wait->signals_seen_before = ChainedSignals::Get().seen();
  ChainedSignals::Get().BeginWait();
  if (Py_IsInitialized() && Python().holds_lock() != 0) {
    wait->python = PyEval_SaveThread();
  }
  return wait;
}

void EndWait(void* token) {
  Wait* const wait = static_cast<Wait*>(token);
  ChainedSignals::Get().EndWait();
  if (wait->python != nullptr) AcquireInterpreterLock(wait->python);
  delete wait;
}

int Interrupted(void* token) {
  Wait* const wait = static_cast<Wait*>(token);
  if (wait->signals_seen_before != ChainedSignals::Get().seen()) return 1;
  if (!runs_pending_calls || !IsMainThread() || Python().is_finalizing() != 0) {
    return 0;
  }
  // PyTorch has given the lock away before most ops.
  const PyGILState_STATE gil = PyGILState_Ensure();
  const bool raised = RunPendingCalls();
  PyGILState_Release(gil);
  return raised ? 1 : 0;
}

bool AnyWait() { return ChainedSignals::Get().AnyWait(); }

void RunPendingCallsInWaits(bool on) { runs_pending_calls = on; }

}  // namespace graphdbg::hooks
