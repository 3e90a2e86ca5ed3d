// Writes files that only their owner can read.
#ifndef SERVER_MINDSPORE_PRIVATE_FILE_H_
#define SERVER_MINDSPORE_PRIVATE_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "google/protobuf/message_lite.h"

namespace graphdbg::mindspore {

// Appends a length-delimited message, and waits until it is on the disk. A
// message that cannot be written completely leaves no trace.
absl::Status AppendMessage(const std::string& path,
                           const google::protobuf::MessageLite& message);

// Replaces the file, which always has either the old or the new content. If
// `durable`, waits until the new content is on the disk.
absl::Status ReplaceFile(const std::string& path, const std::string& content,
                         bool durable);

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_PRIVATE_FILE_H_
