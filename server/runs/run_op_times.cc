#include "server/runs/run_op_times.h"

#include <utility>
#include <variant>

#include "proto/graphdbg/v1/agent_service.pb.h"
#include "proto/wire/status_macros.h"
#include "proto/wire/validate.h"
#include "server/ingest/decode.h"

namespace graphdbg::recorded {

absl::Status RunOpTimes::Update(const Folder& folder,
                                const graph::AgentIds& ids) {
  absl::Status problem;
  const absl::Status read = file_.Poll(folder, [&](absl::string_view message) {
    const absl::Status added = Add(message, ids);
    if (problem.ok()) problem = added;
  });
  return problem.ok() ? read : problem;
}

absl::Status RunOpTimes::Add(absl::string_view bytes,
                             const graph::AgentIds& ids) {
  v1::AgentMessage message;
  if (!message.mutable_overview()->ParseFromArray(
          bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError("a message cannot be decoded");
  }
  RETURN_IF_ERROR(wire::Validate(message));
  const jobs::AgentReport decoded = ingest::DecodeReport(message);
  const auto& report = std::get<jobs::OverviewReport>(decoded);
  jobs::OpTimeTable::Step step = {
      report.step.step, report.step.duration_ns, report.ops_left_out, {}};
  for (const jobs::OverviewReport::Op& op : report.ops) {
    const graph::NodeIndex node = ids.Find(op.node_id);
    if (node == graph::kNoNode) continue;
    step.ops.push_back({node, op.thread, op.start_ns, op.duration_ns});
  }
  table_.Add(std::move(step));
  return absl::OkStatus();
}

}  // namespace graphdbg::recorded
