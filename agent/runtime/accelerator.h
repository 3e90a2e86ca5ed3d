// Interface of a GPU or NPU.
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

// The framework's handle (cudaStream_t, aclrtStream); null is the default
// stream.
using Stream = void*;

// A copy of a tensor's values in device memory, freed with this object. The
// copy of a contiguous tensor preserves its strides; other copies are
// row-major.
class DeviceCopy {
 public:
  virtual ~DeviceCopy() = default;
  virtual const void* data() const = 0;
  virtual int64_t bytes() const = 0;
};

// A pending result.
struct Ticket {
  // The slot that receives the result; if negative, `known` is the result.
  int32_t slot = -1;
  int32_t partials = -1;
  uint64_t sequence = 0;
  // How often each element occurs in the tensor.
  uint64_t multiplicity = 1;
  Statistics known;
};

// Thread-safe, but unusable in a forked child. Views refer to memory of this
// device; their shape and stride arrays are in host memory. Errors:
// UNIMPLEMENTED for unsupported tensors, RESOURCE_EXHAUSTED if memory or
// tickets run out, FAILED_PRECONDITION while a graph is captured, INTERNAL with
// the driver's message. An INTERNAL error while waiting is permanent: all later
// calls return it.
class Accelerator {
 public:
  virtual ~Accelerator() = default;

  // Measure(), CountInRange() and Compare() wait for the work already enqueued
  // on the stream and for the result.
  virtual absl::Status Measure(const TensorView& view, Stream stream,
                               Statistics* statistics) = 0;
  virtual absl::Status CountInRange(const TensorView& view, double start,
                                    double end, Stream stream,
                                    uint64_t* count) = 0;
  // Both tensors must be on this device and have the same dtype and shape;
  // otherwise returns UNIMPLEMENTED.
  virtual absl::Status Compare(const TensorView& now,
                               const TensorView& previous,
                               const Tolerance& tolerance, Stream stream,
                               PairStatistics* statistics,
                               uint64_t* changed) = 0;

  // Enqueues measurements on the stream and does not wait. Batches them into
  // few launches. Fills one ticket per view.
  virtual absl::Status Launch(const std::vector<TensorView>& views,
                              Stream stream, std::vector<Ticket>* tickets) = 0;
  // Whether the result is available. Does not call the driver.
  virtual bool Done(const Ticket& ticket) const = 0;
  // Returns the result, which must be available, and releases the ticket.
  virtual Statistics Take(const Ticket& ticket) = 0;
  // Waits for the work enqueued on the stream so far.
  virtual absl::Status Synchronize(Stream stream) = 0;
  // Waits for all streams.
  virtual absl::Status SynchronizeAll() = 0;

  // The permanent error; OK if there is none.
  virtual absl::Status failure() { return absl::OkStatus(); }

  // Whether the stream is capturing a graph, so that work would be recorded
  // instead of executed.
  virtual bool Capturing(Stream stream) = 0;

  // Appends elements [first, first + count) of a slice in row-major order. The
  // values must be settled (see SynchronizeAll()) and the item size not 0.
  virtual absl::Status Read(const TensorView& view, const Slice& slice,
                            int64_t first, int64_t count, std::string* out) = 0;
  virtual absl::StatusOr<std::shared_ptr<DeviceCopy>> Copy(
      const TensorView& view, Stream stream) = 0;

  // Returns whether an operator overflowed since the flag was last read, and
  // clears the flag. Waits for the stream. Returns UNIMPLEMENTED if the device
  // has no such flag.
  virtual absl::StatusOr<bool> TakeOverflowFlag(Stream) {
    return absl::UnimplementedError("the device has no overflow flag");
  }

  // Device memory used by the agent, not counting copies.
  virtual int64_t arena_bytes() const = 0;
};

// Compares with a previous value in host memory: copies the current value to
// the host first.
absl::Status CompareOnHost(Accelerator* device, const TensorView& now,
                           const TensorView& previous,
                           const Tolerance& tolerance, Stream stream,
                           PairStatistics* statistics, uint64_t* changed);

// Copies the tensor to the host. The arguments are those of
// cpu::ComputeQuantiles.
absl::Status QuantilesOnHost(Accelerator* device, const TensorView& view,
                             double min, double max, Stream stream,
                             Quantiles* quantiles);

// Measures tensors in the order of a stream. Device and stream must outlive
// this object.
class StreamBackend final : public StatisticsBackend {
 public:
  StreamBackend(Accelerator* device, Stream stream)
      : device_(device), stream_(stream) {}

  // For values to which the device's overflow flag does not apply.
  void ignore_flag() { ignores_flag_ = true; }
  // Whether previous values are in host memory.
  void set_previous_on_host(bool on_host) { previous_on_host_ = on_host; }

  bool ComputeStatistics(const TensorView& view,
                         Statistics* statistics) const override {
    return device_->Measure(view, stream_, statistics).ok();
  }
  bool ComputeQuantiles(const TensorView& view, double min, double max,
                        Quantiles* quantiles) const override {
    return QuantilesOnHost(device_, view, min, max, stream_, quantiles).ok();
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
