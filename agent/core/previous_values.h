// Copies of values that outlive their step, so that conditions and users can
// compare with the previous step.
#ifndef AGENT_CORE_PREVIOUS_VALUES_H_
#define AGENT_CORE_PREVIOUS_VALUES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "agent/base/mutex.h"
#include "agent/core/devices.h"
#include "agent/include/graphdbg/agent.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::agent {

// The values of one tensor at one step, stored without gaps: in the tensor's
// own order if it has no gaps either, else in row-major order.
class PreviousValue {
 public:
  uint64_t step() const { return step_; }
  // Points into this object.
  graphdbg_tensor tensor() const;
  TensorView view() const;

 private:
  friend class PreviousValues;

  // Sets everything but the values.
  void Describe(const graphdbg_tensor& tensor, uint64_t step);
  // `size` as view.byte_count().
  void CopyBytes(const TensorView& view, int64_t size);
  // Uses the bytes of another copy, of the memory that contains the view.
  void ShareBytes(const TensorView& view, const PreviousValue& other);
  // The size of the bytes that this value does not share with another.
  int64_t own_bytes() const;

  // Copies values that are on a device: to memory of the device if there is
  // room, else to the host.
  bool CopyFromDevice(runtime::Accelerator* device, runtime::Stream stream,
                      const graphdbg_tensor& tensor);

  graphdbg_dtype dtype_ = GRAPHDBG_DTYPE_UNSPECIFIED;
  std::string framework_dtype_;
  std::vector<int64_t> shape_;
  // Empty if row-major.
  std::vector<int64_t> strides_;
  // Shared with the values of views.
  std::shared_ptr<std::string> bytes_;
  bool owns_bytes_ = true;
  // Instead of bytes_ if the copy is on the device.
  std::shared_ptr<runtime::DeviceCopy> on_device_;
  graphdbg_device device_ = GRAPHDBG_CPU;
  int32_t device_id_ = 0;
  // The position of the first element in the bytes.
  int64_t offset_ = 0;
  // The address that the first byte was copied from; null if the values were
  // not contiguous.
  const char* source_ = nullptr;
  uint64_t step_ = 0;
};

// Any thread, but one tensor is kept by one thread at a time. Buffers are
// reused, so that tensors of the same size in each step take no allocations.
class PreviousValues {
 public:
  // Keeps the values of a tensor in its last `generations` steps. Values that
  // do not fit into the budget are not kept. `devices` may be null if all
  // tensors are in host memory.
  PreviousValues(int generations, int64_t budget_bytes,
                 Devices* devices = nullptr)
      : generations_(static_cast<size_t>(generations)),
        budget_bytes_(budget_bytes),
        devices_(devices) {}

  // Copies the values of this step, or shares those of `same`, which was copied
  // from memory that contains all of them. Returns null if that fails.
  std::shared_ptr<const PreviousValue> Keep(
      uint32_t node, uint32_t slot, const graphdbg_tensor& tensor,
      uint64_t step,
      const std::shared_ptr<const PreviousValue>& same = nullptr);
  // The newest value from before this step; null if there is none.
  std::shared_ptr<const PreviousValue> Before(uint64_t step, uint32_t node,
                                              uint32_t slot) const;
  // Whether a value of this step is kept.
  bool Has(uint64_t step, uint32_t node, uint32_t slot) const;
  // Drops values that were not kept in this step.
  void DropOlderThan(uint64_t step);
  void Clear();

  int64_t bytes() const;

 private:
  // Newest first.
  using Values = absl::InlinedVector<std::shared_ptr<PreviousValue>, 3>;

  // Node and slot.
  static uint64_t KeyOf(uint32_t node, uint32_t slot) {
    return uint64_t{node} << 32 | slot;
  }
  using Bytes = std::shared_ptr<std::string>;

  // Returns a value with room for `bytes`, which reuses the one that it
  // replaces, or its buffer; null if there is no room.
  std::shared_ptr<PreviousValue> Take(uint64_t key, int64_t bytes,
                                      uint64_t step) GRAPHDBG_REQUIRES(mu_);
  // A buffer for this many bytes that nobody uses; null if there is none.
  Bytes TakeSpare(int64_t bytes) GRAPHDBG_REQUIRES(mu_);
  // Takes a buffer over if nobody else uses it.
  void AddSpare(Bytes bytes) GRAPHDBG_REQUIRES(mu_);
  void DropSpares() GRAPHDBG_REQUIRES(mu_);

  const size_t generations_;
  const int64_t budget_bytes_;
  Devices* const devices_;

  mutable Mutex mu_;
  absl::flat_hash_map<uint64_t, Values> values_ GRAPHDBG_GUARDED_BY(mu_);
  // Buffers that views were the last to share, for the tensors that they are
  // views of, which therefore need another one in each step.
  std::vector<Bytes> spares_ GRAPHDBG_GUARDED_BY(mu_);
  // With spare buffers.
  int64_t bytes_ GRAPHDBG_GUARDED_BY(mu_) = 0;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_PREVIOUS_VALUES_H_
