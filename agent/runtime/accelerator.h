// One GPU or NPU, as the agent's core sees it.
#ifndef AGENT_RUNTIME_ACCELERATOR_H_
#define AGENT_RUNTIME_ACCELERATOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/kernels/statistics.h"
#include "agent/kernels/statistics_backend.h"
#include "agent/tensor/slice.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::runtime {

// The framework's own handle (cudaStream_t, aclrtStream); null: its default.
using Stream = void*;

// A copy of a tensor's values on the device, freed with this. If they lie side
// by side there, in their order and with their strides; else row major.
class DeviceCopy {
 public:
  virtual ~DeviceCopy() = default;
  virtual const void* data() const = 0;
  virtual int64_t bytes() const = 0;
};

// A result that is on its way.
struct Ticket {
  // Where it will be; negative: `known` is the result.
  int32_t slot = -1;
  int32_t partials = -1;
  uint64_t sequence = 0;
  // How often each element occurs in the tensor.
  uint64_t multiplicity = 1;
  Statistics known;
};

// Any thread, except in a forked child. Views are of this device's memory;
// their arrays are on the host. Errors: UNIMPLEMENTED for tensors that it
// cannot measure, RESOURCE_EXHAUSTED for want of memory or tickets,
// FAILED_PRECONDITION while a graph is captured, INTERNAL with the driver's own
// words. After an INTERNAL error in waiting it gives that error only.
class Accelerator {
 public:
  virtual ~Accelerator() = default;

  // Wait for what was put on the stream so far and for the result.
  virtual absl::Status Measure(const TensorView& view, Stream stream,
                               Statistics* statistics) = 0;
  virtual absl::Status CountInRange(const TensorView& view, double start,
                                    double end, Stream stream,
                                    uint64_t* count) = 0;
  // Both on this device, of one dtype and shape; otherwise UNIMPLEMENTED.
  virtual absl::Status Compare(const TensorView& now,
                               const TensorView& previous,
                               const Tolerance& tolerance, Stream stream,
                               PairStatistics* statistics,
                               uint64_t* changed) = 0;

  // Do not wait: the values are looked at when the stream comes to it. Fills
  // one ticket for each view, with few launches.
  virtual absl::Status Launch(const std::vector<TensorView>& views,
                              Stream stream, std::vector<Ticket>* tickets) = 0;
  // Whether the result is there; asks the device nothing.
  virtual bool Done(const Ticket& ticket) const = 0;
  // Its result, which is there; each ticket is to be taken or dropped once.
  virtual Statistics Take(const Ticket& ticket) = 0;
  // Waits for what was put on the stream so far.
  virtual absl::Status Synchronize(Stream stream) = 0;
  // Waits for all streams.
  virtual absl::Status SynchronizeAll() = 0;

  // The error after which it gives that error only; OK so far.
  virtual absl::Status failure() { return absl::OkStatus(); }

  // Whether work put on the stream now would be recorded rather than done.
  virtual bool Capturing(Stream stream) = 0;

  // Appends elements [first, first + count) of a slice of what is settled
  // (SynchronizeAll), in row-major order. The item size is not 0.
  virtual absl::Status Read(const TensorView& view, const Slice& slice,
                            int64_t first, int64_t count, std::string* out) = 0;
  virtual absl::StatusOr<std::shared_ptr<DeviceCopy>> Copy(
      const TensorView& view, Stream stream) = 0;

  // Whether an operator overflowed since the flag was last read; the flag is
  // then cleared. Waits for the stream. UNIMPLEMENTED where there is none.
  virtual absl::StatusOr<bool> TakeOverflowFlag(Stream) {
    return absl::UnimplementedError("the device has no overflow flag");
  }

  // What the agent itself holds there, without copies.
  virtual int64_t arena_bytes() const = 0;
};

// Compare where the previous value is in host memory, row major or with the
// strides that it says: copies the present one there.
absl::Status CompareOnHost(Accelerator* device, const TensorView& now,
                           const TensorView& previous,
                           const Tolerance& tolerance, Stream stream,
                           PairStatistics* statistics, uint64_t* changed);

// Measures on a stream; both outlive this.
class StreamBackend final : public StatisticsBackend {
 public:
  StreamBackend(Accelerator* device, Stream stream)
      : device_(device), stream_(stream) {}

  // Its overflow flag tells nothing of the values that are measured.
  void ignore_flag() { ignores_flag_ = true; }
  // Previous values are in host memory.
  void set_previous_on_host(bool on_host) { previous_on_host_ = on_host; }

  bool ComputeStatistics(const TensorView& view,
                         Statistics* statistics) const override {
    return device_->Measure(view, stream_, statistics).ok();
  }
  bool ComparePair(const TensorView& now, const TensorView& previous,
                   PairStatistics* statistics) const override {
    uint64_t changed;
    return Compare(now, previous, {}, statistics, &changed).ok();
  }
  std::optional<uint64_t> CountInRange(const TensorView& view, double start,
                                       double end) const override {
    uint64_t count = 0;
    if (!device_->CountInRange(view, start, end, stream_, &count).ok()) {
      return std::nullopt;
    }
    return count;
  }
  std::optional<uint64_t> CountChanged(
      const TensorView& now, const TensorView& previous,
      const Tolerance& tolerance) const override {
    PairStatistics statistics;
    uint64_t changed = 0;
    if (!Compare(now, previous, tolerance, &statistics, &changed).ok()) {
      return std::nullopt;
    }
    return changed;
  }
  std::optional<bool> TakeOverflowFlag() const override {
    if (ignores_flag_) return false;
    const absl::StatusOr<bool> overflowed = device_->TakeOverflowFlag(stream_);
    return overflowed.ok() ? std::make_optional(*overflowed) : std::nullopt;
  }

 private:
  absl::Status Compare(const TensorView& now, const TensorView& previous,
                       const Tolerance& tolerance, PairStatistics* statistics,
                       uint64_t* changed) const {
    return previous_on_host_ ? CompareOnHost(device_, now, previous, tolerance,
                                             stream_, statistics, changed)
                             : device_->Compare(now, previous, tolerance,
                                                stream_, statistics, changed);
  }

  Accelerator* const device_;
  const Stream stream_;
  bool previous_on_host_ = false;
  bool ignores_flag_ = false;
};

}  // namespace graphdbg::runtime

#endif  // AGENT_RUNTIME_ACCELERATOR_H_
