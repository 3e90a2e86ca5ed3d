#include "server/rules/append_line.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace graphdbg::rules {

absl::Status AppendLine(const std::string& path, std::string line,
                        uint64_t max_bytes) {
  line += '\n';
  const int fd = ::open(
      path.c_str(),
      O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
      0600);
  if (fd < 0) return absl::ErrnoToStatus(errno, path);
  const absl::Cleanup close = [fd] { ::close(fd); };
  struct stat info {};
  if (::fstat(fd, &info) != 0) return absl::ErrnoToStatus(errno, path);
  if (!S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is not a regular file"));
  }
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size + line.size() > max_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, " has reached ", max_bytes, " bytes"));
  }
  const ssize_t written = ::write(fd, line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) return absl::OkStatus();
  const int error = written < 0 ? errno : ENOSPC;
  // Without the part of the line that was written.
  if (::ftruncate(fd, info.st_size) != 0) {
    return absl::ErrnoToStatus(errno, path);
  }
  return absl::ErrnoToStatus(error, path);
}

}  // namespace graphdbg::rules
