// Copies of values that outlive their step, for conditions and people that
// compare with the step before.
#ifndef AGENT_CORE_PREVIOUS_VALUES_H_
#define AGENT_CORE_PREVIOUS_VALUES_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "agent/core/devices.h"
#include "agent/include/graphdbg/agent.h"
#include "agent/tensor/tensor_view.h"

namespace graphdbg::agent {

// The values of one tensor at one step, without gaps between them: in the
// tensor's own order, if it has none either, else row major.
class PreviousValue {
 public:
  uint64_t step() const { return step_; }
  // Points into this object.
  graphdbg_tensor tensor() const;
  TensorView view() const;

 private:
  friend class PreviousValues;

  // What both of these do first. False if the tensor's values cannot be read.
  bool Describe(const graphdbg_tensor& tensor, uint64_t step);
  void CopyBytes(const TensorView& view);
  // Looks at the bytes of another's copy of the memory that the view lies in.
  void ShareBytes(const TensorView& view, const PreviousValue& other);
  // Of bytes that only this value looks at.
  int64_t own_bytes() const;

  // Copies what lies on a device; there, if it has room, else to the host.
  bool CopyFromDevice(runtime::Accelerator* device, runtime::Stream stream,
                      const graphdbg_tensor& tensor);

  graphdbg_dtype dtype_ = GRAPHDBG_DTYPE_UNSPECIFIED;
  std::string framework_dtype_;
  std::vector<int64_t> shape_;
  // None: row major.
  std::vector<int64_t> strides_;
  // Values of views share those of what they are views of.
  std::shared_ptr<std::string> bytes_;
  bool owns_bytes_ = true;
  // Instead of bytes_: on the device.
  std::shared_ptr<runtime::DeviceCopy> on_device_;
  graphdbg_device device_ = GRAPHDBG_CPU;
  int32_t device_id_ = 0;
  // Where the first element lies in them.
  int64_t offset_ = 0;
  // Where the first of them was copied from; null: not from one run.
  const char* source_ = nullptr;
  uint64_t step_ = 0;
};

// Any thread, but one tensor is kept by one thread at a time. Buffers are used
// again where no view shares them.
class PreviousValues {
 public:
  // Keeps the values of the last `generations` steps of a tensor. What does not
  // fit into the budget is not kept. Without devices, of host memory alone.
  PreviousValues(int generations, int64_t budget_bytes,
                 Devices* devices = nullptr)
      : generations_(static_cast<size_t>(generations)),
        budget_bytes_(budget_bytes),
        devices_(devices) {}

  // Copies the values, which are those of this step; or shares `same`, which
  // was copied from memory in which all of them lie. Null if it cannot.
  std::shared_ptr<const PreviousValue> Keep(
      uint32_t node, uint32_t slot, const graphdbg_tensor& tensor,
      uint64_t step,
      const std::shared_ptr<const PreviousValue>& same = nullptr);
  // The newest from before this step; null if there is none.
  std::shared_ptr<const PreviousValue> Before(uint64_t step, uint32_t node,
                                              uint32_t slot) const;
  // Drops what was not kept in this step.
  void DropOlderThan(uint64_t step);
  void Clear();

  int64_t bytes() const;

 private:
  using Key = std::pair<uint32_t, uint32_t>;
  // Newest first.
  using Values = std::deque<std::shared_ptr<PreviousValue>>;

  // With mu_ held. The value to put `bytes` into, taken out of its place; null
  // if there is no room.
  std::shared_ptr<PreviousValue> Take(const Key& key, int64_t bytes,
                                      uint64_t step);

  const size_t generations_;
  const int64_t budget_bytes_;
  Devices* const devices_;

  mutable std::mutex mu_;
  // Guarded by mu_.
  std::map<Key, Values> values_;
  int64_t bytes_ = 0;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_PREVIOUS_VALUES_H_
