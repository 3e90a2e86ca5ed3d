// Nodes whose infinities the user has declared to be intentional.
#ifndef AGENT_CORE_INTENTIONAL_NODES_H_
#define AGENT_CORE_INTENTIONAL_NODES_H_

#include "absl/strings/string_view.h"
#include "agent/conditions/pattern_set.h"

namespace graphdbg::agent {

struct IntentionalNodes {
  conditions::PatternSet names;
  conditions::PatternSet op_types;

  bool Contains(absl::string_view name, absl::string_view op_type) const {
    return names.Matches(name) || op_types.Matches(op_type);
  }
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_INTENTIONAL_NODES_H_
