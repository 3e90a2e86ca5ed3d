#ifndef AGENT_ADAPTERS_PYTORCH_NODE_NAMES_H_
#define AGENT_ADAPTERS_PYTORCH_NODE_NAMES_H_

#include <c10/util/SmallVector.h>
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

// The scopes of a program and the names of its ops.
//
// The name of an op consists of its phase, its scope, and its number among the
// ops of the same name within a pass: forward/conv1/convolution,
// forward/conv1/convolution_1. A pass is a step, or the part of a step between
// two calls of the same model. The same control flow therefore produces the
// same names in every step, and an evaluation loop repeats the names of its
// first batch.
//
// Ops outside all modules are counted separately in each segment between two
// model calls, because the first step starts with a call of the model, but
// later steps start with the preparation of a batch.
//
// Not thread-safe.
class NodeNames {
 public:
  NodeNames();

  // The scope of a module path or of an optimizer's class. The same path always
  // has the same scope; scope 0 has the empty path.
  uint32_t Scope(std::string_view path, std::string_view type);
  const std::string& type(uint32_t scope) const { return scopes_[scope].type; }

  // "forward/layer1/conv"; "forward" for scope 0.
  std::string FullName(Phase phase, uint32_t scope) const;

  // True once per phase and scope.
  bool FirstUse(Phase phase, uint32_t scope);

  // Prevents ops from getting the name of a parameter or scope.
  void Reserve(std::string full_name);
  bool IsReserved(const std::string& full_name) const {
    return reserved_.count(full_name) > 0;
  }

  // A position among the ops of one name in one scope, and its node from an
  // earlier pass; 0 if the position is new.
  struct Place {
    uint32_t position;
    uint32_t node;
  };
  // Counts an execution of an op.
  Place Count(const Placement& placement, const OpName& op);
  // The name for a new position. Each call returns a different name.
  std::string NewName(const Placement& placement, const OpName& op);
  void SetNode(const Placement& placement, const OpName& op, uint32_t position,
               uint32_t node);

  // `segment` is the number of models that the pass has called.
  void BeginPass(uint32_t segment) {
    ++pass_;
    segment_ = segment;
  }
  void BeginSegment(uint32_t segment) { segment_ = segment; }

 private:
  // Further ops of the same name in the same scope share one node. Reached by
  // Python loops over elements.
  static constexpr uint32_t kMaxPerName = 4096;

  struct ScopeRecord {
    std::string path;
    std::string type;
    bool used[3] = {};
  };
  struct Series {
    uint64_t pass = 0;
    uint32_t count = 0;
    // Optimizers run most ops once for each of a few parameters.
    c10::SmallVector<uint32_t, 6> nodes;
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
  uint32_t segment_ = 0;
};

}  // namespace graphdbg::pytorch

#endif  // AGENT_ADAPTERS_PYTORCH_NODE_NAMES_H_
