#include "agent/core/worker.h"

namespace graphdbg::agent {

void Worker::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Worker::Wake() {
  MutexLock lock(&mu_);
  woken_ = true;
  changed_.NotifyAll();
}

void Worker::RequestStop() {
  MutexLock lock(&mu_);
  stopping_ = true;
  changed_.NotifyAll();
}

void Worker::Stop() {
  RequestStop();
  if (thread_.joinable()) thread_.join();
}

void Worker::Run() {
  while (WaitForWork()) work_();
}

bool Worker::WaitForWork() {
  MutexLock lock(&mu_);
  const auto due = std::chrono::steady_clock::now() + period_;
  while (!stopping_ && !woken_) {
    if (!changed_.WaitUntil(&mu_, due)) break;
  }
  woken_ = false;
  return !stopping_;
}

}  // namespace graphdbg::agent
