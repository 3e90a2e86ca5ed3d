#include "agent/adapters/tensorflow/waits.h"

#include <array>
#include <atomic>
#include <csignal>

#include "agent/base/mutex.h"

namespace graphdbg::tensorflow {
namespace {

constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};

// Number of signals received during waits. Lock-free for use in handlers.
std::atomic<int> signals_seen{0};

Mutex waits_mu;
int waits GRAPHDBG_GUARDED_BY(waits_mu) = 0;
std::array<bool, kSignals.size()> chained GRAPHDBG_GUARDED_BY(waits_mu);
// The actions that OnSignal() calls on. It may still run on another thread long
// after it was uninstalled, so an action never changes and is never freed.
std::array<std::atomic<const struct sigaction*>, kSignals.size()> earlier{};

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

void Publish(size_t i, const struct sigaction& action) {
  const struct sigaction* const before = earlier[i].load();
  // Programs rarely change their handlers.
  if (before != nullptr && before->sa_sigaction == action.sa_sigaction &&
      before->sa_flags == action.sa_flags) {
    return;
  }
  earlier[i] = new struct sigaction(action);
}

}  // namespace

void* BeginWait() {
  MutexLock lock(&waits_mu);
  int* const token = new int(signals_seen.load());
  if (waits++ > 0) return token;
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
  return token;
}

void EndWait(void* token) {
  delete static_cast<int*>(token);
  MutexLock lock(&waits_mu);
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

int Interrupted(void* token) {
  return *static_cast<int*>(token) != signals_seen.load() ? 1 : 0;
}

}  // namespace graphdbg::tensorflow
