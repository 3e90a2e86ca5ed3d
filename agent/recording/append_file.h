// Writes files that only grow: messages, and lines of JSON.
#ifndef AGENT_RECORDING_APPEND_FILE_H_
#define AGENT_RECORDING_APPEND_FILE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/recording/file.h"

namespace graphdbg::recording {

// Used by one thread at a time. What could not be written is kept, and is
// written first the next time.
class AppendFile {
 public:
  // The file is created with the first bytes, and begins with `header`.
  AppendFile(std::string path, std::string header)
      : path_(std::move(path)), pending_(std::move(header)) {}

  // Adds bytes for the next Write.
  void Add(absl::string_view bytes) {
    pending_.append(bytes.data(), bytes.size());
    added_ = true;
  }
  // Bytes that wait to be written.
  size_t pending_bytes() const { return added_ ? pending_.size() : 0; }
  absl::Status Write();
  // Null until something has been written. Stays valid, and any thread may sync
  // it.
  File* file() { return file_.is_open() ? &file_ : nullptr; }

 private:
  const std::string path_;
  std::string pending_;
  bool added_ = false;
  File file_;
  uint64_t bytes_ = 0;
};

}  // namespace graphdbg::recording

#endif  // AGENT_RECORDING_APPEND_FILE_H_
