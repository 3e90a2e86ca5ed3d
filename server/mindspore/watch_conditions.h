// Conditions of the catalogue as MindSpore's debugger checks them.
#ifndef SERVER_MINDSPORE_WATCH_CONDITIONS_H_
#define SERVER_MINDSPORE_WATCH_CONDITIONS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/mindspore/debugger.pb.h"
#include "server/mindspore/profile.h"
#include "server/model/watch.h"

namespace graphdbg::mindspore {

struct WireCondition {
  debugger::WatchCondition condition;
  // What people call the measured values, by the wire's parameter names.
  std::map<std::string, std::string> names;
};

// One or more, any of which meets the condition. Parameters are complete and in
// the order in which clients read them. UNIMPLEMENTED "unsupported_condition"
// if this release, or the device, cannot check it.
absl::StatusOr<std::vector<WireCondition>> WireConditionsOf(
    const model::Condition& condition, const Profile& profile, bool ascend);

// Never met; a client keeps the tensors of the nodes that it watches.
WireCondition NeverMet(const Profile& profile);

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_WATCH_CONDITIONS_H_
