// Values of a session as records of the store, and back.
#ifndef SERVER_STORE_ENCODE_H_
#define SERVER_STORE_ENCODE_H_

#include "server/graph/graph_store.h"
#include "server/graph/node_record.h"
#include "server/session/agent_port.h"
#include "server/session/run_state.h"
#include "server/session/types.h"
#include "server/store/records.pb.h"
#include "server/watch/hit_log.h"

namespace graphdbg::store {

Hello Encode(const session::AgentHello& hello);
RankState Encode(const session::RunState& run,
                 const session::Farewell* farewell);
Frame Encode(const session::SourceLine& line);
Node Encode(const graph::GraphStore& graph, graph::NodeIndex index);
Watchpoint Encode(const session::WatchpointSpec& spec);
Statistics Encode(const session::StatisticsInfo& statistics);
Hit Encode(const watch::HitRecord& hit);

// Without job and rank, which are columns.
session::AgentHello Decode(const Hello& hello);
session::RunState DecodeRun(const RankState& state);
std::optional<session::Farewell> DecodeFarewell(const RankState& state);
session::SourceLine Decode(const Frame& frame);
// Its id is its index plus one; the stack is empty, for its frames are by
// number.
graph::NodeRecord Decode(const Node& node, graph::NodeIndex index);
session::WatchpointSpec Decode(const Watchpoint& watchpoint);
session::StatisticsInfo Decode(const Statistics& statistics);
// Without id and condition.
watch::HitRecord Decode(const Hit& hit);

}  // namespace graphdbg::store

#endif  // SERVER_STORE_ENCODE_H_
