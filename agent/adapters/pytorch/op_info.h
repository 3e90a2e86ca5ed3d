#ifndef AGENT_ADAPTERS_PYTORCH_OP_INFO_H_
#define AGENT_ADAPTERS_PYTORCH_OP_INFO_H_

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>

#include <cstdint>
#include <string>
#include <vector>

namespace graphdbg::pytorch {

struct OpName {
  std::string text;  // "addmm"
  uint32_t id = 0;   // equal for equal texts
};

// Properties of an operator, obtained from the dispatcher once per overload.
struct OpInfo {
  std::string full_name;  // "aten::addmm"
  OpName name;
  // The name within the backward pass. The engine sums gradients in place or
  // not (add_ or add), depending on other references, such as those of the
  // agent.
  OpName backward_name;

  // Is composed of other ops, except on the backends that have kernels of its
  // own: c10::BackendComponent is a bit's number. silu_backward, for example,
  // has kernels for the CPU and for CUDA.
  bool composite = false;
  uint64_t backends_with_kernels = 0;
  // Returns or writes tensors.
  bool node = false;
  // Returns nothing: the results are the arguments that it writes.
  bool returns_nothing = false;
  // Reads and overwrites an argument; false for out= variants.
  bool in_place = false;
  // Its results may be views of arguments.
  bool may_return_views = false;
  // Fills in a number that the caller passes.
  bool fills = false;
  // Only the first result is returned to the caller.
  bool has_auxiliary_results = false;
  // Any of GRAPHDBG_UNINITIALIZED and GRAPHDBG_MOVES_VALUES.
  uint32_t flags = 0;
  uint32_t argument_count = 0;
  uint32_t return_count = 0;
  // Has out= arguments.
  bool has_out = false;
  std::vector<std::string> argument_names;
  // Arguments that are written, whether any is, and those that are only written
  // (out=).
  std::vector<bool> written;
  bool writes = false;
  std::vector<bool> out_only;

  // The operator's schema, which lives as long as the process; null for regions
  // of compiled code.
  const c10::FunctionSchema* schema = nullptr;
  // Takes numbers from a random number generator.
  bool random = false;
  // Communicates with other ranks.
  bool collective = false;
  // In place, and does not read the first argument, which it overwrites.
  bool overwrites = false;
  // Cannot be repeated in another process, which has only PyTorch.
  bool only_here = false;

  // Whether no call of it can be a node of the graph.
  bool IsNeverNode() const {
    return !node || (composite && backends_with_kernels == 0);
  }
  // Whether a kernel of its own runs for tensors with these keys, so that it is
  // not composed of other ops.
  bool IsLeaf(c10::DispatchKeySet keys) const {
    if (!composite || backends_with_kernels == 0) return !composite;
    return backends_with_kernels >>
               static_cast<uint64_t>(keys.highestBackendKey()) &
           1;
  }
};

// The op that `fn` runs; null if it is a named range instead of an operator.
// The result lives as long as the process. Thread-safe.
const OpInfo* FindOp(const at::RecordFunction& fn);
// The info of an operator of the dispatcher; never null.
const OpInfo* FindOp(const c10::OperatorHandle& op);
// A pseudo op for regions of compiled code, which takes and returns a list of
// tensors.
const OpInfo* CompiledRegion();

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_OP_INFO_H_
