// Follows a file of messages: graph.gdbm, hits.gdbm.
#ifndef SERVER_RUNS_MESSAGES_H_
#define SERVER_RUNS_MESSAGES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/runs/headers.h"
#include "server/runs/files.h"

namespace graphdbg::recorded {

class MessageFollower {
 public:
  MessageFollower(std::string name, runs::MessageKind kind)
      : name_(std::move(name)), kind_(kind) {}

  // Passes the messages that were written since the last call to `use`. A file
  // that does not exist has none. DATA_LOSS names the file and the offset at
  // which it is damaged; messages before that have been passed on. A message
  // that is being written is passed on by a later call.
  absl::Status Poll(const Folder& folder,
                    absl::FunctionRef<void(absl::string_view)> use);

  // Bytes at the end that are no message.
  uint64_t rest_bytes() const { return rest_bytes_; }

 private:
  const std::string name_;
  const runs::MessageKind kind_;
  std::optional<File> file_;
  // Where the next message begins.
  uint64_t offset_ = runs::kMessagesHeaderBytes;
  uint64_t rest_bytes_ = 0;
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_MESSAGES_H_
