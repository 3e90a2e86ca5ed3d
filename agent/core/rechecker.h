// Checks watchpoints on the values of the current pause.
#ifndef AGENT_CORE_RECHECKER_H_
#define AGENT_CORE_RECHECKER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "agent/base/mutex.h"
#include "agent/core/bindings.h"
#include "agent/core/checker.h"
#include "agent/core/gate.h"
#include "agent/core/host.h"
#include "agent/core/kept_tensors.h"
#include "agent/core/node_table.h"
#include "agent/core/outbox.h"
#include "agent/core/previous_values.h"
#include "agent/core/watch_table.h"

namespace graphdbg::agent {

// Repeats, node by node in execution order, the checks that ran when the nodes
// of this step executed: on their kept outputs, and on those inputs that are
// kept and were not overwritten since. Then checks the bound tensors. Values
// that were overwritten or are no longer kept are skipped, and a Log says how
// many.
//
// The transport's thread adds commands, and the agent's thread serves them. The
// program cannot resume while a node is being checked, but it can between
// nodes, which ends the recheck.
class Rechecker {
 public:
  // All must outlive the rechecker.
  struct Parts {
    const Host* host;
    const NodeTable* nodes;
    const Bindings* bindings;
    KeptTensors* kept;
    const PreviousValues* previous_bound;
    const PreviousValues* previous_outputs;
    WatchTable* watch;
    const Checker* checker;
    Gate* gate;
    Outbox* outbox;
    // Receives what was found. Its stops have no effect: the program is paused.
    std::function<void(Findings)> report;
  };
  explicit Rechecker(Parts parts) : parts_(std::move(parts)) {}

  void Add(v1::Command command) GRAPHDBG_EXCLUDES(mu_);
  // The stream that the commands came from has ended.
  void DropAll() GRAPHDBG_EXCLUDES(mu_);

  // Serves one command. Returns false if there was none.
  bool ServeOne() GRAPHDBG_EXCLUDES(mu_);

 private:
  // The kept outputs of one node.
  struct Outputs {
    uint32_t node;
    std::vector<KeptTensors::Kept> kept;
  };
  // Numbers of tensors, except for `gone`, which counts nodes.
  struct Tally {
    uint64_t checked = 0;
    uint64_t hits = 0;
    uint64_t overwritten = 0;
    uint64_t gone = 0;
  };
  class Round;

  absl::Status Serve(const v1::Command& command);

  const Parts parts_;

  Mutex mu_;
  std::deque<v1::Command> commands_ GRAPHDBG_GUARDED_BY(mu_);
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_RECHECKER_H_
