#include "agent/adapters/pytorch/hooks/waits.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>

#include "agent/adapters/pytorch/hooks/python_api.h"
#include "agent/base/mutex.h"

namespace graphdbg::hooks {
namespace {

constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};

// Number of signals received during waits. Lock-free for use in handlers.
std::atomic<int> signals_seen{0};

Mutex mu;
int waits GRAPHDBG_GUARDED_BY(mu) = 0;
std::array<bool, kSignals.size()> chained GRAPHDBG_GUARDED_BY(mu);
// The actions that OnSignal() calls on. OnSignal() may still run on another
// thread long after it was uninstalled, so an action never changes once it is
// published here, and is never freed. Programs rarely change their actions, and
// an action that is the same as before is used again.
std::array<std::atomic<const struct sigaction*>, kSignals.size()> earlier{};

std::atomic<bool> runs_pending_calls{false};

struct Wait {
  PyThreadState* python = nullptr;
  int signals_seen_before = 0;
};

void OnSignal(int number, siginfo_t* info, void* context) {
  signals_seen.fetch_add(1);
  for (size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] != number) continue;
    const struct sigaction* const action = earlier[i].load();
    if ((action->sa_flags & SA_SIGINFO) != 0) {
      action->sa_sigaction(number, info, context);
    } else {
      action->sa_handler(number);
    }
  }
}

bool HasHandler(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

bool HaveSameEffect(const struct sigaction& a, const struct sigaction& b) {
  return a.sa_flags == b.sa_flags && a.sa_sigaction == b.sa_sigaction &&
         std::memcmp(&a.sa_mask, &b.sa_mask, sizeof(a.sa_mask)) == 0;
}

void Publish(size_t i, const struct sigaction& action) {
  const struct sigaction* const before = earlier[i].load();
  if (before != nullptr && HaveSameEffect(*before, action)) return;
  earlier[i] = new struct sigaction(action);
}

void ChainSignals() {
  MutexLock lock(&mu);
  if (waits++ > 0) return;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    chained[i] = false;
    struct sigaction action;
    if (sigaction(kSignals[i], nullptr, &action) != 0) continue;
    if (!HasHandler(action)) continue;
    Publish(i, action);
    action.sa_sigaction = OnSignal;
    action.sa_flags |= SA_SIGINFO;
    chained[i] = sigaction(kSignals[i], &action, nullptr) == 0;
  }
}

void UnchainSignals() {
  MutexLock lock(&mu);
  if (--waits > 0) return;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction now;
    if (!chained[i] || sigaction(kSignals[i], nullptr, &now) != 0) continue;
    // The handler may have been replaced in the meantime.
    if (now.sa_sigaction == OnSignal) {
      sigaction(kSignals[i], earlier[i].load(), nullptr);
    }
  }
}

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
  wait->signals_seen_before = signals_seen;
  ChainSignals();
  if (Py_IsInitialized() && Python().holds_lock() != 0) {
    wait->python = PyEval_SaveThread();
  }
  return wait;
}

void EndWait(void* token) {
  Wait* const wait = static_cast<Wait*>(token);
  UnchainSignals();
  if (wait->python != nullptr) AcquireInterpreterLock(wait->python);
  delete wait;
}

int Interrupted(void* token) {
  Wait* const wait = static_cast<Wait*>(token);
  if (wait->signals_seen_before != signals_seen) return 1;
  if (!runs_pending_calls || !IsMainThread() || Python().is_finalizing() != 0) {
    return 0;
  }
  // PyTorch has given the lock away before most ops.
  const PyGILState_STATE gil = PyGILState_Ensure();
  const bool raised = RunPendingCalls();
  PyGILState_Release(gil);
  return raised ? 1 : 0;
}

bool AnyWait() {
  MutexLock lock(&mu);
  return waits > 0;
}

void RunPendingCallsInWaits(bool on) { runs_pending_calls = on; }

}  // namespace graphdbg::hooks
