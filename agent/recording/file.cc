#include "agent/recording/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "absl/strings/str_cat.h"
#include "proto/runs/layout.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::recording {
namespace {

constexpr mode_t kFileMode = 0666;  // The user's umask decides.
constexpr mode_t kDirectoryMode = 0777;

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

absl::Status ErrorOf(int error, absl::string_view what,
                     const std::string& path) {
  if (error == 0) return absl::OkStatus();
  char text[128];
  const std::string message = absl::StrCat(
      "cannot ", what, " ", path, ": ", strerror_r(error, text, sizeof(text)));
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    return absl::ResourceExhaustedError(message);
  }
  return error == EEXIST ? absl::AlreadyExistsError(message)
                         : absl::UnavailableError(message);
}

File::~File() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<File> File::Create(std::string path) {
  const int fd =
      open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode);
  if (fd < 0) return ErrorOf(errno, "create", path);
  return File(fd, std::move(path));
}

absl::Status File::WriteAt(uint64_t offset, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0) {
      if (errno == EINTR) continue;
      return ErrorOf(errno, "write", path_);
    }
    offset += static_cast<uint64_t>(written);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status File::Sync() {
  return ErrorOf(fdatasync(fd_) == 0 ? 0 : errno, "sync", path_);
}

absl::Status MakeDirectories(const std::string& path) {
  if (mkdir(path.c_str(), kDirectoryMode) == 0) return absl::OkStatus();
  if (errno == ENOENT && DirectoryOf(path) != path) {
    RETURN_IF_ERROR(MakeDirectories(DirectoryOf(path)));
    if (mkdir(path.c_str(), kDirectoryMode) == 0) return absl::OkStatus();
  }
  struct stat status;
  const int error = errno;
  if (error == EEXIST && stat(path.c_str(), &status) == 0 &&
      S_ISDIR(status.st_mode)) {
    return absl::OkStatus();
  }
  return ErrorOf(error, "create the directory", path);
}

absl::Status SyncDirectoryOf(const std::string& path) {
  const std::string directory = DirectoryOf(path);
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ErrorOf(errno, "open", directory);
  const int error = fsync(fd) == 0 ? 0 : errno;
  close(fd);
  return ErrorOf(error, "sync", directory);
}

absl::Status RenameDurably(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) {
    return ErrorOf(errno, "rename", from);
  }
  return SyncDirectoryOf(to);
}

absl::Status ReplaceFile(const std::string& path, absl::string_view content) {
  // All ranks of a job write its run.json, also on machines that use the same
  // numbers for their processes.
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const std::string part = absl::StrCat(path, ".", getpid(), "-", now.tv_sec,
                                        "-", now.tv_nsec, runs::kPartSuffix);
  ASSIGN_OR_RETURN(File file, File::Create(part));
  RETURN_IF_ERROR(file.WriteAt(0, content));
  RETURN_IF_ERROR(file.Sync());
  return RenameDurably(part, path);
}

std::string Join(absl::string_view directory, absl::string_view name) {
  return absl::StrCat(directory, "/", name);
}

}  // namespace graphdbg::recording
