// Values of a session as records of the store, and back.
#ifndef SERVER_STORE_ENCODE_H_
#define SERVER_STORE_ENCODE_H_

#include "server/graph/graph_store.h"
#include "server/graph/node_record.h"
#include "server/jobs/agent_port.h"
#include "server/jobs/run_state.h"
#include "server/model/graph.h"
#include "server/model/tensor.h"
#include "server/model/watch.h"
#include "server/store/records.pb.h"
#include "server/watch/hit_log.h"

namespace graphdbg::store {

Hello Encode(const jobs::AgentHello& hello);
RankState Encode(const jobs::RunState& run, const jobs::ExitReport* farewell);
Frame Encode(const model::SourceLine& line);
Node Encode(const graph::GraphStore& graph, graph::NodeIndex index);
Watchpoint Encode(const model::WatchpointSpec& spec);
Statistics Encode(const model::Statistics& statistics);
Hit Encode(const watch::HitRecord& hit);

// Without job and rank, which are columns.
jobs::AgentHello Decode(const Hello& hello);
jobs::RunState DecodeRun(const RankState& state);
std::optional<jobs::ExitReport> DecodeFarewell(const RankState& state);
model::SourceLine Decode(const Frame& frame);
// Its id is its index plus one; the stack is empty, for its frames are by
// number.
graph::NodeRecord Decode(const Node& node, graph::NodeIndex index);
model::WatchpointSpec Decode(const Watchpoint& watchpoint);
model::Statistics Decode(const Statistics& statistics);
// Without id and condition.
watch::HitRecord Decode(const Hit& hit);

}  // namespace graphdbg::store

#endif  // SERVER_STORE_ENCODE_H_
