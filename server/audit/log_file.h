// The files of the audit log.
#ifndef SERVER_AUDIT_LOG_FILE_H_
#define SERVER_AUDIT_LOG_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace graphdbg::audit {

// Lines in a file that is only appended to. A full file gets a number, and a
// new one is started. Not thread-safe.
class LogFile {
 public:
  static absl::StatusOr<std::unique_ptr<LogFile>> Open(std::string dir,
                                                       uint64_t max_bytes,
                                                       uint64_t max_old);
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  // Appends the whole line or nothing.
  absl::Status Append(std::string_view line);

  // A position between lines: the number that a file has or will get, and a
  // byte in it.
  struct Position {
    uint64_t file = 0;
    uint64_t offset = 0;
  };
  Position end() const { return {number_, size_}; }
  // The lines before `position`, newest first, at most `limit`. Moves
  // `position` before the last one returned; its file is 0 if there are no
  // earlier lines.
  std::vector<std::string> ReadBefore(Position& position, uint32_t limit) const;

 private:
  LogFile(std::string dir, uint64_t max_bytes, uint64_t max_old)
      : dir_(std::move(dir)), max_bytes_(max_bytes), max_old_(max_old) {}

  // The file with a number, whether it is the current or an older one.
  std::string NameOf(uint64_t number) const;
  absl::Status OpenCurrent();
  absl::Status Rotate();

  const std::string dir_;
  const uint64_t max_bytes_;
  const uint64_t max_old_;
  int fd_ = -1;
  // The number that the current file will get; the first is 1.
  uint64_t number_ = 1;
  uint64_t size_ = 0;
};

}  // namespace graphdbg::audit

#endif  // SERVER_AUDIT_LOG_FILE_H_
