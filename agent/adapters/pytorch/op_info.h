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

// What the adapter has to know of an operator, asked of the dispatcher once
// per overload.
struct OpInfo {
  std::string full_name;  // "aten::addmm"
  OpName name;
  // The name within the backward pass: the engine sums gradients in place or
  // not (add_, add), depending on who else holds them, such as the agent.
  OpName backward_name;

  // It has kernels of its own, rather than being spelled out in other ops.
  bool leaf = false;
  // It makes or writes tensors.
  bool node = false;
  // It returns nothing: results are the arguments it writes.
  bool returns_nothing = false;
  // It reads and overwrites an argument; false for out= variants.
  bool in_place = false;
  // It fills in a number that its caller names.
  bool fills = false;
  // Only its first result is for its caller.
  bool keeps_notes = false;
  // GRAPHDBG_UNINITIALIZED and GRAPHDBG_MOVES_VALUES.
  uint32_t flags = 0;
  uint32_t argument_count = 0;
  uint32_t return_count = 0;
  // It has out= arguments.
  bool has_out = false;
  // Which arguments are written, and which are only written (out=).
  std::vector<bool> written;
  std::vector<bool> out_only;
};

// The op that `fn` runs, or null if it is no operator but a named range. The
// result lives as long as the process. Any thread.
const OpInfo* FindOp(const at::RecordFunction& fn);
// The same for an operator of the dispatcher; never null.
const OpInfo* FindOp(const c10::OperatorHandle& op);
// A region of compiled code, as an op that takes and makes a list of tensors.
const OpInfo* CompiledRegion();

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_OP_INFO_H_
