#ifndef AGENT_CORE_ZIP_WRITER_H_
#define AGENT_CORE_ZIP_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/core/sha256.h"

namespace graphdbg::agent {

// Writes a ZIP archive whose members are stored, not compressed; of more than
// 4 GiB if needed (ZIP64). All functions return the error of the file.
class ZipWriter {
 public:
  // `file` is empty, can seek, and stays the caller's.
  explicit ZipWriter(int file) : file_(file) {}

  // Begins a member of exactly `bytes` bytes, which Write then adds.
  absl::Status Begin(std::string name, uint64_t bytes);
  absl::Status Write(absl::string_view bytes);
  // Ends the member and returns its SHA-256.
  absl::StatusOr<std::string> End();
  // A whole member.
  absl::StatusOr<std::string> Add(std::string name, absl::string_view content);

  // Writes the archive's directory. Nothing may be added afterwards.
  absl::Status Finish();

 private:
  struct Member {
    std::string name;
    uint64_t offset = 0;
    uint64_t bytes = 0;
    uint32_t checksum = 0;
  };

  absl::Status Append(absl::string_view bytes);
  static std::string LocalHeader(const Member& member);
  static std::string DirectoryEntry(const Member& member);

  const int file_;
  uint64_t end_ = 0;
  std::vector<Member> members_;
  uint64_t written_ = 0;
  Sha256 digest_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_ZIP_WRITER_H_
