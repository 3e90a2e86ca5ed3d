// Findings of checks about memory in the current step.
#ifndef AGENT_CORE_SEEN_VALUES_H_
#define AGENT_CORE_SEEN_VALUES_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "agent/base/mutex.h"
#include "agent/conditions/tensor_measurements.h"
#include "agent/core/previous_values.h"
#include "agent/core/step_map.h"
#include "agent/include/graphdbg/agent.h"
#include "agent/tensor/dtype.h"

namespace graphdbg::agent {

// About half of the tensors that a transformer's ops return are views of memory
// that was already checked when it was written. The findings hold for the views
// as well, and a copy made then contains their values, so that they are not
// read a second time.
//
// The caller must see every op that writes to memory. Bad values that are
// written out of its sight (by a reduction over ranks, for example) are found
// where the next op computes with them.
//
// Any thread.
class SeenValues {
 public:
  // Smaller tensors are ignored: looking them up costs more than reading them.
  static constexpr int64_t kWorthwhileBytes = 16 << 10;
  // Whether it is readable and not smaller.
  static bool IsWorthwhile(const graphdbg_tensor& tensor);

  // The storage was written to: earlier findings no longer hold.
  void RecordWrite(uint64_t storage_id);
  // Remembers the result of a scan of a tensor's values.
  void Put(const graphdbg_tensor& tensor, const conditions::ScanResult& scan);
  // Remembers a copy of the values of the tensor that was put last for its
  // storage.
  void PutCopy(const graphdbg_tensor& tensor,
               const std::shared_ptr<const PreviousValue>& copy);

  struct Seen {
    conditions::ScanResult scan;
    // A copy of memory that contains all elements of the view; may be null.
    std::shared_ptr<const PreviousValue> copy;
  };
  // Returns what is known about the elements of a view.
  Seen Find(const graphdbg_tensor& view) const;

  void Clear();

 private:
  // Memory that was scanned.
  struct Region {
    // It has not been written to since.
    bool intact = false;
    DType dtype = DType::kUnspecified;
    const char* begin = nullptr;
    int64_t count = 0;
    conditions::ScanResult scan;
    // Owned by PreviousValues.
    std::weak_ptr<const PreviousValue> copy;
  };

  // Whether anything was put.
  std::atomic<bool> any_{false};
  mutable Mutex mu_;
  // By storage.
  StepMap<Region> regions_ GRAPHDBG_GUARDED_BY(mu_);
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_SEEN_VALUES_H_
