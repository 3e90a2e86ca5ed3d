// Reads and writes files of messages: graph.gdbm, hits.gdbm, op-times.gdbm,
// user-changes.gdbm.
#ifndef PROTO_RUNS_MESSAGE_FILE_H_
#define PROTO_RUNS_MESSAGE_FILE_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/runs/headers.h"

namespace graphdbg::runs {

// Bytes of a message, which is never empty: a tail of zeros is no message.
inline constexpr uint32_t kMaxMessageBytes = 4 << 20;

// Iterates over the messages of a file in memory, from the first up to the
// first that does not fit: too large, cut off, or with a bad checksum.
class MessageReader {
 public:
  // DATA_LOSS if the header is bad, or the file has messages of another kind.
  static absl::StatusOr<MessageReader> Open(absl::string_view file,
                                            MessageKind kind);

  // The next message, a view of the file; absent at the end.
  std::optional<absl::string_view> Next();

  // Where the next message begins, in bytes from the file's beginning. Behind
  // the last, this is where the file's valid part ends.
  size_t offset() const { return offset_; }

 private:
  MessageReader(absl::string_view file, size_t offset)
      : file_(file), offset_(offset) {}

  absl::string_view file_;
  size_t offset_;
};

// The beginning of a file for messages of this kind.
std::string EncodeMessagesHeader(MessageKind kind);
// Appends size, checksum and bytes to `out`. `message` has 1 to
// kMaxMessageBytes bytes.
void AppendMessage(absl::string_view message, std::string* out);

}  // namespace graphdbg::runs

#endif  // PROTO_RUNS_MESSAGE_FILE_H_
