#include "server/store/private_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace graphdbg::store {

absl::Status MakePrivate(const std::string& file) {
  const int fd =
      open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
           0600);
  if (fd < 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot open ", file, ": ",
                     errno == ELOOP ? "it is a link" : std::strerror(errno)));
  }
  close(fd);
  return absl::OkStatus();
}

}  // namespace graphdbg::store
