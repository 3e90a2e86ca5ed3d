#include "server/store/dir_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace graphdbg::store {
namespace {

// The process id that the holder wrote into the file, for error messages.
std::string HolderOf(int fd) {
  char text[32] = "";
  const ssize_t size = pread(fd, text, sizeof(text) - 1, 0);
  return size > 0 ? absl::StrCat(" (process ", std::string(text), ")") : "";
}

}  // namespace

absl::StatusOr<DirLock> DirLock::Take(const std::string& dir) {
  const std::string file = dir + "/lock";
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot open ", file, ": ", std::strerror(errno)));
  }
  DirLock lock(fd);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "another server", HolderOf(fd), " uses the data directory ", dir,
        "; stop it, or choose another directory with --data-dir"));
  }
  const std::string pid = std::to_string(getpid());
  const bool written =
      ftruncate(fd, 0) == 0 &&
      pwrite(fd, pid.data(), pid.size(), 0) == static_cast<ssize_t>(pid.size());
  if (!written) {
    return absl::UnavailableError(
        absl::StrCat("cannot write ", file, ": ", std::strerror(errno)));
  }
  return lock;
}

DirLock::DirLock(DirLock&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)) {}

DirLock::~DirLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace graphdbg::store
