// The watchpoint that a number on the wire refers to.
#ifndef SERVER_MINDSPORE_WIRE_WATCHPOINT_H_
#define SERVER_MINDSPORE_WIRE_WATCHPOINT_H_

#include <cstdint>
#include <map>
#include <string>

#include "server/model/watch.h"

namespace graphdbg::mindspore {

struct WireWatchpoint {
  // The id in the job.
  uint32_t watchpoint = 0;
  uint32_t revision = 0;
  model::PauseMode pause = model::PauseMode::kNode;
  // The names of measured values in the job, keyed by parameter names on the
  // wire.
  std::map<std::string, std::string> names;
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_WIRE_WATCHPOINT_H_
