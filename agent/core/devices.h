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

// Each accelerator is opened when its first tensor is to be read, and stays
// open. Any thread; no lock once it is open.
class Devices {
 public:
  // `warn` receives a line for each device that cannot be used, once for a
  // device that has failed, and once if ops are captured into graphs, which are
  // not checked. It is called on any thread.
  Devices(const Host* host, std::function<void(const std::string&)> warn)
      : host_(host), warn_(std::move(warn)) {}
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;
  ~Devices();

  // Records where the program has a tensor. Any thread.
  void Record(const graphdbg_tensor& tensor) {
    if (tensor.device != GRAPHDBG_CPU &&
        first_.load(std::memory_order_relaxed) == 0) {
      RecordFirst(tensor);
    }
  }
  // The first accelerator that was recorded: "cuda" or "npu" and its number.
  std::optional<std::pair<std::string, int32_t>> first() const;
  // "cuda" or "npu"; empty if none was recorded.
  absl::string_view first_kind() const;

  // The device that holds the tensor; null for host memory, and for devices
  // that cannot be used.
  runtime::Accelerator* DeviceOf(const graphdbg_tensor& tensor);
  // The same, and `stream` receives this thread's stream. Also null once the
  // device has failed, and while the stream captures a graph. Training threads.
  runtime::Accelerator* OnStream(const graphdbg_tensor& tensor,
                                 runtime::Stream* stream);

  // The device memory that the agent has allocated for itself.
  int64_t arena_bytes() const;

 private:
  static constexpr int kPerKind = 64;
  static constexpr int kKinds = 2;

  struct Place {
    std::once_flag once;
    std::atomic<runtime::Accelerator*> device{nullptr};
  };

  // The index of the tensor's place; absent if it is on another kind of device.
  static std::optional<int> IndexOf(const graphdbg_tensor& tensor);

  void Open(graphdbg_device kind, int32_t id, Place* place);
  void RecordFirst(const graphdbg_tensor& tensor);

  const Host* const host_;
  const std::function<void(const std::string&)> warn_;
  std::array<Place, kKinds * kPerKind> places_;
  // The place of the first tensor that was recorded, from 1; 0 if none was.
  std::atomic<int> first_{0};
  std::atomic<bool> reported_other_{false};
  std::atomic<bool> reported_failure_{false};
  std::atomic<bool> reported_capture_{false};
};

// Access to the values of one tensor on the device that holds them. Used on the
// thread that made it.
class TensorAccess {
 public:
  // `devices` may be null if all tensors are in host memory. `running`: the
  // tensor is about to be computed by this thread's own stream. Otherwise all
  // work on its device is waited for.
  TensorAccess(Devices* devices, const graphdbg_tensor& tensor, bool running);

  // The tensor is compared with this one, which may be in host memory.
  void SetPrevious(const graphdbg_tensor& previous) {
    if (backend_)
      backend_->set_previous_on_host(previous.device == GRAPHDBG_CPU);
  }

  // Whether the values can be read.
  bool ok() const { return ok_; }
  // Null for host memory.
  const StatisticsBackend* backend() const {
    return backend_ ? &*backend_ : nullptr;
  }

 private:
  bool ok_ = false;
  std::optional<runtime::StreamBackend> backend_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_DEVICES_H_
