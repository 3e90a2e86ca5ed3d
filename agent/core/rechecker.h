// Checks watchpoints on the values of the present stop.
#ifndef AGENT_CORE_RECHECKER_H_
#define AGENT_CORE_RECHECKER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <vector>

#include "absl/status/status.h"
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

// Does over again, node after node in the order of execution, what was done
// when the nodes of this step executed: with their kept outputs, and their
// inputs as far as they are kept and were not overwritten since. Then the bound
// tensors. What was overwritten or is gone is skipped, and a Log says so.
//
// Commands are put in by the transport's thread and served by the agent's. The
// program is kept from going on while one node is checked.
class Rechecker {
 public:
  // All must outlive the rechecker.
  struct Parts {
    const Host* host;
    const NodeTable* nodes;
    const Bindings* bindings;
    const KeptTensors* kept;
    const PreviousValues* previous_bound;
    const PreviousValues* previous_outputs;
    WatchTable* watch;
    const Checker* checker;
    Gate* gate;
    Outbox* outbox;
    // Takes what was found; stops in it mean nothing.
    std::function<void(Findings)> report;
  };
  explicit Rechecker(Parts parts) : parts_(std::move(parts)) {}

  void Ask(v1::Command command);
  // The stream on which was asked is gone.
  void DropAll();

  // Serves one command if there is one; true if there was.
  bool ServeOne();

 private:
  // One node's kept outputs.
  struct Outputs {
    uint32_t node;
    std::vector<KeptTensors::Kept> kept;
  };
  struct Tally {
    uint64_t checked = 0;
    uint64_t hits = 0;
    uint64_t overwritten = 0;
    uint64_t gone = 0;
  };
  class Round;

  absl::Status Serve(const v1::Command& command);

  const Parts parts_;

  std::mutex mu_;
  // Guarded by mu_.
  std::deque<v1::Command> commands_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_RECHECKER_H_
