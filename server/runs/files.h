// Reads files of a recorded run, which other users may have written: links,
// pipes and devices are refused, and nothing is mapped, so that a file that
// shrinks while it is read is short and no signal.
#ifndef SERVER_RUNS_FILES_H_
#define SERVER_RUNS_FILES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace graphdbg::recorded {

// A descriptor that is closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int fd() const { return fd_; }

 private:
  const int fd_;
};

// An open regular file. Cheap to copy; any thread.
class File {
 public:
  // Opens a path outside of a run, without following a link at its end. Errors
  // as Folder::OpenFile.
  static absl::StatusOr<File> Open(const std::string& path);

  const std::string& path() const { return path_; }
  // The present size; 0 if it cannot be determined.
  uint64_t size() const;
  // The number of bytes that were read: fewer than requested at the end of the
  // file. UNAVAILABLE if the system refuses.
  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> out) const;
  // DATA_LOSS if the file ends before `out` is full.
  absl::Status ReadExactly(uint64_t offset, std::span<char> out) const;
  // Whether another process holds a POSIX record lock on it.
  bool IsLocked() const;

 private:
  friend class Folder;
  File(std::string path, int fd)
      : path_(std::move(path)), fd_(std::make_shared<Descriptor>(fd)) {}
  static absl::StatusOr<File> Check(std::string path, int fd);

  std::string path_;
  std::shared_ptr<const Descriptor> fd_;
};

// An open directory. Cheap to copy; any thread.
class Folder {
 public:
  // Follows links: users name this directory. NOT_FOUND if there is none.
  static absl::StatusOr<Folder> Open(const std::string& path);

  const std::string& path() const { return path_; }
  // The path of an entry, for messages.
  std::string PathOf(const std::string& name) const {
    return path_ + "/" + name;
  }

  // These refuse links and names that contain a slash. NOT_FOUND if there is
  // no such entry; DATA_LOSS, naming the path, if it is of another kind.
  absl::StatusOr<Folder> OpenFolder(const std::string& name) const;
  absl::StatusOr<File> OpenFile(const std::string& name) const;
  // The content of a file of at most `max_bytes`; DATA_LOSS if it is longer.
  absl::StatusOr<std::string> ReadAll(const std::string& name,
                                      uint64_t max_bytes) const;
  // Names of the entries, sorted, without "." and "..". RESOURCE_EXHAUSTED if
  // there are more than `most`.
  absl::StatusOr<std::vector<std::string>> List(size_t most) const;

 private:
  Folder(std::string path, int fd)
      : path_(std::move(path)), fd_(std::make_shared<Descriptor>(fd)) {}

  std::string path_;
  std::shared_ptr<const Descriptor> fd_;
};

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_FILES_H_
