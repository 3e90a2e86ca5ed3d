// Translates conditions of the catalogue into those of MindSpore's debugger.
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
  // The names of measured values in the job, keyed by parameter names on the
  // wire.
  std::map<std::string, std::string> names;
};

// Returns one or more conditions of which at least one must match. Their
// parameters are complete and in the order in which clients read them.
// UNIMPLEMENTED "unsupported_condition" if this release or the device cannot
// check the condition.
absl::StatusOr<std::vector<WireCondition>> WireConditionsOf(
    const model::Condition& condition, const Profile& profile, bool ascend);

// A condition that never matches. It makes the client keep the tensors of the
// watched nodes.
WireCondition NeverMatches(const Profile& profile);

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_WATCH_CONDITIONS_H_
