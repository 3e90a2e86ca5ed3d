// What users have changed in a rank of a recorded run.
#ifndef SERVER_RUNS_USER_CHANGES_H_
#define SERVER_RUNS_USER_CHANGES_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/graphdbg/v1/tensor.pb.h"
#include "proto/runs/layout.h"
#include "server/runs/files.h"
#include "server/runs/messages.h"

namespace graphdbg::recorded {

// Not thread-safe.
class UserChanges {
 public:
  // Adds what was recorded since the last call. DATA_LOSS: what could be read
  // was added.
  absl::Status Update(const Folder& folder);

  // The first ones, if there are too many.
  const std::vector<v1::UserChange>& list() const { return list_; }

 private:
  absl::Status Add(absl::string_view message);

  MessageFollower file_{runs::kUserChangesFile, runs::MessageKind::kUserChange};
  std::vector<v1::UserChange> list_;
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_USER_CHANGES_H_
