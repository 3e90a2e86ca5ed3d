#include "agent/adapters/pytorch/hooks/waits.h"

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace graphdbg::hooks {
namespace {

constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};

// Of the main thread's wait; there is one at a time.
volatile std::sig_atomic_t interrupted = 0;
std::array<struct sigaction, kSignals.size()> earlier;

struct Wait {
  PyThreadState* python = nullptr;
  bool main_thread = false;
  std::array<bool, kSignals.size()> chained = {};
};

void OnSignal(int number, siginfo_t* info, void* context) {
  interrupted = 1;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] != number) continue;
    if ((earlier[i].sa_flags & SA_SIGINFO) != 0) {
      earlier[i].sa_sigaction(number, info, context);
    } else {
      earlier[i].sa_handler(number);
    }
  }
}

bool HasHandler(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

void ChainSignals(Wait* wait) {
  interrupted = 0;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    if (sigaction(kSignals[i], nullptr, &earlier[i]) != 0) continue;
    if (!HasHandler(earlier[i])) continue;
    struct sigaction action = earlier[i];
    action.sa_sigaction = OnSignal;
    action.sa_flags |= SA_SIGINFO;
    wait->chained[i] = sigaction(kSignals[i], &action, nullptr) == 0;
  }
}

void UnchainSignals(const Wait& wait) {
  for (size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction now;
    if (!wait.chained[i] || sigaction(kSignals[i], nullptr, &now) != 0) {
      continue;
    }
    // Another thread cannot have replaced it from Python, but C code may.
    if (now.sa_sigaction == OnSignal) {
      sigaction(kSignals[i], &earlier[i], nullptr);
    }
  }
}

}  // namespace

void* BeginWait() {
  Wait* const wait = new Wait;
  wait->main_thread = syscall(SYS_gettid) == getpid();
  if (wait->main_thread) ChainSignals(wait);
  if (Py_IsInitialized() && PyGILState_Check()) {
    wait->python = PyEval_SaveThread();
  }
  return wait;
}

void EndWait(void* token) {
  Wait* const wait = static_cast<Wait*>(token);
  if (wait->python != nullptr) PyEval_RestoreThread(wait->python);
  if (wait->main_thread) UnchainSignals(*wait);
  delete wait;
}

int Interrupted(void* token) {
  return static_cast<const Wait*>(token)->main_thread && interrupted != 0;
}

}  // namespace graphdbg::hooks
