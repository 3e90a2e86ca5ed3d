// The agent's own thread.
#ifndef AGENT_CORE_WORKER_H_
#define AGENT_CORE_WORKER_H_

#include <chrono>
#include <functional>
#include <thread>

#include "agent/base/mutex.h"

namespace graphdbg::agent {

// Calls `work` whenever it is woken, and at least once per `period`. The work
// runs without a lock held. Any thread may call Wake.
class Worker {
 public:
  // `work` must not throw.
  Worker(std::chrono::milliseconds period, std::function<void()> work)
      : period_(period), work_(std::move(work)) {}
  ~Worker() { Stop(); }

  // Starts the thread. Called once.
  void Start();
  bool started() const { return thread_.joinable(); }

  // Has `work` called as soon as possible.
  void Wake() GRAPHDBG_EXCLUDES(mu_);

  // Has the thread end after the call in progress. Does not wait.
  void RequestStop() GRAPHDBG_EXCLUDES(mu_);
  // The same, and waits for it. Not on the worker's own thread.
  void Stop();

 private:
  void Run();
  // Waits for the next call that is due. Returns false if there is none.
  bool WaitForWork() GRAPHDBG_EXCLUDES(mu_);

  const std::chrono::milliseconds period_;
  const std::function<void()> work_;

  Mutex mu_;
  CondVar changed_;
  bool woken_ GRAPHDBG_GUARDED_BY(mu_) = false;
  bool stopping_ GRAPHDBG_GUARDED_BY(mu_) = false;

  std::thread thread_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_WORKER_H_
