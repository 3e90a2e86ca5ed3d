// What stands behind a watchpoint's number on the wire.
#ifndef SERVER_MINDSPORE_WIRE_WATCHPOINT_H_
#define SERVER_MINDSPORE_WIRE_WATCHPOINT_H_

#include <cstdint>
#include <map>
#include <string>

#include "server/model/watch.h"

namespace graphdbg::mindspore {

struct WireWatchpoint {
  // The session's.
  uint32_t watchpoint = 0;
  uint32_t revision = 0;
  model::PauseMode pause = model::PauseMode::kNode;
  // What people call the measured values, by the wire's parameter names.
  std::map<std::string, std::string> names;
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_WIRE_WATCHPOINT_H_
