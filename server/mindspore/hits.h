// Hits as clients report them, as the session's.
#ifndef SERVER_MINDSPORE_HITS_H_
#define SERVER_MINDSPORE_HITS_H_

#include <cstdint>
#include <string>

#include "proto/mindspore/debugger.pb.h"
#include "server/jobs/agent_port.h"
#include "server/mindspore/node_book.h"
#include "server/mindspore/wire_watchpoint.h"

namespace graphdbg::mindspore {

// Why a client could not check a watchpoint, for people; empty for a real hit.
std::string ErrorText(int error_code);

// Whether training should stop for it. That there is no earlier value to
// compare with, as in the first step, is none.
bool IsWorthAStop(int error_code);

// The output that was hit, null if it is not known.
const BookNode* NodeOfHit(const debugger::WatchpointHit& hit,
                          const NodeBook& book);

// Without order, step and statistics, which the wire does not tell.
jobs::HitReport TranslateHit(const debugger::WatchpointHit& hit,
                             const WireWatchpoint& watchpoint,
                             const BookNode& node);

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_HITS_H_
