#include "server/runs/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::recorded {
namespace {

// O_NONBLOCK: opening a pipe does not wait for its other end.
constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

absl::Status CannotOpen(const std::string& path, int error) {
  const std::string why =
      absl::StrCat("cannot open ", path, ": ",
                   error == ELOOP ? "it is a link" : std::strerror(error));
  if (error == ENOENT) return absl::NotFoundError(why);
  if (error == ELOOP || error == ENOTDIR) return absl::DataLossError(why);
  return absl::UnavailableError(why);
}

bool IsEntryName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

absl::Status BadName(const std::string& path) {
  return absl::DataLossError(absl::StrCat(path, " is not a name of a file"));
}

}  // namespace

Descriptor::~Descriptor() { close(fd_); }

absl::StatusOr<File> File::Check(std::string path, int fd) {
  if (fd < 0) return CannotOpen(path, errno);
  File file(std::move(path), fd);
  struct stat about;
  if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
    return absl::DataLossError(
        absl::StrCat(file.path(), " is not a regular file"));
  }
  return file;
}

absl::StatusOr<File> File::Open(const std::string& path) {
  return Check(path, open(path.c_str(), kFlags));
}

uint64_t File::size() const {
  struct stat about;
  if (fstat(fd_->fd(), &about) != 0) return 0;
  return static_cast<uint64_t>(about.st_size);
}

absl::StatusOr<size_t> File::ReadAt(uint64_t offset,
                                    std::span<char> out) const {
  size_t done = 0;
  while (done < out.size()) {
    if (offset + done >
        static_cast<uint64_t>(std::numeric_limits<off_t>::max())) {
      break;
    }
    const ssize_t count = pread(fd_->fd(), out.data() + done, out.size() - done,
                                static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return absl::UnavailableError(
          absl::StrCat("cannot read ", path_, ": ", std::strerror(errno)));
    }
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

absl::Status File::ReadExactly(uint64_t offset, std::span<char> out) const {
  ASSIGN_OR_RETURN(const size_t count, ReadAt(offset, out));
  if (count == out.size()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path_, " ends at ", offset + count,
                                          "; expected ", offset + out.size(),
                                          " bytes"));
}

bool File::IsLocked() const {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return fcntl(fd_->fd(), F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

absl::StatusOr<Folder> Folder::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (fd < 0) return CannotOpen(path, errno);
  return Folder(path, fd);
}

absl::StatusOr<Folder> Folder::OpenFolder(const std::string& name) const {
  if (!IsEntryName(name)) return BadName(PathOf(name));
  const int fd = openat(fd_->fd(), name.c_str(), kFlags | O_DIRECTORY);
  if (fd < 0) return CannotOpen(PathOf(name), errno);
  return Folder(PathOf(name), fd);
}

absl::StatusOr<File> Folder::OpenFile(const std::string& name) const {
  if (!IsEntryName(name)) return BadName(PathOf(name));
  return File::Check(PathOf(name), openat(fd_->fd(), name.c_str(), kFlags));
}

absl::StatusOr<std::string> Folder::ReadAll(const std::string& name,
                                            uint64_t max_bytes) const {
  ASSIGN_OR_RETURN(const File file, OpenFile(name));
  const uint64_t size = file.size();
  if (size > max_bytes) {
    return absl::DataLossError(absl::StrCat(
        file.path(), " has ", size, " bytes; the limit is ", max_bytes));
  }
  std::string content(size, '\0');
  ASSIGN_OR_RETURN(const size_t count, file.ReadAt(0, content));
  content.resize(count);
  return content;
}

absl::StatusOr<std::vector<std::string>> Folder::List(size_t most) const {
  // A description of its own: entries are read from its position.
  const int fd = openat(fd_->fd(), ".", O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  DIR* const dir = fd < 0 ? nullptr : fdopendir(fd);
  if (dir == nullptr) {
    const int error = errno;
    if (fd >= 0) close(fd);
    return CannotOpen(path_, error);
  }
  std::vector<std::string> names;
  while (const dirent* entry = readdir(dir)) {
    std::string name = entry->d_name;
    if (IsEntryName(name)) names.push_back(std::move(name));
    if (names.size() > most) break;
  }
  closedir(dir);
  if (names.size() > most) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path_, " has more than ", most, " entries"));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace graphdbg::recorded
