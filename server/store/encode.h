// Conversions of a job's values from and to the records of the store.
#ifndef SERVER_STORE_ENCODE_H_
#define SERVER_STORE_ENCODE_H_

#include <optional>

#include "server/graph/graph_store.h"
#include "server/graph/node_record.h"
#include "server/jobs/agent_port.h"
#include "server/jobs/run_state.h"
#include "server/model/watch.h"
#include "server/store/records.pb.h"
#include "server/watch/hit_log.h"

namespace graphdbg::store {

Hello Encode(const jobs::AgentHello& hello);
RankState Encode(const jobs::RunState& run, const jobs::ExitReport* farewell);
Node Encode(const graph::GraphStore& graph, graph::NodeIndex index);
Watchpoint Encode(const model::WatchpointSpec& spec);
Hit Encode(const watch::HitRecord& record);

// The job and rank are missing; they are in columns of their own.
jobs::AgentHello Decode(const Hello& hello);
jobs::RunState DecodeRun(const RankState& state);
std::optional<jobs::ExitReport> DecodeFarewell(const RankState& state);
// The id is the index plus one. The stack is empty; the record contains the
// indices of its frames.
graph::NodeRecord Decode(const Node& node, graph::NodeIndex index);
model::WatchpointSpec Decode(const Watchpoint& watchpoint);
// The id and the condition are missing.
watch::HitRecord Decode(const Hit& record);

}  // namespace graphdbg::store

#endif  // SERVER_STORE_ENCODE_H_
