#include "server/mindspore/private_file.h"

#include <fcntl.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/util/delimited_message_util.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::mindspore {
namespace {

namespace pb = google::protobuf;

constexpr mode_t kOwnerOnly = 0600;

absl::Status Failed(const char* action, const std::string& path, int error) {
  return absl::UnavailableError(
      absl::StrCat("cannot ", action, " ", path, ": ", std::strerror(error)));
}

class File {
 public:
  File(const std::string& path, int flags)
      : path_(path),
        fd_(open(path.c_str(),
                 flags | O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                 kOwnerOnly)) {
    // Earlier versions created files with the mode of the umask.
    if (fd_ >= 0) fchmod(fd_, kOwnerOnly);
  }
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int fd() const { return fd_; }

  absl::Status Sync() const {
    if (fdatasync(fd_) == 0) return absl::OkStatus();
    return Failed("write", path_, errno);
  }

 private:
  const std::string path_;
  const int fd_;
};

// Makes the names of new files in the file's directory durable.
absl::Status SyncDirectoryOf(const std::string& path) {
  const std::string directory = path.substr(0, path.rfind('/'));
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return Failed("open", directory, errno);
  const int synced = fsync(fd);
  const int error = errno;
  close(fd);
  return synced == 0 ? absl::OkStatus() : Failed("write", directory, error);
}

absl::Status WriteAll(int fd, const std::string& content,
                      const std::string& path) {
  size_t written = 0;
  while (written < content.size()) {
    const ssize_t count =
        write(fd, content.data() + written, content.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Failed("write", path, errno);
    written += static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AppendMessage(const std::string& path,
                           const pb::MessageLite& message) {
  const File file(path, O_APPEND);
  if (file.fd() < 0) return Failed("open", path, errno);
  const off_t before = lseek(file.fd(), 0, SEEK_END);
  pb::io::FileOutputStream stream(file.fd());
  const bool written =
      pb::util::SerializeDelimitedToZeroCopyStream(message, &stream) &&
      stream.Flush();
  absl::Status status =
      written ? file.Sync() : Failed("write", path, stream.GetErrno());
  if (status.ok()) return before == 0 ? SyncDirectoryOf(path) : status;
  // Messages that follow an incomplete one could not be read.
  if (ftruncate(file.fd(), before) != 0) unlink(path.c_str());
  return status;
}

absl::Status ReplaceFile(const std::string& path, const std::string& content,
                         bool durable) {
  const std::string unfinished = path + ".new";
  {
    const File file(unfinished, O_TRUNC);
    if (file.fd() < 0) return Failed("open", unfinished, errno);
    RETURN_IF_ERROR(WriteAll(file.fd(), content, unfinished));
    if (durable) RETURN_IF_ERROR(file.Sync());
  }
  if (std::rename(unfinished.c_str(), path.c_str()) != 0) {
    return Failed("replace", path, errno);
  }
  return durable ? SyncDirectoryOf(path) : absl::OkStatus();
}

}  // namespace graphdbg::mindspore
