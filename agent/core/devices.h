// The accelerators on which the program has tensors.
#ifndef AGENT_CORE_DEVICES_H_
#define AGENT_CORE_DEVICES_H_

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "agent/core/host.h"
#include "agent/include/graphdbg/agent.h"
#include "agent/runtime/accelerator.h"

namespace graphdbg::agent {

// Each is opened when its first tensor is to be looked at, and stays. Any
// thread; no lock once it is open.
class Devices {
 public:
  // `complain` is told once for each device why it cannot be used, and once
  // that one has failed, and that captured graphs are not looked into. Any
  // thread.
  Devices(const Host* host, std::function<void(const std::string&)> warn)
      : host_(host), warn_(std::move(warn)) {}
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;
  ~Devices();

  // Takes note of where the program has a tensor. Any thread.
  void Note(const graphdbg_tensor& tensor) {
    if (tensor.device != GRAPHDBG_CPU &&
        first_.load(std::memory_order_relaxed) == 0) {
      RecordFirst(tensor);
    }
  }
  // The first accelerator on which it was seen to have one: "cuda" or "npu" and
  // its number; absent: none so far.
  std::optional<std::pair<std::string, int32_t>> first() const;
  // Of first; empty: none so far.
  absl::string_view first_kind() const;

  // Where the tensor lies; null for host memory, and for what cannot be used.
  runtime::Accelerator* Of(const graphdbg_tensor& tensor);
  // The same, null as well once the device has failed, and while this thread's
  // stream, which it fills, records a graph. Training threads.
  runtime::Accelerator* OnStream(const graphdbg_tensor& tensor,
                                 runtime::Stream* stream);

  // What the agent holds on devices for itself, in bytes.
  int64_t arena_bytes() const;

 private:
  static constexpr int kPerKind = 64;
  static constexpr int kKinds = 2;

  struct Place {
    std::once_flag once;
    std::atomic<runtime::Accelerator*> device{nullptr};
  };

  // Of its place; absent: it is on neither kind.
  static std::optional<int> IndexOf(const graphdbg_tensor& tensor);

  void Open(graphdbg_device kind, int32_t id, Place* place);
  void RecordFirst(const graphdbg_tensor& tensor);

  const Host* const host_;
  const std::function<void(const std::string&)> warn_;
  std::array<Place, kKinds * kPerKind> places_;
  // The place of the first tensor that was noted, from 1; 0: none was.
  std::atomic<int> first_{0};
  std::atomic<bool> reported_other_{false};
  std::atomic<bool> reported_failure_{false};
  std::atomic<bool> reported_capture_{false};
};

// Measures one tensor where it lies. On the thread on which it was made.
class TensorAccess {
 public:
  // `devices` may be null: then host memory is all there is. `running`: the
  // thread's own stream comes to the tensor next; otherwise everything on its
  // device has been waited for.
  TensorAccess(Devices* devices, const graphdbg_tensor& tensor, bool running);

  // Where the value lies that it is compared with.
  void SetPrevious(const graphdbg_tensor& previous) {
    if (backend_)
      backend_->set_previous_on_host(previous.device == GRAPHDBG_CPU);
  }

  // Whether its values can be looked at.
  bool ok() const { return ok_; }
  // Null in host memory.
  const StatisticsBackend* backend() const {
    return backend_ ? &*backend_ : nullptr;
  }

 private:
  bool ok_ = false;
  std::optional<runtime::StreamBackend> backend_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_DEVICES_H_
