// When a line of source code begins to run, as seen from the ops it makes.
#ifndef AGENT_CORE_LINE_RUNS_H_
#define AGENT_CORE_LINE_RUNS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "agent/base/mutex.h"

namespace graphdbg::agent {

// A line such as `y = torch.relu(self.fc(x.flatten(1)))` makes several ops, in
// `forward` and in `forward/fc`, but a debugger stops at it once. Ops of a line
// that execute directly after each other are one run of it, if the scope of one
// contains the other's. So a line in a loop over layers runs once for each
// layer: their scopes are beside each other. Any thread.
class LineRuns {
 public:
  // `line` was reached at the execution with this order in its step. Returns
  // whether a run of the line begins.
  bool Begins(uint64_t step, uint64_t order, uint32_t node,
              absl::string_view name, absl::string_view file, uint32_t line)
      GRAPHDBG_EXCLUDES(mu_) {
    const absl::string_view scope = name.substr(0, name.rfind('/'));
    MutexLock lock(&mu_);
    const bool goes_on = step == step_ && order == order_ + 1 &&
                         node != first_ && line == line_ && file == file_ &&
                         (Contains(scope_, scope) || Contains(scope, scope_));
    step_ = step;
    order_ = order;
    if (goes_on) {
      // The line's own scope is the outermost.
      if (scope.size() < scope_.size()) scope_ = std::string(scope);
      return false;
    }
    first_ = node;
    line_ = line;
    file_ = std::string(file);
    scope_ = std::string(scope);
    return true;
  }

 private:
  static bool Contains(absl::string_view scope, absl::string_view other) {
    return other.substr(0, scope.size()) == scope &&
           (other.size() == scope.size() || other[scope.size()] == '/');
  }

  Mutex mu_;
  uint64_t step_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  uint64_t order_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  // The run's first node.
  uint32_t first_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  uint32_t line_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  std::string file_ GRAPHDBG_GUARDED_BY(mu_);
  std::string scope_ GRAPHDBG_GUARDED_BY(mu_);
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_LINE_RUNS_H_
