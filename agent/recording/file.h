// Files of a recording. Errors name the file and the system's reason.
#ifndef AGENT_RECORDING_FILE_H_
#define AGENT_RECORDING_FILE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphdbg::recording {

// An open file, closed with the object. Programs that the training process
// starts do not inherit it.
class File {
 public:
  File() = default;
  File(File&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}
  File& operator=(File&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(path_, other.path_);
    return *this;
  }
  ~File();

  // Creates a new file. ALREADY_EXISTS if there is one.
  static absl::StatusOr<File> Create(std::string path);

  // Writes all bytes at this offset. After a failure, some of them may have
  // been written.
  absl::Status WriteAt(uint64_t offset, absl::string_view bytes);
  // Waits until what was written is on the disk.
  absl::Status Sync();

  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }

 private:
  File(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  int fd_ = -1;
  std::string path_;
};

// The status of a system call that failed with `error` (errno): OK for none,
// RESOURCE_EXHAUSTED if there is no room, UNAVAILABLE for anything else.
absl::Status ErrorOf(int error, absl::string_view what,
                     const std::string& path);

// Creates the directory and those above it.
absl::Status MakeDirectories(const std::string& path);
// Makes a file's name as durable as its content. `path` is the file's.
absl::Status SyncDirectoryOf(const std::string& path);
// Renames, and makes the new name durable.
absl::Status RenameDurably(const std::string& from, const std::string& to);
// Replaces the file, so that a reader sees the old or the new content.
absl::Status ReplaceFile(const std::string& path, absl::string_view content);
// "a/b" for "a" and "b".
std::string Join(absl::string_view directory, absl::string_view name);

}  // namespace graphdbg::recording

#endif  // AGENT_RECORDING_FILE_H_
