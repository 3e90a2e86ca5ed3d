// Translates hits from clients.
#ifndef SERVER_MINDSPORE_HITS_H_
#define SERVER_MINDSPORE_HITS_H_

#include <cstdint>
#include <string>

#include "proto/mindspore/debugger.pb.h"
#include "server/jobs/agent_port.h"
#include "server/mindspore/node_table.h"
#include "server/mindspore/wire_watchpoint.h"

namespace graphdbg::mindspore {

// A text that explains why a client could not check a watchpoint; empty if it
// could.
std::string ErrorText(int error_code);

// Whether training should stop. A missing previous value, as in the first step,
// does not count as a hit.
bool JustifiesStop(int error_code);

// The node that was hit; null if it is unknown.
const NodeEntry* NodeOfHit(const debugger::WatchpointHit& hit,
                           const NodeTable& table);

// The result has no order, step and statistics, which clients do not send.
jobs::HitReport TranslateHit(const debugger::WatchpointHit& hit,
                             const WireWatchpoint& watchpoint,
                             const NodeEntry& node);

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_HITS_H_
