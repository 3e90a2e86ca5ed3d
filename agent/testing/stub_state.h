// What stubs of vendors' libraries have in common. Included by each once.
#ifndef AGENT_TESTING_STUB_STATE_H_
#define AGENT_TESTING_STUB_STATE_H_

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace graphdbg::stub {

struct Failure {
  int error;
  int skip;
};

struct State {
  std::mutex mu;
  std::map<std::string, int> calls;
  std::map<std::string, Failure> failures;
  // By address.
  std::map<uint64_t, size_t> blocks;
  // By stream, what was put on it and not done yet.
  std::map<void*, std::vector<std::function<void()>>> queued;
  bool hold = false;
  bool capture = false;
};

inline State& Get() {
  static auto* state = new State();
  return *state;
}

// Counts the call; its error, or 0. With the lock held.
inline int Enter(const char* function) {
  State& state = Get();
  ++state.calls[function];
  const auto it = state.failures.find(function);
  if (it == state.failures.end()) return 0;
  if (it->second.skip > 0) {
    --it->second.skip;
    return 0;
  }
  return it->second.error;
}

// Aligned as a device's memory is.
inline void* Allocate(size_t bytes) {
  constexpr size_t kAlignment = 256;
  const size_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* const memory = std::aligned_alloc(kAlignment, size);
  Get().blocks[reinterpret_cast<uint64_t>(memory)] = bytes;
  return memory;
}

// False if it was not allocated here.
inline bool Free(void* memory) {
  if (Get().blocks.erase(reinterpret_cast<uint64_t>(memory)) == 0) return false;
  std::free(memory);
  return true;
}

inline void Put(void* stream, std::function<void()> work) {
  if (Get().hold) {
    Get().queued[stream].push_back(std::move(work));
  } else {
    work();
  }
}

inline void Finish(void* stream) {
  std::vector<std::function<void()>> work;
  work.swap(Get().queued[stream]);
  for (const auto& item : work) item();
}

inline void FinishAll() {
  for (auto& [stream, work] : Get().queued) Finish(stream);
}

}  // namespace graphdbg::stub

extern "C" {

void stub_reset() {
  auto& state = graphdbg::stub::Get();
  std::lock_guard<std::mutex> lock(state.mu);
  state.calls.clear();
  state.failures.clear();
  // Of work that nobody waited for, the tensors are gone.
  state.queued.clear();
  state.hold = state.capture = false;
}

void stub_fail(const char* function, int error, int skip) {
  auto& state = graphdbg::stub::Get();
  std::lock_guard<std::mutex> lock(state.mu);
  state.failures[function] = {error, skip};
}

void stub_hold(int hold) {
  auto& state = graphdbg::stub::Get();
  std::lock_guard<std::mutex> lock(state.mu);
  state.hold = hold != 0;
}

void stub_finish(void* stream) {
  auto& state = graphdbg::stub::Get();
  std::lock_guard<std::mutex> lock(state.mu);
  graphdbg::stub::Finish(stream);
}

void stub_finish_all() {
  auto& state = graphdbg::stub::Get();
  std::lock_guard<std::mutex> lock(state.mu);
  graphdbg::stub::FinishAll();
}

void stub_capture(int on) {
  auto& state = graphdbg::stub::Get();
  std::lock_guard<std::mutex> lock(state.mu);
  state.capture = on != 0;
}

int stub_calls(const char* function) {
  auto& state = graphdbg::stub::Get();
  std::lock_guard<std::mutex> lock(state.mu);
  return state.calls[function];
}

int64_t stub_bytes() {
  auto& state = graphdbg::stub::Get();
  std::lock_guard<std::mutex> lock(state.mu);
  int64_t bytes = 0;
  for (const auto& [address, size] : state.blocks) {
    bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

}  // extern "C"

#define STUB_ENTER(function)                                  \
  std::lock_guard<std::mutex> lock(graphdbg::stub::Get().mu); \
  if (const int error = graphdbg::stub::Enter(function)) return error

#endif  // AGENT_TESTING_STUB_STATE_H_
