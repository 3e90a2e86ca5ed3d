#include "server/auth/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace graphdbg::auth {
namespace {

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

absl::Status Untrusted(const std::string& name, absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat(name, " ", why));
}

absl::Status CannotWrite(const std::string& name) {
  absl::StatusCode code = errno == EACCES || errno == EPERM || errno == EROFS
                              ? absl::StatusCode::kPermissionDenied
                              : absl::StatusCode::kUnavailable;
  return absl::Status(
      code, absl::StrCat("cannot write ", name, ": ", std::strerror(errno)));
}

bool WriteAll(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    content.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

absl::StatusOr<std::string> ReadPrivateFile(const std::string& name,
                                            size_t max_bytes) {
  // Without O_NONBLOCK, opening a pipe waits for its writer.
  File file(open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.fd() < 0) {
    if (errno == ENOENT) return absl::NotFoundError(name + " does not exist");
    if (errno == ELOOP) return Untrusted(name, "is a link");
    return Untrusted(name,
                     absl::StrCat("cannot be opened: ", std::strerror(errno)));
  }
  struct stat info {};
  if (fstat(file.fd(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return Untrusted(name, "is not a regular file");
  }
  if (info.st_uid != geteuid()) return Untrusted(name, "is another user's");
  if ((info.st_mode & 077) != 0) {
    return Untrusted(name, "is accessible to other users");
  }
  if (static_cast<uint64_t>(info.st_size) > max_bytes) {
    return Untrusted(name, "is too long");
  }
  std::string content(static_cast<size_t>(info.st_size), '\0');
  const ssize_t size = pread(file.fd(), content.data(), content.size(), 0);
  if (size < 0) return Untrusted(name, "cannot be read");
  content.resize(static_cast<size_t>(size));
  return content;
}

absl::Status WritePrivateFile(const std::string& name,
                              std::string_view content) {
  const std::string temporary = absl::StrCat(name, ".", getpid());
  unlink(temporary.c_str());
  {
    File file(open(temporary.c_str(),
                   O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (file.fd() < 0) return CannotWrite(name);
    if (fchmod(file.fd(), 0600) != 0 || !WriteAll(file.fd(), content) ||
        fsync(file.fd()) != 0) {
      const absl::Status failure = CannotWrite(name);
      unlink(temporary.c_str());
      return failure;
    }
  }
  if (rename(temporary.c_str(), name.c_str()) != 0) {
    const absl::Status failure = CannotWrite(name);
    unlink(temporary.c_str());
    return failure;
  }
  return absl::OkStatus();
}

}  // namespace graphdbg::auth
