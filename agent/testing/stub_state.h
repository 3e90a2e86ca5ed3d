// The common part of the stubs of vendors' libraries. Included once by each.
#ifndef AGENT_TESTING_STUB_STATE_H_
#define AGENT_TESTING_STUB_STATE_H_

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/base/mutex.h"

namespace graphdbg::stub {

struct Failure {
  int error;
  int skip;
};

struct State {
  Mutex mu;
  // By function.
  std::map<std::string, int> calls GRAPHDBG_GUARDED_BY(mu);
  std::map<std::string, Failure> failures GRAPHDBG_GUARDED_BY(mu);
  // Sizes by address.
  std::map<uint64_t, size_t> blocks GRAPHDBG_GUARDED_BY(mu);
  // Held work by stream.
  std::map<void*, std::vector<std::function<void()>>> queued
      GRAPHDBG_GUARDED_BY(mu);
  bool hold GRAPHDBG_GUARDED_BY(mu) = false;
  bool capture GRAPHDBG_GUARDED_BY(mu) = false;
};

inline State& Get() {
  static auto* state = new State();
  return *state;
}

// Counts a call. Returns the error that it has to return, or 0.
inline int Enter(const char* function) GRAPHDBG_REQUIRES(Get().mu) {
  ++Get().calls[function];
  const auto it = Get().failures.find(function);
  if (it == Get().failures.end()) return 0;
  if (it->second.skip > 0) {
    --it->second.skip;
    return 0;
  }
  return it->second.error;
}

// Returns memory that is aligned like that of a device.
inline void* Allocate(size_t bytes) GRAPHDBG_REQUIRES(Get().mu) {
  constexpr size_t kAlignment = 256;
  const size_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* const memory = std::aligned_alloc(kAlignment, size);
  Get().blocks[reinterpret_cast<uint64_t>(memory)] = bytes;
  return memory;
}

// Returns false if the memory was not allocated here.
inline bool Free(void* memory) GRAPHDBG_REQUIRES(Get().mu) {
  if (Get().blocks.erase(reinterpret_cast<uint64_t>(memory)) == 0) return false;
  std::free(memory);
  return true;
}

// Executes the work, now or when something waits for the stream. The work runs
// with the lock held.
inline void Put(void* stream, std::function<void()> work)
    GRAPHDBG_REQUIRES(Get().mu) {
  if (Get().hold) {
    Get().queued[stream].push_back(std::move(work));
  } else {
    work();
  }
}

inline void Finish(void* stream) GRAPHDBG_REQUIRES(Get().mu) {
  std::vector<std::function<void()>> work;
  work.swap(Get().queued[stream]);
  for (const auto& item : work) item();
}

inline void FinishAll() GRAPHDBG_REQUIRES(Get().mu) {
  for (auto& [stream, work] : Get().queued) Finish(stream);
}

}  // namespace graphdbg::stub

extern "C" {

void stub_reset() {
  using graphdbg::stub::Get;
  graphdbg::MutexLock lock(&Get().mu);
  Get().calls.clear();
  Get().failures.clear();
  // The tensors of work that nothing waited for no longer exist.
  Get().queued.clear();
  Get().hold = Get().capture = false;
}

void stub_fail(const char* function, int error, int skip) {
  using graphdbg::stub::Get;
  graphdbg::MutexLock lock(&Get().mu);
  Get().failures[function] = {error, skip};
}

void stub_hold(int hold) {
  using graphdbg::stub::Get;
  graphdbg::MutexLock lock(&Get().mu);
  Get().hold = hold != 0;
}

void stub_finish(void* stream) {
  using graphdbg::stub::Get;
  graphdbg::MutexLock lock(&Get().mu);
  graphdbg::stub::Finish(stream);
}

void stub_finish_all() {
  using graphdbg::stub::Get;
  graphdbg::MutexLock lock(&Get().mu);
  graphdbg::stub::FinishAll();
}

void stub_capture(int on) {
  using graphdbg::stub::Get;
  graphdbg::MutexLock lock(&Get().mu);
  Get().capture = on != 0;
}

int stub_calls(const char* function) {
  using graphdbg::stub::Get;
  graphdbg::MutexLock lock(&Get().mu);
  return Get().calls[function];
}

int64_t stub_bytes() {
  using graphdbg::stub::Get;
  graphdbg::MutexLock lock(&Get().mu);
  int64_t bytes = 0;
  for (const auto& [address, size] : Get().blocks) {
    bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

}  // extern "C"

#define STUB_ENTER(function)                           \
  graphdbg::MutexLock lock(&graphdbg::stub::Get().mu); \
  if (const int error = graphdbg::stub::Enter(function)) return error

#endif  // AGENT_TESTING_STUB_STATE_H_
