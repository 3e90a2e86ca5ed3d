// Checks watchpoints on parameters, buffers and other bound tensors.
#ifndef AGENT_CORE_BOUND_TENSOR_CHECKER_H_
#define AGENT_CORE_BOUND_TENSOR_CHECKER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "agent/core/bindings.h"
#include "agent/core/checker.h"
#include "agent/core/devices.h"
#include "agent/core/execution_counter.h"
#include "agent/core/host.h"
#include "agent/core/node_table.h"
#include "agent/core/previous_values.h"
#include "agent/core/watch_table.h"

namespace graphdbg::agent {

// Bound tensors have no execution of their own, so they are checked when the
// program starts and at the end of each step. Those on accelerators are
// measured in batches, with few launches and one wait for each.
//
// Called by the training thread that starts the program or ends a step. Has no
// state and needs no lock.
class BoundTensorChecker {
 public:
  // All must outlive this.
  struct Parts {
    const Host* host;
    Devices* devices;
    const NodeTable* nodes;
    const Bindings* bindings;
    // Values of bound tensors at the end of the last step.
    const PreviousValues* previous;
    const Checker* checker;
    ExecutionCounter* counter;
  };
  explicit BoundTensorChecker(const Parts& parts) : parts_(parts) {}

  // Checks the values at the end of this step, or with step 0 those before the
  // first one. Inputs are not checked here but when the program's model
  // receives them.
  void Check(const WatchSnapshot& watch, uint64_t step,
             Findings* findings) const;

  // Records on which devices the tensors are, which is where the program
  // trains, even if nothing is watched.
  void RecordDevices() const;

  // Marks buffers and constants that hold infinities before the first step:
  // those were created with them, like the mask of an attention layer, so they
  // are intentional.
  void MarkIntentionalInfinities() const;

 private:
  struct BoundNode {
    uint32_t node;
    std::unique_ptr<BoundTensor> value;
  };

  // `tested`: it is known to be finite.
  void CheckOne(const WatchSnapshot& watch, uint32_t node,
                const BoundTensor& bound, bool tested, uint64_t step,
                Findings* findings) const;
  void CheckOnDevices(const WatchSnapshot& watch, std::vector<BoundNode> nodes,
                      uint64_t step, Findings* findings) const;
  // The members are on one device and their conditions need statistics only.
  void CheckBatch(const WatchSnapshot& watch, runtime::Accelerator* device,
                  runtime::Stream stream,
                  const std::vector<BoundNode*>& members, uint64_t step,
                  Findings* findings) const;
  // Returns false if the values cannot be read.
  bool ComputeStatistics(const graphdbg_tensor& tensor,
                         Statistics* statistics) const;

  const Parts parts_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_BOUND_TENSOR_CHECKER_H_
