// How long the ops of a rank of a recorded run took.
#ifndef SERVER_RUNS_RUN_OP_TIMES_H_
#define SERVER_RUNS_RUN_OP_TIMES_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/runs/layout.h"
#include "server/graph/agent_ids.h"
#include "server/jobs/op_time_table.h"
#include "server/runs/files.h"
#include "server/runs/messages.h"

namespace graphdbg::recorded {

// Of a run with more timed steps than the table keeps, every second, fourth, …
// is there. Not thread-safe.
class RunOpTimes {
 public:
  // Adds what was recorded since the last call. `ids` has the nodes of the
  // graph, which must have been read. DATA_LOSS: what could be read was added.
  absl::Status Update(const Folder& folder, const graph::AgentIds& ids);

  const jobs::OpTimeTable& table() const { return table_; }

 private:
  absl::Status Add(absl::string_view message, const graph::AgentIds& ids);

  MessageFollower file_{runs::kOpTimesFile, runs::MessageKind::kOpTimes};
  jobs::OpTimeTable table_{jobs::OpTimeTable::WhenFull::kThinOut};
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_RUN_OP_TIMES_H_
