// What is known of the values that this step's ops left in memory.
#ifndef AGENT_CORE_SEEN_VALUES_H_
#define AGENT_CORE_SEEN_VALUES_H_

#include <cstdint>
#include <memory>
#include <mutex>

#include "agent/conditions/tensor_measurements.h"
#include "agent/core/previous_values.h"
#include "agent/core/step_map.h"
#include "agent/include/graphdbg/agent.h"
#include "agent/tensor/dtype.h"

namespace graphdbg::agent {

// About half of what a transformer's ops return are views of memory that was
// looked at when it was filled: what was found then holds for them, and a copy
// that was made then holds their values, so that they are read no second time.
//
// Whoever uses this must see every op that writes. What writes behind its back
// (a reduction over ranks, say) is found where the next op computes with it.
//
// Any thread.
class SeenValues {
 public:
  // Memory was written: what was known of it no longer holds.
  void RecordWrite(uint64_t storage_id);
  // What a pass over a tensor's values showed. Of small tensors nothing is
  // remembered: reading them costs less.
  void Put(const graphdbg_tensor& tensor, const conditions::ScanResult& pass);
  // A copy of the values; for the tensor that was put last of its storage.
  void PutCopy(const graphdbg_tensor& tensor,
               const std::shared_ptr<const PreviousValue>& copy);

  struct Seen {
    conditions::ScanResult pass;
    // Of memory in which all elements lie.
    std::shared_ptr<const PreviousValue> copy;
  };
  // What is known of a view's elements.
  Seen Find(const graphdbg_tensor& view) const;

  void Clear();

 private:
  // Memory that was looked at, and whether it has been written since.
  struct Region {
    bool intact = false;
    DType dtype = DType::kUnspecified;
    const char* begin = nullptr;
    int64_t count = 0;
    conditions::ScanResult pass;
    // Owned by who keeps it for the next step.
    std::weak_ptr<const PreviousValue> copy;
  };

  mutable std::mutex mu_;
  // Guarded by mu_. By storage.
  StepMap<Region> regions_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_SEEN_VALUES_H_
