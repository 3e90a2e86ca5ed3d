#include "server/store/dir_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::store {
namespace {

// The process id that the holder wrote into the file, for error messages.
std::string HolderOf(int fd) {
  char text[32] = "";
  const ssize_t size = pread(fd, text, sizeof(text) - 1, 0);
  return size > 0 ? absl::StrCat(" (process ", std::string(text), ")") : "";
}

// Whoever may write into the directory could put links into it, or replace its
// files.
absl::Status CheckOwner(const std::string& dir) {
  struct stat info {};
  if (stat(dir.c_str(), &info) != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot use ", dir, ": ", std::strerror(errno)));
  }
  if ((info.st_mode & 022) != 0) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "other users may write into the data directory %s (mode %04o); run "
        "\"chmod go-w %s\", or choose another directory with --data-dir",
        dir, info.st_mode & 07777, dir));
  }
  if (info.st_uid != geteuid() && geteuid() != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the data directory ", dir,
                     " belongs to another user; choose another directory with "
                     "--data-dir"));
  }
  return absl::OkStatus();
}

// The lock file is written to, so it must not be another name of a file that is
// used for something else.
absl::Status CheckFile(int fd, const std::string& file) {
  struct stat info {};
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 1) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      file, " is not a file that graphdbg has created; remove it"));
}

}  // namespace

absl::StatusOr<DirLock> DirLock::Take(const std::string& dir) {
  RETURN_IF_ERROR(CheckOwner(dir));
  const std::string file = dir + "/lock";
  const int fd =
      open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
           0600);
  if (fd < 0 && errno == ELOOP) {
    return absl::FailedPreconditionError(
        absl::StrCat(file, " is a link; remove it"));
  }
  if (fd < 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot open ", file, ": ", std::strerror(errno)));
  }
  DirLock lock(fd);
  RETURN_IF_ERROR(CheckFile(fd, file));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "another server", HolderOf(fd), " uses the data directory ", dir,
        "; stop it, or choose another directory with --data-dir"));
  }
  const std::string pid = std::to_string(getpid());
  const bool written =
      ftruncate(fd, 0) == 0 &&
      pwrite(fd, pid.data(), pid.size(), 0) == static_cast<ssize_t>(pid.size());
  // The number is a courtesy; a full disk does not keep the server from
  // starting.
  if (!written && errno != ENOSPC && errno != EDQUOT) {
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
