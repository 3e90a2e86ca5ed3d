#ifndef AGENT_ADAPTERS_PYTORCH_NODE_NAMES_H_
#define AGENT_ADAPTERS_PYTORCH_NODE_NAMES_H_

#include <c10/util/flat_hash_map.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "agent/adapters/pytorch/context.h"
#include "agent/adapters/pytorch/op_info.h"

namespace graphdbg::pytorch {

// The scopes of a program, and the names of its ops.
//
// An op is named by phase, scope and its number among those of its name in its
// pass: forward/conv1/convolution, forward/conv1/convolution_1. A pass is a
// step, or a part of one between two calls of the same model, so that the same
// control flow meets the same names in every step, and an evaluation loop meets
// the names of its first batch again.
//
// What runs outside all modules is counted by the stretch between two model
// calls that it is in: the first step begins with the model's call, the others
// with the making of their batch.
//
// Not thread safe.
class NodeNames {
 public:
  NodeNames();

  // The scope of a module path or of an optimizer's class. The same path gives
  // the same scope; scope 0 has the empty path.
  uint32_t Scope(std::string_view path, std::string_view type);
  const std::string& type(uint32_t scope) const { return scopes_[scope].type; }

  // "forward/layer1/conv"; "forward" for scope 0.
  std::string FullName(Phase phase, uint32_t scope) const;

  // True once per phase and scope.
  bool FirstUse(Phase phase, uint32_t scope);

  // No op gets this name: a parameter or a scope has it.
  void Reserve(std::string full_name);
  bool IsReserved(const std::string& full_name) const {
    return reserved_.count(full_name) > 0;
  }

  // A place in the order of the ops of one name in one scope, and the node that
  // was there in an earlier pass; 0 if it is new.
  struct Place {
    uint32_t position;
    uint32_t node;
  };
  // Counts an execution of an op.
  Place Count(const Placement& placement, const OpName& op);
  // The name for a new place. Each call gives another one.
  std::string NewName(const Placement& placement, const OpName& op);
  void SetNode(const Placement& placement, const OpName& op, uint32_t position,
               uint32_t node);

  // `stretch`: how many models the pass has called.
  void NewPass(uint32_t stretch) {
    ++pass_;
    stretch_ = stretch;
  }
  void NewStretch(uint32_t stretch) { stretch_ = stretch; }

 private:
  // Beyond this many ops of one name in one scope, all are one node: a loop in
  // Python over the elements of something.
  static constexpr uint32_t kMaxPerName = 4096;

  struct ScopeRecord {
    std::string path;
    std::string type;
    bool used[3] = {};
  };
  struct Series {
    uint64_t pass = 0;
    uint32_t count = 0;
    std::vector<uint32_t> nodes;
  };

  static uint64_t Key(Phase phase, uint32_t scope, const OpName& op) {
    return (static_cast<uint64_t>(scope) << 32) |
           (static_cast<uint64_t>(op.id) << 2) | static_cast<uint64_t>(phase);
  }
  Series& SeriesOf(const Placement& placement, const OpName& op);

  std::vector<ScopeRecord> scopes_;
  std::unordered_map<std::string, uint32_t> scope_by_path_;
  uint32_t last_scope_ = 0;
  std::unordered_set<std::string> reserved_;
  ska::flat_hash_map<uint64_t, Series> series_;
  std::unordered_map<uint64_t, uint32_t> next_suffix_;
  uint64_t pass_ = 1;
  uint32_t stretch_ = 0;
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_NODE_NAMES_H_
